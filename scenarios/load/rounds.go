// Package load decides when clients take their steps: one after another, as many clients as a stage has, or as operations
// arrive.
//
// It takes one position: an operation is due when the scenario says so, not when a client is free, and its response time begins then.
package load

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Turns decides when clients take their steps.
type Turns interface {
	// Begin waits until a client that has taken a number of steps may begin another one. It reports whether the client may.
	Begin(ctx context.Context, c *pool.Client, taken int) bool
	// WindowOpened is called when the warm-up is over, with the moment at which the window began.
	WindowOpened(at time.Duration)
	// WindowClosed is called when the window has ended, with the moment of its end.
	WindowClosed(at time.Duration)
	// Completed is called when a client has taken a step.
	Completed(c *pool.Client)
	// End keeps clients from beginning another step, except for steps for which other clients or arrivals wait.
	End()
	// Idle reports whether no step is due, so that none will be completed.
	Idle() bool
	// Ending reports whether End was called, or the turns have ended by themselves.
	Ending() bool
}

// Rounds lets each client begin the next step when the last one is done, for a number of steps.
type Rounds struct {
	collective bool // a step needs all clients, so that each client must take equally many
	mu         sync.Mutex
	frozen     chan struct{} // closed by End; nil unless frozen
	started    int           // the largest number of steps that a client has begun
	limit      int           // of steps of each client
	Until      time.Time     // when the rounds end by themselves; zero means never
}

// NewRounds returns rounds with a limit of steps for each client. With 0, they continue until End.
func NewRounds(limit int, collective bool) *Rounds {
	return &Rounds{limit: cmp.Or(limit, math.MaxInt), collective: collective}
}

// Begin reports whether a client that has taken this many steps may begin another one.
func (r *Rounds) Begin(ctx context.Context, _ *pool.Client, done int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if frozen := r.frozen; frozen != nil {
		r.mu.Unlock()
		_ = variants.WaitFor(ctx, pool.Endless, frozen, nil)
		r.mu.Lock()
	}
	if !r.Until.IsZero() && time.Now().After(r.Until) {
		r.close()
	}
	if done >= r.limit {
		return false
	}
	r.started = max(r.started, done+1)
	return true
}

// WindowOpened implements [Turns].
func (*Rounds) WindowOpened(time.Duration) {}

// WindowClosed implements [Turns].
func (*Rounds) WindowClosed(time.Duration) {}

// Completed implements [Turns].
func (*Rounds) Completed(*pool.Client) {}

// Freeze lets clients wait that ask for another step, until End, and returns the largest number of steps that one has begun.
func (r *Rounds) Freeze() (begun int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = make(chan struct{})
	return r.started
}

// Extend takes a number of steps for begun, because a client of other rounds has begun it. Until End, the rounds are frozen.
func (r *Rounds) Extend(begun int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = max(r.started, begun)
}

// End keeps all clients from beginning another step. A step of a collective recipe that one client has begun is still taken
// by all, as they wait for each other in it.
func (r *Rounds) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// Idle implements [Turns].
func (*Rounds) Idle() bool { return false }

// Ending implements [Turns]. It returns true from the beginning for rounds with a limit.
func (r *Rounds) Ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit < math.MaxInt
}

// The caller of close holds the mutex.
func (r *Rounds) close() {
	r.limit = 0
	if r.collective {
		r.limit = r.started
	}
	if r.frozen != nil {
		close(r.frozen)
		r.frozen = nil
	}
}

// changingRounds are rounds of a changing number of clients: the first ones of each block take them, and the others pause between two
// steps.
type changingRounds struct {
	*Rounds
	levels levels // from the beginning of the window; before that, the first level applies
	block  pool.Block
	epoch  time.Time     // of the measurement
	opened chan struct{} // closed when the window is open
	window time.Time     // when the window opened
	ended  chan struct{}
}

// NewChangingRounds returns rounds whose number of clients, in all blocks together, changes in stages.
func NewChangingRounds(r *Rounds, stages []results.StageLoad, epoch time.Time, block pool.Block) Turns {
	return &changingRounds{
		Rounds: r, levels: levelsOf(stages), epoch: epoch, block: block, opened: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (r *changingRounds) WindowOpened(at time.Duration) {
	r.window = r.epoch.Add(at)
	close(r.opened)
}

// Begin implements [Turns]. A client that pauses is settled, as it has no request under way.
func (r *changingRounds) Begin(ctx context.Context, c *pool.Client, done int) bool {
	for {
		wait, changed := r.pause(c.ID)
		if wait == 0 {
			return r.Rounds.Begin(ctx, c, done)
		}
		c.Settled.Store(true)
		select {
		case <-time.After(wait):
		case <-changed:
		case <-r.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// pause returns how long a client waits before it may begin a step, 0 if it may begin now, unless changed is closed earlier.
func (r *changingRounds) pause(id int) (wait time.Duration, changed <-chan struct{}) {
	level := float64(r.block.Rank(id)) + 0.5 // a number of clients is rounded
	select {
	case <-r.opened:
		now := time.Since(r.window)
		if at, ok := r.levels.reaches(level, now); ok {
			return at - now, nil
		}
		return pool.Endless, nil
	default:
		if r.levels[0].from >= level {
			return 0, nil
		}
		return pool.Endless, r.opened
	}
}

func (r *changingRounds) End() {
	close(r.ended)
	r.Rounds.End()
}
