package session_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants/session"
)

// A successor waits for the end of the session before it, and not for its own.
func TestSucceed(t *testing.T) {
	server := must.Get(embedded.Listen(embedded.Config{}))(t)
	open := func() *session.Session {
		return must.Get(session.Open(t.Context(), []string{server.Addr()}, 10*time.Second))(t)
	}
	first, second := open(), open()
	for range 2 {
		must.Do(t, first.Succeed(t.Context(), "/writer"))
	}
	succeeded := make(chan error, 1)
	go func() { succeeded <- second.Succeed(t.Context(), "/writer") }()
	for wait, _ := second.Waiting(); wait == nil; wait, _ = second.Waiting() {
		time.Sleep(time.Millisecond)
	}
	if err := first.Alive(); err != nil || len(succeeded) > 0 {
		t.Errorf("the second session did not wait for the first one: %v", err)
	}
	server.Expire(first.ID())
	must.Do(t, <-succeeded)
	_, stat, err := second.Exists(t.Context(), "/writer")
	if must.Do(t, err); stat.EphemeralOwner != second.ID() {
		t.Errorf("the znode belongs to %#x, want %#x", stat.EphemeralOwner, second.ID())
	}
	second.Close()
	must.Do(t, server.Close())
}
