package conformance_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/barrier"
	"github.com/zkbench/zkbench/variants/doublebarrier"
)

// newGroup returns the members of a group that go through barriers together.
func newGroup(t *testing.T, v venue, variant variants.Variant, fail func(m *mortals, holder, nth int)) *mortals {
	t.Helper()
	m := newMortals(t, v, variant, 4, fail)
	if variant.Prepare != nil {
		env := m.env
		env.Session = clients(t, v, 1)[0].session()
		must(t, variant.Prepare(testContext(t), env))
	}
	return m
}

// Clients that die or lose their sessions, and join again, break no promise and keep no other client waiting.
func TestBarriersWhoseClientsFail(t *testing.T) {
	t.Parallel()
	for _, recipe := range []variants.Recipe{barrier.Recipe(), doublebarrier.Recipe()} {
		t.Run(recipe.Name, func(t *testing.T) {
			onEachOf(t, bubbles, recipe, func(t *testing.T, v venue, variant variants.Variant) {
				if variant.Forgone(variants.Blocked) {
					return // its clients may wait for ever, as its description says
				}
				m := newGroup(t, v, variant, failInTurn)
				await(t, "the clients did not complete their steps", m.start(16))
				violations, lost := findings(recipe, m.history())
				for _, violation := range violations {
					t.Errorf("at %s: %s", violation.At, violation.Text)
				}
				if n := lost[variants.OutOfStep]; n > 0 {
					t.Errorf("%d times out of step", n)
				}
			})
		})
	}
}

// barrierOfItsClient is a session whose barriers are ephemeral: they end with the client that created them.
type barrierOfItsClient struct{ variants.Conn }

func (s barrierOfItsClient) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		if create, ok := op.(*zk.CreateRequest); ok {
			create.Flags |= zk.FlagEphemeral
		}
	}
	return s.Conn.Multi(ops...)
}

// A barrier that ends with the client that created it is opened by the death of that client.
func TestBarrierThatDiesWithItsClientIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		variant, joined := signalJoins(variantOf(barrier.Recipe(), "no-recheck"), 4)
		m := newGroup(t, v, variant, func(m *mortals, holder, nth int) {
			if nth == 3 { // the client before has created barrier 2, and this one does not open it
				joined.Wait() // a client that joins later would find no barrier
				m.kill((holder + m.env.Clients - 1) % m.env.Clients)
				<-m.ctx.Done()
			}
		})
		m.begun = func(_ int, l *mortal) {
			if l.number > 0 { // the dead client stays dead: it would find no barrier
				<-m.ctx.Done()
			}
			l.handle = l.handle.Through(barrierOfItsClient{l.conn})
		}
		m.start(16)
		awaitFinding(t, m, barrier.Recipe(), "passed barrier 2 before it was opened")
	})
}

// signalJoins returns the variant, and a group that is done when so many clients have joined for the first time.
func signalJoins(v variants.Variant, clients int) (variants.Variant, *sync.WaitGroup) {
	join, joined, first := v.Join, &sync.WaitGroup{}, make([]sync.Once, clients)
	joined.Add(clients)
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		defer first[env.Index].Do(joined.Done)
		return join(ctx, env)
	}
	return v, joined
}

// In children-watch, a member that is back while the others are in a round starts without them. That is a loss which it forgoes,
// and which would break the promise of another variant.
func TestChildrenWatchIsOutOfStepAfterADeath(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		m := newGroup(t, v, variantOf(doublebarrier.Recipe(), "children-watch"), func(m *mortals, holder, nth int) {
			switch {
			case nth == 5: // the first in the second round
				m.expire(holder)
			case nth == 9: // it is back
				close(m.failed)
			case nth > 5 && nth < 9: // the others stay inside
				select {
				case <-m.failed:
				case <-m.ctx.Done():
				}
			}
		})
		m.start(4)
		awaitFinding(t, m, doublebarrier.Recipe(), "started round 1 twice")
	})
}

// awaitFinding waits until a history breaks a promise in these words.
func awaitFinding(t *testing.T, m *mortals, recipe variants.Recipe, want string) {
	t.Helper()
	for {
		_, violations := recipe.Replay(m.history(), false)
		for _, v := range violations {
			if strings.Contains(v.Text, want) {
				return
			}
		}
		if variants.WaitFor(m.ctx, 10*time.Millisecond, nil, nil) != nil {
			t.Fatalf("violations %v, want %q", violations, want)
		}
	}
}
