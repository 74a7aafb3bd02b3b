package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The values are the items' numbers, each used once.
const (
	enqueuing     variants.EventKind = iota // by a variant that does not claim to enqueue once
	enqueuingOnce                           // by one that does
	enqueued
	found   // a copy in the queue that a consumer could take
	audited // all copies have been looked for
)

// The phases.
const (
	phaseEnqueue = "enqueue"
	phaseAudit   = "audit"
)

// phases are what is timed, the most telling first. The audit is the workload's own.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseEnqueue, Meaning: "from the call until the item is known to be in the queue", Floor: variants.FloorWrite},
		{Name: phaseAudit, Meaning: "from then until the workload has counted the item's copies and taken them out"},
	}
}

// worker is a participant, the same for every variant. In a step it enqueues an item. Then it audits the queue: it lists
// the items, and reads and deletes each copy of its own, as a consumer would, so that nothing accumulates. The audit is
// outside of the phase that is timed, but its requests are counted: a listing, and a read and a delete for each copy.
type worker struct {
	producer Producer
	session  variants.Session
	env      variants.Env
	begin    variants.EventKind
	number   int64
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor and of whether it claims to enqueue once.
func join(begin variants.EventKind, open func(context.Context, variants.Session, variants.Env) (Producer, error)) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		p, err := open(ctx, s, env)
		if err != nil {
			return nil, err
		}
		return &worker{producer: p, session: s, env: env, begin: begin, number: int64(env.Index) << 32}, nil
	}
}

// Step implements [variants.Participant].
func (w *worker) Step(ctx context.Context) error {
	w.number++
	key := fmt.Sprintf("n%d", w.number)
	w.env.Record(w.begin, w.number)
	if err := w.producer.Enqueue(ctx, key, []byte(key)); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	w.env.Record(enqueued, w.number)
	if err := w.audit(ctx, key); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	w.env.Record(audited, w.number)
	return nil
}

// Leave implements [variants.Participant].
func (w *worker) Leave(ctx context.Context) error { return w.producer.Leave(ctx) }

func (w *worker) audit(ctx context.Context, key string) error {
	dir := path.Join(w.env.Root, "items")
	var names []string
	err := variants.Retry(ctx, w.env.Lost, func() error {
		var err error
		names, _, err = w.session.Children(dir)
		return err
	})
	for _, name := range names {
		if strings.HasPrefix(name, key+marker) {
			err = errors.Join(err, w.consume(ctx, path.Join(dir, name)))
		}
	}
	return err
}

func (w *worker) consume(ctx context.Context, item string) error {
	var stored []byte
	err := variants.Retry(ctx, w.env.Lost, func() error {
		var err error
		stored, _, err = w.session.Get(item)
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", item, err)
	}
	if _, ok := Consumable(stored); ok {
		w.env.Record(found, w.number)
	}
	err = variants.Retry(ctx, w.env.Lost, func() error { return w.session.Delete(item, -1) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", item, err)
	}
	return nil
}

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseEnqueue, enqueuing, enqueued)
	out = append(out, h.Between(phaseEnqueue, enqueuingOnce, enqueued)...)
	return append(out, h.Between(phaseAudit, enqueued, audited)...)
}

// check holds a history to the promise: no variant loses an item, and one that claims to enqueue once leaves one copy.
func check(h variants.History) []variants.Violation {
	var out []variants.Violation
	once, done, copies := map[int64]bool{}, map[int64]bool{}, map[int64]int{}
	for _, e := range h {
		switch e.Kind {
		case enqueuingOnce:
			once[e.Value] = true
		case enqueued:
			done[e.Value] = true
		case found:
			copies[e.Value]++
		case audited:
			switch n := copies[e.Value]; {
			case n == 0 && done[e.Value]:
				out = append(out, e.Violation("client %d enqueued item %d, which is not in the queue", e.Client, e.Value))
			case n > 1 && once[e.Value]:
				out = append(out, e.Violation("client %d enqueued item %d once, and it is in the queue %d times", e.Client, e.Value, n))
			}
		}
	}
	return out
}
