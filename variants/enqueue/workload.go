package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The values are the items' numbers, each used once in all lives of all clients.
const (
	enqueuing     variants.EventKind = iota // by a variant that may enqueue duplicates
	enqueuingOnce                           // by a variant that claims to enqueue each item once
	enqueued
	found   // a copy in the queue that a consumer could take
	audited // all copies have been looked for
)

const phaseEnqueue = "enqueue"

// The audit belongs to the workload.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseEnqueue, From: enqueuing, To: enqueued, Floor: variants.FloorWrite,
			Meaning: "from the call until the item is known to be in the queue"},
		{Name: "audit", From: enqueued, To: audited, Meaning: "from then until the workload has counted the item's copies and taken them out"},
	}
}

// worker is a participant, the same for every variant. In a step it enqueues an item, then audits the queue: it lists the
// items, and reads and deletes each copy of its own item, as a consumer would, so that nothing accumulates. The audit is
// outside of the phase that is timed, but its requests are counted: a listing, and a read and a delete for each copy.
type worker struct {
	producer Producer
	env      variants.Env
	begin    variants.EventKind
	number   int64
}

// begin is the event that begins the variant's enqueue.
func join[P Producer](begin variants.EventKind, open func(context.Context, *session.Session, string) (P, error)) variants.JoinFunc {
	return joinBy(begin, func(ctx context.Context, env variants.Env) (P, error) { return open(ctx, env.Session, env.Root) })
}

func joinBy[P Producer](begin variants.EventKind, open func(context.Context, variants.Env) (P, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(p P, env variants.Env) variants.Participant {
		return &worker{producer: p, env: env, begin: begin, number: int64(env.Index)<<40 | int64(env.Life)<<28}
	})
}

func (w *worker) Step(ctx context.Context) error {
	w.number++
	key := fmt.Sprintf("n%d", w.number)
	err := w.env.Timed(ctx, "enqueue", w.begin, enqueued, w.number, func(ctx context.Context) error {
		return w.producer.Enqueue(ctx, key, []byte(key))
	})
	if err != nil {
		return err
	}
	if err := errors.Join(w.audit(ctx, key), w.env.Session.Alive()); err != nil { // else another session may have listed
		return fmt.Errorf("audit: %w", err)
	}
	w.env.Record(audited, w.number)
	return nil
}

func (w *worker) Leave(ctx context.Context) error { return w.producer.Leave(ctx) }

// audit takes the copies of an item out. It looks again after a sync if there is none: a producer may have put the item in another session,
// whose server was ahead of this one's.
func (w *worker) audit(ctx context.Context, key string) error {
	copies, err := w.copies(ctx, key)
	if err == nil && len(copies) == 0 {
		if err := w.env.Session.Sync(ctx, w.env.Root); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		copies, err = w.copies(ctx, key)
	}
	for _, name := range copies {
		err = errors.Join(err, w.consume(ctx, path.Join(w.env.Root, "items", name)))
	}
	return err
}

func (w *worker) copies(ctx context.Context, key string) ([]string, error) {
	names, _, err := w.env.Session.Children(ctx, path.Join(w.env.Root, "items"))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, key+marker) }), err
}

func (w *worker) consume(ctx context.Context, item string) error {
	stored, _, err := w.env.Session.Get(ctx, item)
	if err != nil {
		return fmt.Errorf("read %s: %w", item, err)
	}
	if _, ok := Consumable(stored); ok {
		w.env.Record(found, w.number)
	}
	return w.env.Session.Discard(ctx, item)
}

// The promise that newObserver checks: no variant loses an item, and one that claims to enqueue once leaves one copy.
func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), out.Between(phaseEnqueue, enqueuingOnce, enqueued), copies(out))
}

type item struct {
	once, done bool
	copies     int
}

// copies counts the copies of each item. A client has one item at a time. The number of copies remains unknown if a
// failure of the client has prevented the audit.
func copies(out variants.Findings) variants.ObserverFunc {
	clients := map[int]*item{}
	return func(e variants.Event) {
		i := variants.StateOf(clients, e.Client)
		switch e.Kind {
		case enqueuing, enqueuingOnce:
			*i = item{once: e.Kind == enqueuingOnce}
		case enqueued:
			i.done = true
		case found:
			i.copies++
		case audited:
			i.audited(out, e)
		}
	}
}

// audited reports the result of an audit. Copies of an item are damage. They are a breach only of a variant that
// promises one copy.
func (i *item) audited(out variants.Findings, e variants.Event) {
	switch {
	case i.copies == 0 && i.done:
		out.Lose(e, variants.ItemsLost, 1, "client %d enqueued item %d, which is not in the queue", e.Client, e.Value)
	case i.copies > 1 && (i.once || out.Damage != nil):
		out.Lose(e, variants.ItemsDoubled, int64(i.copies-1),
			"client %d enqueued item %d once, and it is in the queue %d times", e.Client, e.Value, i.copies)
	}
}
