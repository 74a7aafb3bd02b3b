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
	s.Close()
	must.Do(t, server.Close())
	if s.Alive() != nil {
		t.Error("a session that the application has closed counts as lost")
	}
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
