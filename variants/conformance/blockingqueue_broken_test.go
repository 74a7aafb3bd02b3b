package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/blockingqueue"
)

// spoiled is a session that leaves a kind of operation out of its transactions, and says that all is well.
type spoiled struct {
	variants.Conn
	leaveOut func(op any) bool
}

func (s spoiled) Multi(ops ...any) ([]zk.MultiResponse, error) {
	return s.Conn.Multi(slices.DeleteFunc(slices.Clone(ops), s.leaveOut)...)
}

// deaf is a session whose watches on children never fire.
type deaf struct{ variants.Conn }

func (s deaf) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, err := s.Children(path)
	return names, stat, nil, err
}

// The check of the promise must be able to fail.
func TestBrokenBlockingQueuesAreCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil broken
		want  string
	}{
		{"nothing is taken out", func(s variants.Conn) variants.Conn {
			return spoiled{s, func(op any) bool {
				d, ok := op.(*zk.DeleteRequest)
				return ok && strings.Contains(d.Path, "-item-")
			}}
		}, "had taken"},
		{"wake-ups are lost", func(s variants.Conn) variants.Conn { return deaf{s} }, "never taken"},
	} {
		for _, variant := range blockingqueue.Recipe().Variants {
			if variant.Name == pollingQueue && tt.name == "wake-ups are lost" {
				continue
			}
			bubbles.run(t, tt.name+"/"+variant.Name, func(t *testing.T, v venue) {
				violations := newQueues(t, v, nil).run(variant, tt.spoil)
				if !strings.Contains(fmt.Sprint(violations), tt.want) {
					t.Errorf("violations %v, want one with %q", violations, tt.want)
				}
			})
		}
	}
}
