package session_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// recordingConn is a connection that keeps the lists of creates, and the last multi. It loses the replies to the first requests.
type recordingConn struct {
	session.Conn
	lose  int
	lists [][]zk.ACL
	multi []any
}

func (c *recordingConn) answer() error {
	if c.lose--; c.lose >= 0 {
		return zk.ErrConnectionClosed
	}
	return nil
}

func (c *recordingConn) Create(path string, _ []byte, _ int32, acl []zk.ACL) (string, error) {
	c.lists = append(c.lists, acl)
	return path, c.answer()
}

func (c *recordingConn) Children(string) ([]string, *zk.Stat, error) { return nil, nil, nil }

func (c *recordingConn) Multi(ops ...any) ([]zk.MultiResponse, error) {
	c.multi = ops
	for _, op := range ops {
		if create, ok := op.(*zk.CreateRequest); ok {
			c.lists = append(c.lists, create.Acl)
		}
	}
	return slices.Repeat([]zk.MultiResponse{{Stat: &zk.Stat{}}}, len(ops)), c.answer()
}

var (
	world   = zk.WorldACL(zk.PermAll)
	readers = zk.WorldACL(zk.PermRead)
)

// requests returns the requests of a multi. Two of its creates have the given list.
func requests(list []zk.ACL) []any {
	return []any{
		&zk.CheckVersionRequest{Path: "/"},
		&zk.CreateRequest{Path: "/a", Data: []byte("x"), Acl: list, Flags: zk.FlagSequence},
		&zk.CreateRequest{Path: "/b", Acl: readers},
		&zk.CreateRequest{Path: "/c", Acl: list},
	}
}

// Creates without a list get that of their session, through all of its handles. Others keep theirs.
func TestCreatesGetTheListOfTheSession(t *testing.T) {
	for _, tt := range []struct {
		name   string
		create func(context.Context, *session.Session) error
		lists  [][]zk.ACL // nil for the session's
	}{
		{"Create", func(ctx context.Context, s *session.Session) error {
			_, err := s.Create(ctx, "/a", nil, 0)
			return err
		}, [][]zk.ACL{nil}},
		{"Ensure in the background", func(ctx context.Context, s *session.Session) error {
			return s.Background().Ensure(ctx, "/a", nil, 0)
		}, [][]zk.ACL{nil}},
		{"CreateThenChildren of another handle", func(ctx context.Context, s *session.Session) error {
			_, _, err := s.Fork().CreateThenChildren(ctx, "/d/a", nil, 0, "/d")
			return err
		}, [][]zk.ACL{nil}},
		{"a node with a fence", func(ctx context.Context, s *session.Session) error {
			_, err := session.FencedNode{Session: s, Path: "/a", Fence: "/f"}.Take(ctx)
			return err
		}, [][]zk.ACL{nil}},
		{"an attempt with a list", func(ctx context.Context, s *session.Session) error {
			return s.Once(ctx, func(c session.Conn) error { _, err := c.Create("/a", nil, 0, readers); return err })
		}, [][]zk.ACL{readers}},
		{"Multi", func(ctx context.Context, s *session.Session) error {
			_, _, err := s.Multi(ctx, requests(nil)...)
			return err
		}, [][]zk.ACL{nil, readers, nil}},
	} {
		for _, own := range [][]zk.ACL{world, zk.AuthACL(zk.PermAll)} {
			var want [][]zk.ACL
			for _, list := range tt.lists {
				if list == nil {
					list = own
				}
				want = append(want, list)
			}
			direct, through := &recordingConn{}, &recordingConn{}
			s := session.NewSession(direct, nil)
			if own[0] != world[0] { // which is the default
				s.CreateWith(own)
			}
			for conn, handle := range map[*recordingConn]*session.Session{direct: s, through: s.Through(through)} {
				if err := tt.create(t.Context(), handle); err != nil || !reflect.DeepEqual(conn.lists, want) {
					t.Errorf("%s created with %v (%v), want %v", tt.name, conn.lists, err, want)
				}
			}
		}
	}
}

// A multi that is sent again gets the same lists, and its requests stay as the caller made them.
func TestRequestsOfTheCallerStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, ops, own := &recordingConn{lose: 1}, requests(nil), zk.AuthACL(zk.PermAll)
		given := slices.Clone(ops)
		s := session.NewSession(conn, nil)
		s.CreateWith(own)
		_, repeated, err := s.Multi(t.Context(), ops...)
		if want := [][]zk.ACL{own, readers, own, own, readers, own}; err != nil || !repeated || !reflect.DeepEqual(conn.lists, want) {
			t.Errorf("created with %v (repeated: %t, %v), want %v", conn.lists, repeated, err, want)
		}
		if want := requests(own); !reflect.DeepEqual(conn.multi, want) {
			t.Errorf("sent %+v, want %+v", conn.multi, want)
		}
		if !slices.Equal(ops, given) || !reflect.DeepEqual(ops, requests(nil)) {
			t.Error("the requests of the caller were changed")
		}
	})
}

// freeConn answers requests without an allocation.
type freeConn struct{ session.Conn }

func (freeConn) Create(path string, _ []byte, _ int32, _ []zk.ACL) (string, error) { return path, nil }

func (freeConn) Multi(...any) ([]zk.MultiResponse, error) { return nil, nil }

// The list costs a create no allocation, and a multi only if a request lacks it.
func TestListsCostNoAllocation(t *testing.T) {
	ctx, s := t.Context(), session.NewSession(freeConn{}, nil)
	complete := []any{&zk.CreateRequest{Path: "/a", Acl: readers}, &zk.SetDataRequest{Path: "/b"}}
	allocations := func(op func(session.Conn) error) float64 {
		return testing.AllocsPerRun(100, func() { _ = s.Once(ctx, op) })
	}
	attempt := allocations(func(session.Conn) error { return nil })
	for name, op := range map[string]func(session.Conn) error{
		"create": func(c session.Conn) error { _, err := c.Create("/a", nil, 0, nil); return err },
		"multi":  func(c session.Conn) error { _, err := c.Multi(complete...); return err },
	} {
		if n := allocations(op); n > attempt {
			t.Errorf("a %s makes %v allocations, want %v as any attempt", name, n, attempt)
		}
	}
}
