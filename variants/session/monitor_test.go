package session_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// A session that is cut off counts as lost after a third of its timeout, or after its owner's patience. A session that has
// expired counts as lost at once.
func TestMonitorPatience(t *testing.T) {
	usual, patient := session.NewMonitor(3*time.Millisecond), session.NewMonitor(time.Hour)
	patient.SetTimeout(3 * time.Millisecond)
	patient.SetPatience(time.Hour)
	for _, m := range []*session.Monitor{patient, usual} {
		m.Observe(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	}
	<-usual.Lost()
	select {
	case <-patient.Lost():
		t.Fatal("an hour has not passed")
	default:
	}
	patient.Observe(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	<-patient.Lost()
}
