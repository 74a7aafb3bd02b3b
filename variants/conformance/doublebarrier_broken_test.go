package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/doublebarrier"
)

// The check must be able to fail: one that believes in a smaller group starts too early.
func TestDoubleBarrierThatMiscountsIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range doubleBarrierVariants {
		bubbles.run(t, variant.name, func(t *testing.T, v venue) {
			believed := func(i int) int { return []int{2, 3, 3}[i] }
			enough := errors.New("seen enough")
			group := doubleBarrierJoin(t, directory(t, v), variant.name, clients(t, v, 3), believed, doubleBarrierHonest, func(int) error { return enough })
			ctx, cancel := context.WithCancel(testContext(t))
			first := doubleBarrierWait(ctx, t, group.members[1], group.members[1].Step)
			wantError(t, "the step of the miscounting participant", group.members[0].Step(ctx), enough)
			cancel()
			<-first
			mustBreak(t, doublebarrier.Recipe(), group.history(), "started round 0 before participant 2 had entered")
		})
	}
}

// doubleBarrierBlind is a session that sees nothing of others once it has deleted something: all that it watched before
// seems to be gone.
type doubleBarrierBlind struct {
	variants.Conn
	blind chan struct{} // closed with the first delete
}

func newDoubleBarrierBlind(s variants.Conn) *doubleBarrierBlind {
	return &doubleBarrierBlind{s, make(chan struct{})}
}

func (b *doubleBarrierBlind) isBlind() bool {
	select {
	case <-b.blind:
		return true
	default:
		return false
	}
}

func (b *doubleBarrierBlind) goBlind() {
	if !b.isBlind() {
		close(b.blind)
	}
}

func (b *doubleBarrierBlind) Delete(path string, version int32) error {
	b.goBlind()
	return b.Conn.Delete(path, version)
}

func (b *doubleBarrierBlind) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if _, deletes := ops[0].(*zk.DeleteRequest); deletes {
		b.goBlind()
	}
	return b.Conn.Multi(ops...)
}

func (b *doubleBarrierBlind) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := b.Conn.Get(path)
	if b.isBlind() {
		data = nil
	}
	return data, stat, err
}

func (b *doubleBarrierBlind) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	if b.isBlind() {
		return nil, nil, nil, zk.ErrNoNode
	}
	data, stat, seen, err := b.Conn.GetW(path)
	if err != nil {
		return data, stat, seen, err
	}
	watch := make(chan zk.Event, 1)
	go func() {
		select {
		case event := <-seen:
			watch <- event
		case <-b.blind:
			watch <- zk.Event{Type: zk.EventNodeDeleted, Path: path}
		}
	}()
	return data, stat, watch, nil
}

func (b *doubleBarrierBlind) Children(path string) ([]string, *zk.Stat, error) {
	children, stat, err := b.Conn.Children(path)
	if b.isBlind() {
		children = nil
	}
	return children, stat, err
}

func (b *doubleBarrierBlind) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	children, stat, watch, err := b.Conn.ChildrenW(path)
	if b.isBlind() {
		children = nil
	}
	return children, stat, watch, err
}

// And one that does not see that others are still at work leaves too early.
func TestDoubleBarrierThatIsLeftBlindlyIsCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		variant string
		blind   int // the second is the anchor in counted, the first the lowest in ready-race and ready-node: they wait with open eyes
	}{{"children-watch", 0}, {"ready-race", 1}, {"ready-node", 1}, {"counted", 0}} {
		bubbles.run(t, tt.variant, func(t *testing.T, v venue) {
			gone := make(chan struct{})
			wrap := func(i int, s variants.Conn) variants.Conn {
				if i == tt.blind {
					return newDoubleBarrierBlind(s)
				}
				return s
			}
			hold := func(i int) error {
				if i != tt.blind {
					<-gone
				}
				return nil
			}
			group := doubleBarrierJoin(t, directory(t, v), tt.variant, clients(t, v, 2), func(int) int { return 2 }, wrap, hold)
			ends := []<-chan error{doubleBarrierWait(testContext(t), t, group.members[0], group.members[0].Step), nil}
			ends[1] = background(func() error { return group.members[1].Step(testContext(t)) })
			doubleBarrierMustBeDone(t, "the step of the blind participant", ends[tt.blind])
			close(gone)
			doubleBarrierMustBeDone(t, "the step of the other one", ends[1-tt.blind])
			mustBreak(t, doublebarrier.Recipe(), group.history(), fmt.Sprintf("participant %d left round 0 before participant %d had finished", tt.blind, 1-tt.blind))
		})
	}
}
