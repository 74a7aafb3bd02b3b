package hiddenchannel

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"github.com/zkbench/zkbench/variants"
)

// The events that a participant records. The value is an update's number, which the update writes; the znode begins
// with 0.
const (
	writing variants.EventKind = iota // the writer, just before it updates
	written                           // acknowledged, and announced
	awaiting
	told // it has heard of an update
	read
	fresh // the variant promises that no read is stale
)

const (
	phaseUpdate      = "update"
	phaseRead        = "read"
	phaseStale       = "stale"
	phasePropagation = "propagation"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePropagation, Meaning: "from just before an update is sent until a reader has read it", UntimedInLockstep: true},
		{Name: phaseRead, From: told, To: read, Floor: variants.FloorRead,
			Meaning: "from when the reader heard of an update until it has read"},
		{Name: phaseStale, Of: phaseRead,
			Meaning: "a read that was stale: from when the reader heard of an update until it has read an older one"},
		{Name: phaseUpdate, From: writing, To: written, Floor: variants.FloorWrite,
			Meaning: "from just before an update is sent until its reply"},
		{Name: "await", From: awaiting, To: told, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a reader begins to wait until it hears of an update; with a size above 1, until it has dealt with the news"},
	}
}

func znode(env variants.Env) string { return path.Join(env.Root, "value") }

func numbered(number int64) []byte { return strconv.AppendInt(nil, number, 10) }

// The first participant writes: where readers wait for messages, it has to be the first in a lockstep run to hold.
// Readers begin by reading the current value.
func join(open func(context.Context, variants.Env, Mail) (Value, error)) variants.JoinFunc {
	var boxes sync.Map // the mailboxes, by root, which is new in each measurement: they stay, a few words each
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		box, _ := boxes.LoadOrStore(env.Root, NewMailbox())
		mail := pacedMail{box.(*Mailbox), env}
		value, err := open(ctx, env, mail)
		if err != nil {
			return nil, err
		}
		return begin(ctx, value, env, mail)
	}
}

// begin makes the participant of a client. A client that joins again continues with the update that it finds. If the
// writer has failed before it announced that update, the writer's next life announces it.
func begin(ctx context.Context, v Value, env variants.Env, mail Mail) (variants.Participant, error) {
	if env.Index == 0 && env.Life == 0 {
		return &writer{value: v, env: env, mail: mail}, nil
	}
	r := &reader{value: v, env: env}
	number, err := r.read(ctx)
	switch {
	case err != nil:
		return nil, err
	case env.Index == 0:
		return &writer{value: v, env: env, mail: mail, number: number}, mail.Send(ctx, number)
	case env.Life > 0:
		r.step, r.known = number/burst(env), number
	}
	return r, nil
}

// pacedMail is a mailbox whose readers look into it when their turn has come: in a lockstep run, the runner does not
// see that a client waits for a message, but sees which clients hold.
type pacedMail struct {
	*Mailbox
	env variants.Env
}

func (m pacedMail) Receive(ctx context.Context, after int64) (int64, error) {
	if err := m.env.Hold(ctx, nil); err != nil {
		return 0, err
	}
	return m.Mailbox.Receive(ctx, after)
}

type writer struct {
	value  Value
	env    variants.Env
	mail   Mail
	number int64
}

var _ variants.Rounded = (*writer)(nil)

func burst(env variants.Env) int64 { return int64(max(env.Size, 1)) }

