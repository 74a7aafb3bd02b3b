// Package chaos causes the faults of a schedule, and undoes them.
//
// It takes one position: a fault that did not happen is counted as missed, or makes the measurement fail, so that no variant looks
// robust because nothing failed.
package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Config holds the parts of a measurement that an injector uses.
type Config struct {
	Pool     *pool.Pool
	Ensemble ensemble.Ensemble
	Schedule []faults.Fault
	Window   time.Duration // faults happen only in the window; 0 means that it has no end
	HoldTime time.Duration
	Random   *rand.Rand
	Log      Log
	Recorder *recorder.Recorder
}

// Log records what happens, ordered by time together with the events of the clients.
type Log interface {
	// Note records what happens now.
	Note(do func(at time.Duration))
	// NoteAt records what happened at a time after the call of KeepBack.
	NoteAt(at time.Duration, do func(at time.Duration))
	// KeepBack keeps back everything that happens from now on, until release is called.
	KeepBack() (release func())
}

// Injector causes the faults of a schedule while a load runs.
type Injector struct {
	Config
	stop     context.CancelFunc
	working  sync.WaitGroup
	awaiting chan *occurrence // takes faults that wait for the next client that begins to hold; never holds one

	mu     sync.Mutex              // guards the fields below, and Random
	broken map[int]*occurrence     // by server id; of servers that are not restored yet
	deaf   map[int]<-chan struct{} // by client id; closed when the client hears again
	err    error                   // the first reason why a fault could not be caused
}

type occurrence struct {
	faults.Fault
	id     int // in the recorder, once it has happened
	struck chan struct{}
}

// New returns an injector that has not started.
func New(c Config) *Injector {
	return &Injector{Config: c, awaiting: make(chan *occurrence), broken: map[int]*occurrence{}, deaf: map[int]<-chan struct{}{}}
}

// Start begins the schedule. The caller ends it with Finish.
func (in *Injector) Start(ctx context.Context) {
	if len(in.Schedule) == 0 {
		return
	}
	ctx, in.stop = context.WithCancel(ctx)
	begin := in.Pool.Since()
	in.working.Go(func() {
		for o := range faults.Plan(in.Schedule, in.Window) {
			if pool.Sleep(ctx, begin+o.Due-in.Pool.Since()) != nil {
				return
			}
			in.working.Go(func() { in.cause(ctx, &occurrence{Fault: o.Fault, struck: make(chan struct{})}) })
		}
	})
}

// Finish ends the schedule and undoes all faults. It returns once there is a quorum, with the error of faults not caused or undone.
func (in *Injector) Finish(ctx context.Context) error {
	if in.stop == nil {
		return nil
	}
	in.stop()
	in.working.Wait()
	in.stop = nil
	return errors.Join(in.err, in.restoreAll(context.WithoutCancel(ctx)))
}

// faultPatience is how long a fault waits for a client or a server that it can hit.
const faultPatience = 5 * time.Second

func (in *Injector) cause(ctx context.Context, o *occurrence) {
	var err error
	switch {
	case o.Kind.OfServer():
		err = in.breakServer(ctx, o)
	case o.Whom == faults.Holder && in.HoldTime < longHold:
		err = in.awaitHolder(ctx, o)
	default:
		err = in.strikeSome(ctx, o)
	}
	in.conclude(ctx, o, err)
}

// conclude handles the error of a fault. A fault that met no client is counted; any other error fails the measurement.
func (in *Injector) conclude(ctx context.Context, o *occurrence, err error) {
	switch {
	case errors.Is(err, errMissed):
		in.Log.Note(in.Recorder.MissedFault)
	case err != nil && ctx.Err() == nil:
		in.mu.Lock()
		defer in.mu.Unlock()
		in.err = cmp.Or(in.err, fmt.Errorf("fault `%s`: %w", o.Fault, err))
	}
}

var errMissed = errors.New("no client was in a state that the fault needs")

// strikeSome waits until clients fit, and lets the fault happen: to all of them, to the first that sends the operation for
// which the fault waits, or to one at random.
func (in *Injector) strikeSome(ctx context.Context, o *occurrence) error {
	for deadline := time.Now().Add(faultPatience); ; {
		in.mu.Lock()
		candidates := list.Where(in.Pool.Clients, func(c *pool.Client) bool { return fits(c, o.Fault) })
		if o.Whom != faults.All && !o.AtOperation() && len(candidates) > 1 {
			candidates = []*pool.Client{candidates[in.Random.IntN(len(candidates))]}
		}
		in.mu.Unlock()
		if len(candidates) > 0 {
			return in.aim(o, candidates)(ctx)
		}
		if time.Now().After(deadline) || pool.Sleep(ctx, time.Millisecond) != nil {
			return errMissed
		}
	}
}

