package config

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/variants"
)

const (
	usesPerUpdate = 4 // by each reader
	defaultZnodes = 3 // fewer could hardly be torn
)

func znodes(env variants.Env) int { return cmp.Or(env.Size, defaultZnodes) }

// The events that a participant records. The value is an update's number, which the update writes into all znodes; the
// first configuration has number 0.
const (
	updating variants.EventKind = iota // the writer, just before it begins
	writing                            // the writer knows the new values, and may write them
	updated                            // the writer, just after
	awaiting                           // a reader waits for this number or a larger one
	oldest                             // a reader is about to act on values of which this is the smallest: all are at least as new
	used                               // recorded right after oldest: the largest of these values
	reading                            // a reader is about to read values that it does not have yet
	heldUp                             // a reader had to wait before it could read them
)

const (
	phaseUpdate      = "update"
	phaseAwait       = "await"
	phasePropagation = "propagation"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePropagation, Floor: variants.FloorHandoff,
			Meaning: "from when the writer may write the new values until a reader acts on all of them"},
		{Name: phaseAwait, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a reader begins to wait for new values until it acts on all of them"},
		{Name: phaseUpdate, From: updating, To: updated, UntimedInLockstep: true,
			Meaning: "from when the writer begins to prepare new values, for as long as the scenario holds, until they are written"},
	}
}

func prepare(ctx context.Context, env variants.Env) error {
	return Create(ctx, env.Session, env.Root, numbered(0, znodes(env)))
}

func numbered(number int64, znodes int) [][]byte {
	values := make([][]byte, znodes)
	for i := range values {
		values[i] = strconv.AppendInt(nil, number, 10)
	}
	return values
}

// The last participant writes: in a lockstep run all others wait for its update by then. Readers begin with a copy of
// the current values.
func join(open func(variants.Env) Configuration) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		if env.Index == env.Clients-1 {
			w, err := newWriter(ctx, open(env), env)
			return &publisher{w}, err
		}
		f := &follower{reader: reader{config: open(env), env: env}}
		err := f.use(ctx)
		if env.Life > 0 {
			f.step = f.number // earlier updates belong to rounds that are over
		}
		return f, err
	}
}

const (
	roleWriter = "writer"
	roleReader = "reader"
)

type writer struct {
	config Configuration
	env    variants.Env
	number int64
}

var _ variants.Roled = (*writer)(nil)

// A writer that joins again makes the last update once more, which its former life may have left half done. Like the winner of an election,
// it waits until the session of that life has ended: a write that is still under way could otherwise replace a newer update.
func newWriter(ctx context.Context, c Configuration, env variants.Env) (writer, error) {
	w := writer{config: c, env: env}
	if err := env.Session.Succeed(ctx, env.Root+"-writer"); err != nil || env.Life == 0 {
		return w, err
	}
	if err := env.Session.Sync(ctx, env.Root); err != nil {
		return w, fmt.Errorf("sync the configuration: %w", err)
	}
	values, err := newStore(env.Session, env.Root, znodes(env)).values(ctx)
	if err != nil {
		return w, err
	}
	low, high := numbers(values)
	if w.number = low; low == high && low > 0 {
		w.number-- // all has been written, but a flag may still be up
	}
	return w, nil
}

func (w *writer) write(ctx context.Context, prepare func(context.Context) error) error {
	number := w.number + 1
	w.env.Record(updating, number)
	err := w.config.Update(ctx, func(ctx context.Context) ([][]byte, error) {
		err := prepare(ctx)
		w.env.Record(writing, number)
		return numbered(number, znodes(w.env)), err
	})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	w.number = number
	w.env.Record(updated, number)
	return nil
}

func (w *writer) Role() string { return roleWriter }

func (w *writer) Leave(context.Context) error { return nil }

// publisher is the writer whose updates readers wait for.
type publisher struct{ writer }

var _ variants.Rounded = (*publisher)(nil)

// A step is one update, whose values take as long to prepare as the scenario holds.
func (p *publisher) Step(ctx context.Context) error {
	return p.write(ctx, func(ctx context.Context) error { return p.env.Hold(ctx, nil) })
}

func (p *publisher) Round() int64 { return p.number }

type reader struct {
	config Configuration
	env    variants.Env
	number int64 // of the configuration that it acted on last; the smallest if its values differ
}

var _ variants.Roled = (*reader)(nil)

