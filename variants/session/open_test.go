package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants/session"
)

func TestOpen(t *testing.T) {
	server := must.Get(embedded.Listen(embedded.Config{}))(t)
	s := must.Get(session.Open(t.Context(), []string{server.Addr()}, 10*time.Second))(t)
	if _, err := s.Create(t.Context(), "/a", nil, 0); err != nil || s.Alive() != nil {
		t.Errorf("%v, %v", err, s.Alive())
	}
	_, _, watch, err := s.ExistsW(t.Context(), "/b")
	must.Do(t, err)
	waits := make(chan error)
	go func() { waits <- s.Await(t.Context(), watch) }()
	s.Close()
	_, _, readErr := s.Exists(t.Context(), "/a")
	for what, err := range map[string]error{"a wait": <-waits, "a read": readErr} {
		if !errors.Is(err, session.ErrSessionLost) {
			t.Errorf("%s of a session that the application has closed: %v", what, err)
		}
	}
	must.Do(t, server.Close())
}

// A session that its servers have ended does not go on as the next one that the client library opens.
func TestOpenedSessionIsGuarded(t *testing.T) {
	server := must.Get(embedded.Listen(embedded.Config{}))(t)
	s := must.Get(session.Open(t.Context(), []string{server.Addr()}, 10*time.Second))(t)
	server.Expire(s.ID())
	<-s.Lost()
	if _, _, err := s.Exists(t.Context(), "/a"); !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("a read of a session that has expired: %v", err)
	}
	must.Do(t, server.Close())
}

func TestOpenWithoutAServer(t *testing.T) {
	server := must.Get(embedded.Listen(embedded.Config{}))(t)
	must.Do(t, server.Close())
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not today")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := session.Open(ctx, []string{server.Addr()}, time.Second); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}
