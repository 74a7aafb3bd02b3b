package conformance_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/planted"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/rwlock"
)

// failInTurn makes a holder lose its session, a holder die, a waiter lose its session, and a waiter die.
func failInTurn(m *mortals, holder, nth int) {
	waiter := (holder + 1) % m.env.Clients
	switch nth {
	case 4:
		m.expire(holder)
	case 6:
		m.kill(holder)
	case 8:
		m.expire(waiter)
	case 10:
		m.kill(waiter)
	}
}

// Holders and waiters that die or lose their sessions, and join again while their old znodes may still be there, break no promise
// and keep no other client waiting.
func TestHoldersThatFail(t *testing.T) {
	t.Parallel()
	for _, recipe := range []variants.Recipe{lock.Recipe(), election.Recipe(), rwlock.Recipe(), revocable.Recipe(), rwlock.RevocableRecipe()} {
		t.Run(recipe.Name, func(t *testing.T) {
			onEachOf(t, bubbles, recipe, func(t *testing.T, v venue, variant variants.Variant) {
				m := newMortals(t, v, variant, 4, failInTurn)
				await(t, "the clients did not complete their steps", m.start(4))
				violations, lost := findings(recipe, m.history())
				for _, violation := range violations {
					t.Errorf("at %s: %s", violation.At, violation.Text)
				}
				if blocked := lost[variants.Blocked]; blocked > 0 {
					t.Errorf("blocked for %s", time.Duration(blocked))
				}
				if n := contenders(t, clients(t, v, 1)[0], m.env.Root); n != 0 {
					t.Errorf("%d znodes are left", n)
				}
			})
		})
	}
}

// The checks of what holders do must be able to fail: each broken lock keeps its promise as long as nothing fails, and breaks it
// afterwards.
func TestPlantedLocksAreCaught(t *testing.T) {
	t.Parallel()
	once := func(fail func(m *mortals, holder int)) func(*mortals, int, int) {
		return func(m *mortals, holder, nth int) {
			if nth == 4 {
				fail(m, holder)
			}
		}
	}
	always := func(fail func(m *mortals, holder int)) func(*mortals, int, int) { // until it happens while another client waits
		return func(m *mortals, holder, nth int) {
			if nth >= 4 {
				fail(m, holder)
			}
		}
	}
	expireFirst := func(m *mortals, holder, nth int) { // the next holder stays until the last one can know
		switch nth {
		case 4:
			m.expire(holder)
			close(m.failed)
		case 5:
			<-m.failed
		}
	}
	for _, tt := range []struct {
		variant variants.Variant
		fault   string
		fail    func(*mortals, int, int)
		want    string
	}{
		{planted.NonEphemeralLock(), "expire", once((*mortals).expire), "no client holds the lock in the end, although 3 clients wait"},
		{planted.NonEphemeralLock(), "kill", once((*mortals).kill), "no client holds the lock in the end, although 3 clients wait"},
		{planted.DeafSuccessorLock(), "expire", always((*mortals).expire), "no client holds the lock in the end, although"},
		{planted.DeafSuccessorLock(), "kill", always((*mortals).kill), "no client holds the lock in the end, although"},
		{planted.UndyingHolderLock(), "expire", expireFirst, "went on holding the lock after it could know that its session was lost, while client"},
		{planted.StaleTokenLock(), "expire", once((*mortals).expire), "was granted fencing token"},
		{planted.StaleTokenLock(), "kill", once((*mortals).kill), "was granted fencing token"},
	} {
		bubbles.run(t, tt.variant.Name+"/"+tt.fault, func(t *testing.T, v venue) {
			sound := newMortals(t, v, tt.variant, 3, func(*mortals, int, int) {})
			await(t, "the clients did not complete their steps", sound.start(4))
			if violations, _ := findings(lock.Recipe(), sound.history()); len(violations) > 0 {
				t.Errorf("violations without a fault: %v", violations)
			}
			m := newMortals(t, v, tt.variant, 3, tt.fail)
			m.awaitEnd(m.start(4))
			mustBreak(t, lock.Recipe(), m.history(), tt.want)
		})
	}
}

// awaitEnd returns when all clients are done, or when none has recorded anything for two seconds: they are stuck.
func (m *mortals) awaitEnd(done <-chan struct{}) {
	for last := -1; ; {
		select {
		case <-done:
			return
		case <-m.ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		n := len(m.history())
		if n == last {
			return
		}
		last = n
	}
}