// longHold is the shortest hold for which a fault is aimed at a client that holds already. A shorter one may end before the
// fault happens, so that the fault waits for the next client that begins to hold.
const longHold = 100 * time.Millisecond

func (in *Injector) awaitHolder(ctx context.Context, o *occurrence) error {
	select {
	case in.awaiting <- o:
		<-o.struck // Finish must wait for that
		return nil
	case <-time.After(faultPatience):
	case <-ctx.Done():
	}
	return errMissed
}

// meet lets the fault that has waited for a holder for longest happen to a client that begins to hold.
func (in *Injector) meet(ctx context.Context, c *pool.Client) {
	var o *occurrence
	select {
	case o = <-in.awaiting:
	default:
		return
	}
	defer close(o.struck)
	happen := in.aim(o, []*pool.Client{c})
	strike := func() { in.conclude(ctx, o, happen(ctx)) }
	if o.AtOperation() { // the client sends the operation later in its step
		in.working.Go(strike)
	} else {
		strike()
	}
}

// aim returns a function that lets a fault happen to clients. The traps of a fault at an operation are set at once, so that
// the clients cannot send the operation before.
func (in *Injector) aim(o *occurrence, clients []*pool.Client) func(context.Context) error {
	if !o.AtOperation() {
		return func(ctx context.Context) error { return in.strike(ctx, o, clients) }
	}
	traps := setTraps(o, clients)
	return func(ctx context.Context) error { return in.strike(ctx, o, caught(ctx, traps)) }
}

func (in *Injector) strike(ctx context.Context, o *occurrence, targets []*pool.Client) error {
	if len(targets) == 0 {
		return errMissed
	}
	switch o.Kind {
	case faults.Cut:
		if !o.AtOperation() { // else the trap has cut the connection
			for _, c := range targets {
				c.Present().Link.Cut()
			}
		}
		in.begin(o, targets)
	case faults.Stop:
		in.begin(o, targets)
		for _, c := range targets {
			c.Present().Die()
		}
	case faults.Deaf:
		in.begin(o, targets)
		in.deafen(ctx, o, targets)
	case faults.Expire:
		in.begin(o, targets)
		return pool.Each(targets, func(c *pool.Client) error { return c.Expire(ctx) })
	default:
		return fmt.Errorf("no way to cause %s is known", o.Kind)
	}
	return nil
}

// deafen makes clients ignore requests of other clients until the time of the fault is over. It does not wait for that.
func (in *Injector) deafen(ctx context.Context, o *occurrence, targets []*pool.Client) {
	over := make(chan struct{})
	in.mu.Lock()
	for _, c := range targets {
		in.deaf[c.ID] = over
	}
	in.mu.Unlock()
	recordAll(targets, variants.Deafened)
	in.working.Go(func() {
		_ = pool.Sleep(ctx, cmp.Or(o.For, pool.Endless))
		in.mu.Lock()
		for _, c := range targets {
			delete(in.deaf, c.ID)
		}
		in.mu.Unlock()
		recordAll(targets, variants.Hearing)
		close(over)
		in.end(o)
	})
}

func (in *Injector) begin(o *occurrence, targets []*pool.Client) {
	target := fmt.Sprintf("%d clients", len(targets))
	if len(targets) == 1 {
		target = fmt.Sprintf("client %d", targets[0].ID)
	}
	in.beginAt(in.Pool.Since(), o, target, targets)
}

func (in *Injector) beginAt(at time.Duration, o *occurrence, target string, clients []*pool.Client) {
	ids := list.Map(clients, func(c *pool.Client) int { return c.ID })
	in.Log.NoteAt(at, func(at time.Duration) { o.id = in.Recorder.FaultBegan(at, string(o.Kind), target, ids) })
}

func (in *Injector) end(o *occurrence) {
	in.Log.Note(func(at time.Duration) { in.Recorder.FaultEnded(o.id, at) })
}

// Hold returns the hold of clients while faults happen. Clients that no fault hits hold as usual.
func (in *Injector) Hold(usual pool.HoldFunc) pool.HoldFunc {
	if len(in.Schedule) == 0 {
		return usual
	}
	return func(ctx context.Context, c *pool.Client, l *pool.Life, asked <-chan struct{}) error {
		c.Enter(pool.InHold)
		defer c.Enter(pool.InStep)
		if !l.Over() {
			in.meet(ctx, c)
		}
		in.mu.Lock()
		hears := in.deaf[c.ID]
		in.mu.Unlock()
		if hears != nil {
			return l.Pause(ctx, hears, pool.Endless)
		}
		return usual(ctx, c, l, asked)
	}
}
