package takequeue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Worker is the part of a participant that puts and processes items and records that, the same way for every variant. A
// client that has put more items than it has taken always finds an item.
type Worker struct {
	Queue   Taker
	Env     variants.Env
	Put     func(ctx context.Context, class uint8, data []byte) error // the meaning of a class, at most 127, belongs to the recipe
	puts    int64
	removes bool // the event Removes has been recorded
	unseen  int  // items that it may have taken without knowing, and that it has not counted as taken
}

// Unsure is a Taker that repeats requests whose replies are lost, or gives up, although they may have taken effect.
type Unsure interface {
	// Unsure reports whether the last put or scan may have taken effect otherwise than it has reported.
	Unsure() bool
}

func (w *Worker) unsure() bool {
	q, ok := w.Queue.(Unsure)
	return ok && q.Unsure()
}

const longestPause = 50 * time.Millisecond

// newID returns the id of an item. No other item of the run has the same id, nor one that differs only in its class.
func newID(class uint8, client, life int, puts int64) int64 {
	return int64(class)<<56 | int64(client)<<40 | int64(life)<<28 | puts
}

// ClassOf returns the class of an item.
func ClassOf(id int64) uint8 { return uint8(id >> 56) }

// Round puts some items of a class and, in a lockstep run when it is its turn, takes some, which other clients may have
// put.
func (w *Worker) Round(ctx context.Context, class uint8, puts, takes int) error {
	for range puts {
		if err := w.put(ctx, class); err != nil {
			return err
		}
	}
	if err := w.Env.Hold(ctx, nil); err != nil {
		return err
	}
	for range takes {
		if err := w.process(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) put(ctx context.Context, class uint8) error {
	id := newID(class, w.Env.Index, w.Env.Life, w.puts)
	w.puts++
	return w.Env.Timed(ctx, "put", Putting, Put, id, func(ctx context.Context) error {
		err := w.Put(ctx, class, variants.DataOf(id))
		if w.unsure() {
			w.Env.Record(PutTwice, id)
		}
		return err
	})
}

// process takes one item and holds it. An item that the client may have taken without knowing counts as taken. If the
// run ends meanwhile, the item is given back. A client that has lost its claim stops processing the item.
func (w *Worker) process(ctx context.Context) error {
	if w.countUnseen() {
		return nil
	}
	w.Env.Record(Taking, 0)
	item, ok, err := w.take(ctx)
	if err != nil || !ok {
		return session.Attempted("take", err)
	}
	id := variants.NumberIn(item.Data)
	if item.Lost == nil && !w.removes {
		w.removes = true
		w.Env.Record(Removes, 0)
	}
	w.Env.Record(Took, id)
	held := w.Env.Hold(ctx, nil)
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	if held != nil {
		return w.giveBack(ctx, id, held)
	}
	return w.finish(ctx, id, item.Lost)
}

// countUnseen counts an item that the client may have taken without knowing as taken, if there is one. Other clients would otherwise
// wait for ever for as many items as were lost.
func (w *Worker) countUnseen() bool {
	if w.unseen == 0 {
		return false
	}
	w.unseen--
	return true
}

// finish calls Done, unless the item's claim was lost before.
func (w *Worker) finish(ctx context.Context, id int64, lost <-chan struct{}) error {
	w.Env.RecordUnless(lost, Finishing, GivenUp, id)
	if session.IsClosed(lost) {
		return w.giveBack(ctx, id, session.ErrSessionLost)
	}
	if err := w.Queue.Done(ctx); err != nil {
		w.Env.Record(GivenUp, id)
		return fmt.Errorf("done: %w", err)
	}
	w.Env.Record(Done, id)
	return nil
}

func (w *Worker) giveBack(ctx context.Context, id int64, err error) error {
	w.Env.Record(GivenUp, id)
	return errors.Join(err, w.Queue.Return(ctx))
}

// take tries until there is an item. It returns false if it counts one as taken that it may have taken without knowing.
func (w *Worker) take(ctx context.Context) (Item, bool, error) {
	for empty := 0; ; {
		item, ok, err := w.scan(ctx)
		switch {
		case errors.Is(err, ErrScanAgain):
			continue
		case err != nil || ok:
			return item, ok, err
		}
		if !w.stands() {
			w.Env.Record(Empty, 0)
		}
		if w.countUnseen() {
			return Item{}, false, nil
		}
		if err := w.pause(ctx, empty); err != nil {
			return Item{}, false, err
		}
		empty++
	}
}

func (w *Worker) scan(ctx context.Context) (Item, bool, error) {
	w.Env.Record(Scanning, 0)
	item, ok, err := w.Queue.Scan(ctx)
	if w.unsure() {
		w.Env.Record(TookUnseen, 0)
		if err == nil { // else the client takes none of the items that are left of its batch
			w.unseen++
		}
	}
	if err != nil && !errors.Is(err, ErrScanAgain) {
		return item, ok, err
	}
	w.Env.Record(Scanned, 0)
	if !ok {
		w.Env.Record(InVain, 0)
	}
	return item, ok, err
}

// Notified is a Taker whose client is notified when there may be something to take, after Scan has found nothing.
type Notified interface {
	// AwaitChange waits for the notification.
	AwaitChange(ctx context.Context) error
}

// InLine is a Taker whose client has a place in a line. Its attempt to take an item goes on when Scan has found nothing.
type InLine interface {
	// Stands reports whether the client has a place.
	Stands() bool
}

func (w *Worker) stands() bool {
	q, ok := w.Queue.(InLine)
	return ok && q.Stands()
}

// pause waits until the client looks again: not at all after its first attempt without an item, and longer after each further one.
// Items that exist may all be claimed by clients that have died, until their sessions end: a client that looks instead of waiting
// is not notified then.
func (w *Worker) pause(ctx context.Context, attempts int) error {
	if q, ok := w.Queue.(Notified); ok {
		return q.AwaitChange(ctx)
	}
	var pause time.Duration
	if attempts > 0 {
		pause = min(time.Millisecond<<min(attempts-1, 10), longestPause)
	}
	return w.Env.Session.Sleep(ctx, pause)
}

// Leave implements [variants.Participant] for the recipes' participants, which embed a worker.
func (w *Worker) Leave(ctx context.Context) error { return w.Queue.Return(ctx) }
