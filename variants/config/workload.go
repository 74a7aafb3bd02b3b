package config

import (
	"context"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/variants"
)

// The size of the workload. The texts of the formulas contain these numbers.
const (
	znodes = 3 // that the configuration is spread over
	uses   = 4 // of each configuration by each reader
)

// What a participant records. The value is an update's number, which is what the update writes into all znodes; the
// first configuration has number 0.
const (
	updating variants.EventKind = iota // the writer, just before it begins
	writing                            // the writer knows the new values, and may write them
	updated                            // the writer, just after
	awaiting                           // a reader waits for this number or a larger one
	oldest                             // a reader is about to act on values of which this is the smallest
	used                               // and this, recorded right after, the largest
	reading                            // a reader who does not wait is about to read
)

// The phases.
const (
	phaseUpdate      = "update"
	phaseAwait       = "await"
	phasePropagation = "propagation"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePropagation, Meaning: "from when the writer may write the new values until a reader acts on them", Floor: variants.FloorHandoff},
		{Name: phaseAwait, Meaning: "from when a reader begins to wait for new values until it acts on them", Waits: true, UntimedInLockstep: true},
		{Name: phaseUpdate, Meaning: "from when the writer begins to prepare new values, for as long as the scenario holds, until they are written", UntimedInLockstep: true},
	}
}

// prepare creates the configuration with number 0.
func prepare(ctx context.Context, s variants.Session, env variants.Env) error {
	return Create(ctx, s, env.Root, numbered(0))
}

// numbered is what the update of that number writes.
func numbered(number int64) [][]byte {
	values := make([][]byte, znodes)
	for i := range values {
		values[i] = strconv.AppendInt(nil, number, 10)
	}
	return values
}

// join makes a variant's Join out of its constructor. The last participant writes: in a lockstep run all others wait for
// its update by then. Readers begin with a copy of what there is.
func join(open func(variants.Session, variants.Env) Configuration) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		c := open(s, env)
		if env.Index == env.Clients-1 {
			return &writer{config: c, env: env}, nil
		}
		r := &reader{config: c, env: env}
		return r, r.use(ctx)
	}
}

// writer is the participant that changes the configuration.
type writer struct {
	config Configuration
	env    variants.Env
	number int64
}

var _ variants.Participant = (*writer)(nil)

// Step implements [variants.Participant]: one update, whose values take as long to prepare as the scenario holds.
func (w *writer) Step(ctx context.Context) error {
	return w.write(ctx, func(ctx context.Context) error { return w.env.Hold(ctx, w.env.Lost) })
}

// write updates with the next number. prepare is what has to be done before that can be written.
func (w *writer) write(ctx context.Context, prepare func(context.Context) error) error {
	number := w.number + 1
	w.env.Record(updating, number)
	err := w.config.Update(ctx, func(ctx context.Context) ([][]byte, error) {
		err := prepare(ctx)
		w.env.Record(writing, number)
		return numbered(number), err
	})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	w.number = number
	w.env.Record(updated, number)
	return nil
}

// Leave implements [variants.Participant].
func (w *writer) Leave(context.Context) error { return nil }

// reader is a participant that acts on the configuration.
type reader struct {
	config Configuration
	env    variants.Env
	step   int64 // how many steps it has begun
	number int64 // of the configuration that it acted on last
}

var _ variants.Participant = (*reader)(nil)

// Step implements [variants.Participant]: the k-th one uses the k-th configuration, or a later one if the writer was
// faster.
func (r *reader) Step(ctx context.Context) error {
	r.step++
	left := uses
	if r.number < r.step {
		r.env.Record(awaiting, r.step)
	}
	for r.number < r.step {
		if err := r.config.Changed(ctx); err != nil {
			return fmt.Errorf("wait for a change: %w", err)
		}
		if err := r.use(ctx); err != nil {
			return err
		}
		left = uses - 1
	}
	for range left {
		if err := r.use(ctx); err != nil {
			return err
		}
	}
	return nil
}

// use acts on the configuration, which means to record it.
func (r *reader) use(ctx context.Context) error {
	values, err := r.config.Read(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	var low, high int64
	for i, value := range values {
		number, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return fmt.Errorf("understand the configuration: %w", err)
		}
		if i == 0 {
			low, high = number, number
		}
		low, high = min(low, number), max(high, number)
	}
	r.env.Record(oldest, low)
	r.env.Record(used, high)
	r.number = high
	return nil
}

// Leave implements [variants.Participant].
func (r *reader) Leave(context.Context) error { return nil }

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseUpdate, updating, updated)
	out = append(out, waits(h)...)
	return append(out, h.FirstSights(phasePropagation, writing, used)...)
}

// waits pairs each beginning to wait with the same reader's first use of what it waits for.
func waits(h variants.History) []variants.Span {
	var out []variants.Span
	waiting := map[int]variants.Event{}
	for _, e := range h {
		switch e.Kind {
		case awaiting:
			waiting[e.Client] = e
		case used:
			if since, ok := waiting[e.Client]; ok && e.Value >= since.Value {
				out = append(out, variants.Span{Phase: phaseAwait, Client: e.Client, Start: since.At, End: e.At})
				delete(waiting, e.Client)
			}
		}
	}
	return out
}

// check holds a history to the promise. Writing is recorded before it begins and a use after everything was read, so that
// a configuration from nowhere is one indeed.
func check(h variants.History) []variants.Violation {
	var out []variants.Violation
	var newest int64
	low, last := map[int]int64{}, map[int]int64{}
	for _, e := range h {
		switch e.Kind {
		case writing:
			newest = max(newest, e.Value)
		case oldest:
			low[e.Client] = e.Value
		case used:
			if low[e.Client] != e.Value {
				out = append(out, e.Violation("client %d acted on a torn configuration, of updates %d to %d", e.Client, low[e.Client], e.Value))
			}
			if e.Value < last[e.Client] {
				out = append(out, e.Violation("client %d acted on configuration %d after %d", e.Client, e.Value, last[e.Client]))
			}
			if e.Value > newest {
				out = append(out, e.Violation("client %d acted on configuration %d when the last was %d", e.Client, e.Value, newest))
			}
			last[e.Client] = max(last[e.Client], e.Value)
		}
	}
	return out
}
