package variants_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// A span does not begin in one life of a client and end in another.
func TestSpansEndWithALife(t *testing.T) {
	for _, kind := range []variants.EventKind{variants.Died, variants.Rejoined, variants.SessionLost} {
		spans := 0
		o := variants.Findings{Span: func(variants.Span) { spans++ }}.Between("x", 1, 2)
		for i, e := range []variants.Event{{Kind: 1}, {Client: 1, Kind: 1}, {Kind: kind}, {Kind: 2}, {Client: 1, Kind: 2}} {
			e.At = time.Duration(i + 1)
			o.Observe(e)
		}
		want := 1 // that of the other client
		if kind == variants.SessionLost {
			want = 2
		}
		if spans != want {
			t.Errorf("%d spans over an event of kind %d, want %d", spans, kind, want)
		}
	}
}

// cutConn is a connection that is cut at its first request. Every later one finds no znode.
type cutConn struct {
	variants.Conn
	cut    bool
	second func() // called before the second request is answered
}

func (c *cutConn) answer() error {
	if !c.cut {
		c.cut = true
		return zk.ErrConnectionClosed
	}
	c.second()
	return zk.ErrNoNode
}

func (c *cutConn) Delete(string, int32) error               { return c.answer() }
func (c *cutConn) Multi(...any) ([]zk.MultiResponse, error) { return nil, c.answer() }

// A delete that is repeated and finds no znode has succeeded, unless it was sent again under a new session.
func TestRepeatedDeletes(t *testing.T) {
	for _, lose := range []bool{false, true} {
		for what, give := range map[string]func(*variants.Session) error{
			"Remove": func(s *variants.Session) error { return s.Remove(t.Context(), "/z") },
			"Give": func(s *variants.Session) error {
				return variants.FencedNode{Session: s, Path: "/z", Fence: "/f"}.Give(t.Context(), 1)
			},
		} {
			lost := make(chan struct{})
			err := give(variants.NewSession(&cutConn{second: func() {
				if lose {
					close(lost)
				}
			}}, lost))
			if errors.Is(err, variants.ErrSessionLost) != lose || !lose && err != nil {
				t.Errorf("%s of a session that is lost meanwhile (%v) returned %v", what, lose, err)
			}
		}
	}
}

// Clients of a recipe that is fixed only for drivers can join again in Go, and not in a driver.
func TestFixed(t *testing.T) {
	driven := variants.Variant{Driver: &variants.Driver{}}
	for _, tt := range []struct {
		recipe  variants.Recipe
		variant variants.Variant
		want    bool
	}{
		{variants.Recipe{}, driven, false},
		{variants.Recipe{Fixed: true}, variants.Variant{}, true},
		{variants.Recipe{DrivenFixed: true}, variants.Variant{}, false},
		{variants.Recipe{DrivenFixed: true}, driven, true},
	} {
		if got := tt.recipe.IsFixed(tt.variant); got != tt.want {
			t.Errorf("fixed %t, fixed for drivers %t, in a driver %t: %t, want %t", tt.recipe.Fixed, tt.recipe.DrivenFixed, tt.variant.Driver != nil, got, tt.want)
		}
	}
}