func (r *reader) use(ctx context.Context) error {
	_, before := r.env.Session.Waiting()
	values, err := r.config.Read(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if _, after := r.env.Session.Waiting(); after != before {
		r.env.Record(heldUp, 0)
	}
	low, high := numbers(values)
	r.env.Record(oldest, low)
	r.env.Record(used, high)
	r.number = low
	return nil
}

func numbers(values [][]byte) (low, high int64) {
	for i, value := range values {
		number := variants.DecimalIn(value)
		if i == 0 {
			low, high = number, number
		}
		low, high = min(low, number), max(high, number)
	}
	return low, high
}

func (r *reader) Role() string { return roleReader }

func (r *reader) Leave(context.Context) error { return nil }

type follower struct {
	reader
	step int64 // how many steps are over
}

var _ variants.Rounded = (*follower)(nil)

// The k-th step uses the k-th configuration, or a later one if the writer was faster.
func (f *follower) Step(ctx context.Context) error {
	next, left := f.step+1, usesPerUpdate
	if f.number < next {
		f.env.Record(awaiting, next)
	}
	for f.number < next {
		if err := f.config.Changed(ctx); err != nil {
			return fmt.Errorf("wait for a change: %w", err)
		}
		f.env.Record(reading, 0)
		if err := f.use(ctx); err != nil {
			return err
		}
		left = usesPerUpdate - 1
	}
	for range left {
		if err := f.use(ctx); err != nil {
			return err
		}
	}
	f.step = next
	return nil
}

func (f *follower) Round() int64 { return f.step }

func newObserver(out variants.Findings) variants.Observer {
	b := &blockages{out: out, writer: -1, reading: map[int]time.Duration{}, pending: map[int]variants.Event{}}
	// A use does not end the wait while one of its values is older than the ones that the reader waits for.
	waits := out.BetweenFitting(phaseAwait, awaiting, oldest, func(begun, end variants.Event) bool { return end.Value >= begun.Value })
	return append(out.Timed(phases()), waits, out.FirstSights(phasePropagation, writing, oldest), newUses(out),
		variants.ObserverFunc(b.observe))
}

// blockages reports how long readers could not read because the writer had failed within an update: until its next life has
// completed one. A reader that waits for nothing is slow for another reason, such as an outage of its own.
type blockages struct {
	out          variants.Findings
	writer       int
	failed, back time.Duration // when the writer's last life ended, and the present one began; 0 if there is nothing to report
	reading      map[int]time.Duration
	pending      map[int]variants.Event // by reader: when the update was complete; the value is how long it took
}

func (b *blockages) observe(e variants.Event) {
	switch e.Kind {
	case updating:
		b.writer = e.Client
	case reading:
		b.reading[e.Client] = e.At
	case heldUp:
		if loss, ok := b.pending[e.Client]; ok {
			b.out.Lose(loss, variants.Blocked, loss.Value, "client %d could not read until the writer was back", e.Client)
		}
	case used:
		b.forget(e.Client)
	case variants.SessionLost, variants.Died, variants.Rejoined:
		b.fail(e)
	case updated:
		for client, since := range b.reading {
			if b.back > 0 && since < b.back {
				b.pending[client] = variants.Event{At: e.At, Value: int64(e.At - max(since, b.failed))}
			}
		}
		b.failed, b.back = 0, 0
	}
}

func (b *blockages) forget(client int) {
	delete(b.reading, client)
	delete(b.pending, client)
}

func (b *blockages) fail(e variants.Event) {
	if e.EndsLife() {
		b.forget(e.Client)
	}
	switch {
	case e.Client != b.writer:
	case e.Kind == variants.Rejoined:
		b.back = e.At
	case b.failed == 0:
		b.failed = e.At
	}
}

// uses reports configurations that no reader may act on. Writing is recorded before it begins and a use after
// everything was read: no write explains a configuration that no recorded update has written.
type uses struct {
	out     variants.Findings
	newest  int64 // the newest update that may be written
	lag     variants.Lag
	readers map[int]*readerState
}

type readerState struct {
	floor int64 // what it must see in a read that begins after its last event; see [variants.Lag]
	low   int64 // the smallest number among the values that it is about to act on
	last  int64 // the newest configuration that it has acted on
}

func newUses(out variants.Findings) variants.Observer {
	u := &uses{out: out, readers: map[int]*readerState{}}
	return variants.ObserverFunc(u.observe)
}

func (u *uses) observe(e variants.Event) {
	r := variants.StateOf(u.readers, e.Client)
	switch e.Kind {
	case variants.Rejoined: // a new session may read an older state
		*r = readerState{}
	case variants.SessionLost:
		r.floor = 0
		return
	case variants.Died, variants.Deafened, variants.Hearing: // no read begins
		return
	case writing:
		u.newest = max(u.newest, e.Value)
	case updated:
		u.lag.Acknowledged(e)
	case oldest:
		r.low = e.Value
		return
	case used:
		u.used(r, e)
	}
	r.floor = u.lag.MustSee(e)
}

func (u *uses) used(r *readerState, e variants.Event) {
	if r.low != e.Value {
		u.out.Lose(e, variants.TornReads, 1, "client %d acted on a torn configuration, of updates %d to %d", e.Client, r.low, e.Value)
	}
	if e.Value < r.last {
		u.out.Breach(e, "client %d acted on configuration %d after %d", e.Client, e.Value, r.last)
	}
	if e.Value > u.newest {
		u.out.Breach(e, "client %d acted on configuration %d when the last was %d", e.Client, e.Value, u.newest)
	}
	if e.Value < r.floor {
		const old = "client %d acted on configuration %d, although its server had shown a state with update %d before"
		u.out.Breach(e, old, e.Client, e.Value, r.floor)
	}
	r.last = max(r.last, e.Value)
}
