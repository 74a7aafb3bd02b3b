package items

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// Worker is the hands of a participant: it puts and processes items, and records it, the same way for every variant.
// Whoever has put more items than it has taken always finds one that is left for it.
type Worker struct {
	Queue Taker
	Env   variants.Env
	puts  int64
}

// idBytes is the length of an item's data, which is its id.
const idBytes = 8

// newID returns the id of an item of which there is no other, and which tells its class.
func newID(class uint8, client int, puts int64) int64 {
	return int64(class)<<56 | int64(client)<<32 | puts
}

// ClassOf returns what was said of an item when it was put.
func ClassOf(id int64) uint8 { return uint8(id >> 56) }

// Round puts some items of a class and, when its turn has come, takes some, which others may have put. What class an item
// is of, up to 127, is the recipe's affair.
func (w *Worker) Round(ctx context.Context, class uint8, puts, takes int, put func(ctx context.Context, data []byte) error) error {
	for range puts {
		if err := w.put(ctx, class, put); err != nil {
			return err
		}
	}
	if err := w.Env.Hold(ctx, w.Env.Lost); err != nil {
		return err
	}
	for range takes {
		if err := w.process(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put puts a new item.
func (w *Worker) put(ctx context.Context, class uint8, put func(ctx context.Context, data []byte) error) error {
	id := newID(class, w.Env.Index, w.puts)
	w.puts++
	w.Env.Record(Putting, id)
	if err := put(ctx, binary.BigEndian.AppendUint64(nil, uint64(id))); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	w.Env.Record(Put, id)
	return nil
}

// process takes one item and holds it. A run that ends meanwhile has it given back.
func (w *Worker) process(ctx context.Context) error {
	w.Env.Record(Taking, 0)
	id, lost, err := w.take(ctx)
	if err != nil {
		return fmt.Errorf("take: %w", err)
	}
	w.Env.Record(Took, id)
	held := w.Env.Hold(ctx, lost)
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if held != nil {
		w.Env.Record(GivenUp, id)
		return errors.Join(held, w.Queue.Return(ctx))
	}
	w.Env.Record(Finishing, id)
	if err := w.Queue.Done(ctx); err != nil {
		if errors.Is(err, variants.ErrSessionLost) {
			w.Env.Record(GivenUp, id)
		}
		return fmt.Errorf("done: %w", err)
	}
	w.Env.Record(Done, id)
	return nil
}

// take tries until there is an item.
func (w *Worker) take(ctx context.Context) (id int64, lost <-chan struct{}, err error) {
	for {
		item, ok, err := w.Queue.Take(ctx)
		switch {
		case err != nil:
			return 0, nil, err
		case !ok:
			w.Env.Record(Empty, 0)
		case len(item.Data) != idBytes:
			return 0, nil, fmt.Errorf("an item has %d bytes, want %d: nobody here has put it", len(item.Data), idBytes)
		default:
			return int64(binary.BigEndian.Uint64(item.Data)), item.Lost, nil
		}
	}
}

// Leave implements [variants.Participant] for those who embed a worker.
func (w *Worker) Leave(ctx context.Context) error { return w.Queue.Return(ctx) }
