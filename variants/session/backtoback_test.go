package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// orderedConn is a connection whose requests are functions of the test.
type orderedConn struct {
	session.Conn
	create   func() error
	children func() error
	forgot   bool
	sent     chan struct{}
}

func (c *orderedConn) Create(path string, _ []byte, _ int32, _ []zk.ACL) (string, error) {
	return path + "0", c.create()
}

func (c *orderedConn) Children(string) ([]string, *zk.Stat, error) {
	return []string{"a0"}, nil, c.children()
}

func (c *orderedConn) AwaitSend(string) (<-chan struct{}, func()) {
	return c.sent, func() { c.forgot = true }
}

// The reply to the create does not come before the listing is sent. Without overlap, the test would not end.
func TestListingOverlapsTheCreate(t *testing.T) {
	listed := make(chan struct{})
	c := &orderedConn{sent: make(chan struct{})}
	c.create = func() error { close(c.sent); <-listed; return nil }
	c.children = func() error { close(listed); return nil }
	s := session.NewSession(c, nil)
	s.OrderBy(c)
	created, children, err := s.CreateThenChildren(t.Context(), "/d/a", nil, 0, "/d")
	if err != nil || created != "/d/a0" || !slices.Equal(children, []string{"a0"}) {
		t.Errorf("created %q, children %v (%v)", created, children, err)
	}
	if !c.forgot {
		t.Error("the session still waits for the request")
	}
}

// The listing begins when the create has been sent, or, without a SendAwaiter, when the create has ended.
func TestListingFollowsTheCreate(t *testing.T) {
	for _, tt := range []struct {
		name             string
		ordered, sent    bool
		create, children error
		want             []string // the requests, in their order
		listed           bool
	}{
		{"in order", true, true, nil, nil, []string{"create", "getChildren"}, true},
		{"without an order", false, true, nil, nil, []string{"create", "getChildren"}, true},
		{"without an order, the create fails", false, true, zk.ErrNoNode, nil, []string{"create"}, false},
		{"the create is not sent", true, false, zk.ErrConnectionClosed, nil, []string{"create"}, false},
		{"the listing fails", true, true, nil, zk.ErrConnectionClosed, []string{"create", "getChildren"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string // Create and Children overlap, but this is written by one after the other
			c := &orderedConn{sent: make(chan struct{})}
			c.create = func() error {
				requests = append(requests, "create")
				if tt.sent {
					close(c.sent)
				}
				return tt.create
			}
			c.children = func() error { requests = append(requests, "getChildren"); return tt.children }
			s := session.NewSession(c, nil)
			if tt.ordered {
				s.OrderBy(c)
			}
			_, children, err := s.CreateThenChildren(t.Context(), "/d/a", nil, 0, "/d")
			if !errors.Is(err, tt.create) || (children != nil) != tt.listed || !slices.Equal(requests, tt.want) {
				t.Errorf("requests %v, children %v (%v)", requests, children, err)
			}
		})
	}
}

func TestNothingIsSentAfterTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := session.NewSession(nil, nil).CreateThenChildren(ctx, "/d/a", nil, 0, "/d"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