// A step is a burst of updates. A writer that joins again completes the burst of its former life.
func (w *writer) Step(ctx context.Context) error {
	if err := w.env.Hold(ctx, nil); err != nil {
		return err
	}
	for last := (w.Round() + 1) * burst(w.env); w.number < last; {
		if err := w.update(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) update(ctx context.Context) error {
	number := w.number + 1
	return w.env.Timed(ctx, "update", writing, written, number, func(ctx context.Context) error {
		err := w.value.Update(ctx, numbered(number))
		if errors.Is(err, ErrOvertaken) && w.env.Life > 0 { // a request of its former life has come late, and has made the update
			_, err = w.value.Read(ctx)
			err = errors.Join(err, w.mail.Send(ctx, number))
		}
		if err == nil {
			w.number = number
		}
		return err
	})
}

func (w *writer) Round() int64 { return w.number / burst(w.env) }

func (w *writer) Leave(context.Context) error { return nil }

type reader struct {
	value Value
	env   variants.Env
	step  int64 // how many steps are over
	known int64 // the newest update that it has heard of or read
}

var _ variants.Rounded = (*reader)(nil)

// The k-th step ends when the reader has heard of the last update of the k-th burst, or of a later one, and has then
// read.
func (r *reader) Step(ctx context.Context) error {
	next := (r.step + 1) * burst(r.env)
	for r.known < next {
		r.env.Record(awaiting, next)
		version, err := r.value.Changed(ctx)
		if err != nil {
			return fmt.Errorf("wait for an update: %w", err)
		}
		if burst(r.env) > 1 { // be busy with it before the read: meanwhile the writer continues
			if err := r.env.Hold(ctx, nil); err != nil {
				return err
			}
		}
		r.env.Record(told, version)
		number, err := r.read(ctx)
		if err != nil {
			return err
		}
		r.known = max(r.known, version, number)
	}
	r.step++
	return nil
}

func (r *reader) Round() int64 { return r.step }

func (r *reader) read(ctx context.Context) (int64, error) {
	reading, err := r.value.Read(ctx)
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	number := variants.DecimalIn(reading.Data)
	r.env.Record(read, number)
	return number, nil
}

func (r *reader) Leave(context.Context) error { return nil }

// An update is recorded before it is sent, and a read when its answer has come: no write explains a value that no
// recorded update has written.
func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), out.FirstSights(phasePropagation, writing, read),
		variants.ObserverFunc((&reads{out: out, readers: map[int]*readerState{}}).observe))
}

type readerState struct {
	fresh bool            // its variant promises that no read is stale
	told  int64           // the update that it heard of last
	at    variants.Moment // when
	heard bool            // it has not read since
	floor int64           // see [variants.Lag]
	last  int64           // the newest that it has read
}

// reads reports stale reads, and values that break the promise.
type reads struct {
	out     variants.Findings
	newest  int64 // the last update that was begun
	lag     variants.Lag
	readers map[int]*readerState
}

func (r *reads) observe(e variants.Event) {
	state := variants.StateOf(r.readers, e.Client)
	switch e.Kind {
	case variants.Rejoined: // a new session may read an older state
		*state = readerState{}
	case variants.SessionLost:
		state.floor = 0
	case writing:
		r.newest = max(r.newest, e.Value)
	case written:
		r.lag.Acknowledged(e)
	case fresh:
		state.fresh = true
	case told:
		state.told, state.at, state.heard, state.floor = e.Value, e.Moment(), true, r.lag.MustSee(e)
	case read:
		r.read(state, e)
	}
}

func (r *reads) read(state *readerState, e variants.Event) {
	if state.heard && e.Value < state.told {
		r.out.Span(variants.SpanOf(phaseStale, e.Client, state.at, e.Moment()))
	}
	if e.Value > r.newest {
		r.out.Breach(e, "client %d read update %d when the last was %d", e.Client, e.Value, r.newest)
	}
	if e.Value < state.last {
		r.out.Breach(e, "client %d read update %d after %d", e.Client, e.Value, state.last)
	}
	switch {
	case state.fresh && e.Value < state.told:
		r.out.Breach(e, "client %d read update %d when it had been told of %d", e.Client, e.Value, state.told)
	case e.Value < state.floor:
		r.out.Breach(e, "client %d read update %d, although its server had shown a state with update %d before", e.Client, e.Value, state.floor)
	}
	state.last, state.heard = max(state.last, e.Value), false
}
