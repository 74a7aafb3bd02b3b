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
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Crew are the clients of a measurement, wherever they are. Its methods do what those of [Targets] do for all of them.
type Crew interface {
	// Since returns the time on the measurement's clock.
	Since() time.Duration
	Fitting(f faults.Fault) (ids []int)
	// Strike and StrikeHolder wait at one of the places where clients are. If there are several, random chooses it, which returns a
	// number below n.
	Strike(ctx context.Context, s Strike, random func(n int) int) (Struck, error)
	StrikeHolder(ctx context.Context, f faults.Fault, random func(n int) int) (Struck, error)
	Hear(ids []int)
	Record(kind variants.EventKind)
	ConnectedTo(addr string) (ids []int)
}

// Config holds the parts of a measurement that an injector uses.
type Config struct {
	Crew     Crew
	Epoch    time.Time
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
	stop    context.CancelFunc
	working sync.WaitGroup
	broken  sync.Map // by server id, the *occurrence of each server that is not restored yet

	mu  sync.Mutex // guards Random and err
	err error      // the first reason why a fault could not be caused
}

type occurrence struct {
	faults.Fault
	id int // in the recorder, once it has happened
}

// New returns an injector that has not started.
func New(c Config) *Injector { return &Injector{Config: c} }

// Start begins the schedule. The caller ends it with Finish.
func (in *Injector) Start(ctx context.Context) {
	if len(in.Schedule) == 0 {
		return
	}
	ctx, in.stop = context.WithCancel(ctx)
	begin := in.Crew.Since()
	in.working.Go(func() {
		for o := range faults.Plan(in.Schedule, in.Window) {
			if pool.Sleep(ctx, begin+o.Due-in.Crew.Since()) != nil {
				return
			}
			in.working.Go(func() { in.cause(ctx, &occurrence{Fault: o.Fault}) })
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

// longHold is the shortest hold for which a fault is aimed at a client that holds already. A shorter one may end before the
// fault happens, so that the fault waits for the next client that begins to hold.
const longHold = 100 * time.Millisecond

// cause causes a fault. One that met no client is counted; any other error fails the measurement.
func (in *Injector) cause(ctx context.Context, o *occurrence) {
	var err error
	switch {
	case o.Kind.OfServer():
		err = in.breakServer(ctx, o)
	case o.Whom == faults.Holder && in.HoldTime < longHold:
		err = in.strike(ctx, o, func() (Struck, error) { return in.Crew.StrikeHolder(ctx, o.Fault, in.random) })
	default:
		err = in.strikeSome(ctx, o)
	}
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
		ids := in.Crew.Fitting(o.Fault)
		if o.Whom != faults.All && !o.AtOperation() && len(ids) > 1 {
			ids = []int{ids[in.random(len(ids))]}
		}
		if len(ids) > 0 {
			err := in.strike(ctx, o, func() (Struck, error) { return in.Crew.Strike(ctx, Strike{o.Fault, ids}, in.random) })
			if !errors.Is(err, errMissed) || o.AtOperation() {
				return err
			}
		}
		if time.Now().After(deadline) || pool.Sleep(ctx, time.Millisecond) != nil {
			return errMissed
		}
	}
}

func (in *Injector) random(n int) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.Random.IntN(n)
}

// strike lets a fault happen. What happens meanwhile is kept back until the log has the fault.
func (in *Injector) strike(ctx context.Context, o *occurrence, happen func() (Struck, error)) error {
	release := in.Log.KeepBack()
	defer release()
	struck, err := happen()
	if len(struck.Clients) == 0 {
		return cmp.Or(err, errMissed)
	}
	target := fmt.Sprintf("%d clients", len(struck.Clients))
	if len(struck.Clients) == 1 {
		target = fmt.Sprintf("client %d", struck.Clients[0])
	}
	in.beginAt(struck.At, o, target, struck.Clients)
	if o.Kind == faults.Deaf {
		in.working.Go(func() {
			_ = pool.Sleep(ctx, cmp.Or(o.For, pool.Endless))
			in.Crew.Hear(struck.Clients)
			in.end(o)
		})
	}
	return err
}

func (in *Injector) beginAt(at time.Duration, o *occurrence, target string, clients []int) {
	in.Log.NoteAt(at, func(at time.Duration) { o.id = in.Recorder.FaultBegan(at, string(o.Kind), target, clients) })
}

func (in *Injector) end(o *occurrence) {
	in.Log.Note(func(at time.Duration) { in.Recorder.FaultEnded(o.id, at) })
}
