package session_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// watched is a connection on which every znode exists and has one watch.
type watched struct {
	session.Conn
	events chan zk.Event
}

func (w watched) ExistsW(string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return true, &zk.Stat{}, w.events, nil
}

// The runner does not see the wait of a client that listens in the background.
func TestWaitInTheBackgroundIsNotReported(t *testing.T) {
	events := make(chan zk.Event)
	s := session.NewSession(watched{events: events}, nil)
	background := s.Background()
	_, _, watch, err := background.ExistsW(t.Context(), "/z")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- background.Await(t.Context(), watch) }()
	events <- zk.Event{Path: "/z"} // received, so that the wait has begun
	if err := <-done; err != nil {
		t.Error(err)
	}
	if wait, begun := s.Waiting(); wait != nil || begun != 0 {
		t.Errorf("the client waits: %v, %d waits begun", wait, begun)
	}
}
