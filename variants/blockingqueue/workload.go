package blockingqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The values are the numbers of items, which grow from put to put.
const (
	putting   variants.EventKind = iota // just before the put is sent
	put                                 // it is in the queue
	requested                           // a consumer begins to take
	claiming                            // just before the claim is sent
	taken                               // the item is the consumer's
	draining                            // the producer begins to wait until its last round has been taken
	drained
)

// The phases.
const (
	phasePut     = "put"
	phaseTake    = "take"
	phaseSojourn = "sojourn"
	phaseDrain   = "drain"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseSojourn, Meaning: "from just before an item is put until somebody has taken it", UntimedInLockstep: true},
		{Name: phaseTake, Meaning: "from the call until the client has an item, waiting for the producer included", Waits: true, UntimedInLockstep: true},
		{Name: phasePut, Meaning: "from just before a put is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseDrain, Meaning: "from when the producer has put its last item until all are taken", Waits: true, UntimedInLockstep: true},
	}
}

// worker is a participant, the same for every variant. The last one is the producer: in a step it puts an item for each
// of the others, which take one each. One that is alone does both.
//
// The producer begins its next round when the last item of the one before has been taken. It would otherwise run away
// from its consumers, and nobody would ever wait.
type worker struct {
	queue  Queue
	env    variants.Env
	number int64 // of the last item put
	last   *Item // of the last round
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, variants.Env) (Queue, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(q Queue, env variants.Env) variants.Participant {
		return &worker{queue: q, env: env}
	})
}

// Step implements [variants.Participant].
func (w *worker) Step(ctx context.Context) error {
	switch {
	case w.env.Index < w.env.Clients-1:
		return w.consume(ctx)
	case w.env.Clients > 1:
		return w.produceRound(ctx)
	default:
		if err := w.produce(ctx); err != nil {
			return err
		}
		return w.consume(ctx)
	}
}

// Leave implements [variants.Participant].
func (w *worker) Leave(ctx context.Context) error { return w.queue.Leave(ctx) }

func (w *worker) produceRound(ctx context.Context) error {
	if w.last != nil {
		w.env.Record(draining, w.number)
		if err := w.queue.AwaitTaken(ctx, *w.last); err != nil {
			return fmt.Errorf("wait until the last round is taken: %w", err)
		}
		w.env.Record(drained, w.number)
	}
	for range w.env.Clients - 1 {
		if err := w.produce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// produce holds before the put and after it. In a lockstep run those whom the item has woken hold, too, before they claim
// it: the first of the two holds may come before theirs, but the second comes after all of them, and so does the next put.
func (w *worker) produce(ctx context.Context) error {
	if err := w.env.Hold(ctx, w.env.Lost); err != nil {
		return err
	}
	w.number++
	w.env.Record(putting, w.number)
	item, err := w.queue.Put(ctx, binary.BigEndian.AppendUint64(nil, uint64(w.number)))
	if err != nil {
		return err
	}
	w.env.Record(put, w.number)
	w.last = &item
	return w.env.Hold(ctx, w.env.Lost)
}

// consume takes one item. It holds between seeing and claiming it, so that in a lockstep run all who have been woken
// have seen it when the first one claims it: the most that a variant can be made to do.
func (w *worker) consume(ctx context.Context) error {
	w.env.Record(requested, 0)
	for {
		item, err := w.queue.Peek(ctx)
		if err != nil {
			return fmt.Errorf("peek: %w", err)
		}
		number, err := numberOf(item)
		if err != nil {
			return err
		}
		if err := w.env.Hold(ctx, w.env.Lost); err != nil {
			return w.withdraw(ctx, err)
		}
		w.env.Record(claiming, number)
		mine, err := w.queue.Claim(ctx, item)
		if err != nil {
			return w.withdraw(ctx, fmt.Errorf("claim: %w", err))
		}
		if mine {
			w.env.Record(taken, number)
			return nil
		}
	}
}

func (w *worker) withdraw(ctx context.Context, err error) error {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	return errors.Join(err, w.queue.Leave(ctx))
}

func numberOf(item Item) (int64, error) {
	if len(item.Data) != 8 {
		return 0, fmt.Errorf("an item of %d bytes, which no producer has put", len(item.Data))
	}
	return int64(binary.BigEndian.Uint64(item.Data)), nil
}

func spans(h variants.History) []variants.Span {
	out := h.Between(phasePut, putting, put)
	out = append(out, h.Between(phaseTake, requested, taken)...)
	out = append(out, h.Between(phaseDrain, draining, drained)...)
	return append(out, h.Across(phaseSojourn, putting, taken)...)
}

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation { return append(checkPrefix(h), lost(h)...) }

// checkPrefix finds items that were taken twice, in the wrong order, or before they were put. There is one producer, whose
// items are numbered in the order of its puts.
//
// Two takes are known to be in the wrong order if that of the later item had ended when that of the earlier one was not
// yet claimed: times are taken just before a claim is sent and just after it was answered, on one clock.
func checkPrefix(h variants.History) []variants.Violation {
	var out []variants.Violation
	begun, takers := map[int64]bool{}, map[int64]int{}
	claimed := map[int]int64{} // by client: the latest item that had been taken when it claimed
	var latest int64
	for _, e := range h {
		switch e.Kind {
		case putting:
			begun[e.Value] = true
		case claiming:
			claimed[e.Client] = latest
		case taken:
			if !begun[e.Value] {
				out = append(out, e.Violation("client %d took item %d, which nobody had put", e.Client, e.Value))
			}
			if other, twice := takers[e.Value]; twice {
				out = append(out, e.Violation("client %d took item %d, which client %d had taken", e.Client, e.Value, other))
			} else if claimed[e.Client] > e.Value {
				out = append(out, e.Violation("client %d took item %d after item %d had been taken", e.Client, e.Value, claimed[e.Client]))
			}
			takers[e.Value] = e.Client
			latest = max(latest, e.Value)
		}
	}
	return out
}

// lost returns the items that were put and, at the end of a whole history, not taken.
func lost(h variants.History) []variants.Violation {
	gone := map[int64]bool{}
	for _, e := range h {
		if e.Kind == taken {
			gone[e.Value] = true
		}
	}
	var out []variants.Violation
	for _, e := range h {
		if e.Kind == put && !gone[e.Value] {
			out = append(out, e.Violation("item %d was put and never taken", e.Value))
		}
	}
	return out
}
