package blockingqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The values are the numbers of items, which grow from put to put of the
// producer.
const (
	putting   variants.EventKind = iota // just before the put is sent
	put                                 // it has been acknowledged
	requested                           // a consumer begins to take
	claiming                            // just before the claim is sent
	taken                               // the item is the consumer's
	draining                            // the producer begins to wait until its last round has been taken
	drained
	shortLived // the variant's items end with the session of their producer
	unordered  // an item may be taken before an earlier one, and an item whose consumer has failed goes behind the others
)

const (
	phaseTake    = "take"
	phaseSojourn = "sojourn"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseSojourn, Meaning: "from just before an item is put until a client has taken it", UntimedInLockstep: true},
		{Name: phaseTake, From: requested, To: taken, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until the client has an item, waiting for the producer included"},
		{Name: "put", From: putting, To: put, Meaning: "from just before a put is sent until its reply", Floor: variants.FloorWrite},
		{Name: "drain", From: draining, To: drained, Waits: true, UntimedInLockstep: true,
			Meaning: "from when the producer has put its last item until all are taken"},
	}
}

// worker is a participant, the same for every variant. The last one is the producer: in a step it puts an item for each
// of the others, which take one each. A worker that is alone does both.
//
// The producer begins its next round when the last item of the round before has been taken. Otherwise it would put
// faster than its consumers take, and no consumer would wait.
//
// A consumer whose life has ended may have taken an item that it does not know of. Its next life begins by putting a
// spare one, or another consumer would wait for an item at the end. If items are ephemeral, the spare item of an
// earlier life may have ended with its session, and so may up to one round of the producer. The next life puts as many
// items more. A producer whose life has ended may have put part of its round, and its next life puts the whole round
// again. So there may be more items than the consumers, which take a fixed number, will ever take. The producer does
// not wait for the surplus, see drain.
type worker struct {
	queue  Queue
	env    variants.Env
	number int64  // of the last item put
	rounds int    // that the producer has put, in earlier lives, too
	ends   []Item // the last items of the rounds that the producer has not seen taken, the oldest first
	spares int    // items that it has yet to put in place of items that its earlier life may have cost
}

func join[Q Queue](open func(context.Context, *session.Session, string) (Q, error), endWithProducer bool) variants.JoinFunc {
	return variants.JoinIn(open, func(q Q, env variants.Env) variants.Participant { return newWorker(q, env, endWithProducer) })
}

func newWorker(q Queue, env variants.Env, endWithProducer bool) *worker {
	w := &worker{queue: q, env: env, number: int64(env.Life) << 28, rounds: env.Completed}
	again := min(env.Life, 1)      // 0 in the first life
	ended := max(1, env.Clients-1) // items that may have ended with the former life, where they end with their producer
	if w.consumes() {
		w.number |= spare | int64(env.Index)<<40
		w.spares, ended = again, 1
	}
	if endWithProducer {
		env.Record(shortLived, 0)
		w.spares += again * ended
	}
	return w
}

func (w *worker) consumes() bool { return w.env.Index < w.env.Clients-1 }

// spare is a bit in the numbers of items that have no order among the producer's items.
const spare = 1 << 55

func (w *worker) Step(ctx context.Context) error {
	for ; w.spares > 0; w.spares-- {
		if _, err := w.put(ctx); err != nil {
			return err
		}
	}
	switch {
	case w.consumes():
		return w.consume(ctx)
	case w.env.Clients > 1:
		return w.produceRound(ctx)
	default:
		if _, err := w.produce(ctx); err != nil {
			return err
		}
		return w.consume(ctx)
	}
}

func (w *worker) Leave(ctx context.Context) error { return w.queue.Leave(ctx) }

func (w *worker) produceRound(ctx context.Context) (err error) {
	if err := w.drain(ctx); err != nil {
		return err
	}
	var last Item
	for range w.env.Clients - 1 {
		if last, err = w.produce(ctx); err != nil {
			return err
		}
	}
	w.rounds++
	w.ends = append(w.ends, last)
	return nil
}

// drain waits until the last round is taken. If clients have put more items than the producer's completed rounds, it
// waits for the last round that does not need more takes than the consumers have made when they have completed as many
// steps.
func (w *worker) drain(ctx context.Context) error {
	takes := int64(w.rounds) * int64(w.env.Clients-1)
	due := 0
	for due < len(w.ends) && w.ends[due].position() <= takes {
		due++
	}
	if due == 0 {
		return nil
	}
	w.env.Record(draining, w.number)
	if err := w.queue.AwaitTaken(ctx, w.ends[due-1]); err != nil {
		return fmt.Errorf("wait until an earlier round is taken: %w", err)
	}
	w.ends = w.ends[due:]
	w.env.Record(drained, w.number)
	return nil
}

// produce holds before the put and after it. In a lockstep run the consumers that the item has woken hold, too, before they
// claim it. The producer's first hold may end before theirs; its second hold ends after all of them, and so the next put
// follows all claims.
func (w *worker) produce(ctx context.Context) (Item, error) {
	if err := w.env.Hold(ctx, nil); err != nil {
		return Item{}, err
	}
	item, err := w.put(ctx)
	if err != nil {
		return Item{}, err
	}
	return item, w.env.Hold(ctx, nil)
}

func (w *worker) put(ctx context.Context) (item Item, err error) {
	w.number++
	err = w.env.Timed(ctx, "put", putting, put, w.number, func(ctx context.Context) error {
		item, err = w.queue.Put(ctx, variants.DataOf(w.number))
		return err
	})
	return item, err
}

// consume takes one item. It holds between the peek and the claim, so that in a lockstep run all consumers that were woken
// have seen the item when the first of them claims it: the worst case of each variant.
func (w *worker) consume(ctx context.Context) error {
	w.env.Record(requested, 0)
	for {
		item, err := w.queue.Peek(ctx)
		if err != nil {
			return fmt.Errorf("peek: %w", err)
		}
		number := variants.NumberIn(item.Data)
		if err := w.env.Hold(ctx, nil); err != nil {
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
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	return errors.Join(err, w.queue.Leave(ctx))
}
