package hiddenchannel

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"sync"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value is an update's number, which is what it writes; the znode begins with 0.
const (
	writing  variants.EventKind = iota // the writer, just before it updates
	written                            // acknowledged, and told
	awaiting                           // a reader begins to wait
	told                               // it was told of an update
	read                               // and has read one
	fresh                              // the variant promises that no read is stale
)

// The phases.
const (
	phaseUpdate      = "update"
	phaseAwait       = "await"
	phaseRead        = "read"
	phaseStale       = "stale"
	phasePropagation = "propagation"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePropagation, Meaning: "from just before an update is sent until a reader has read it", UntimedInLockstep: true},
		{Name: phaseRead, Meaning: "from when the reader was told of an update until it has read", Floor: variants.FloorRead},
		{Name: phaseStale, Meaning: "a read that was stale: from when the reader was told of an update until it has read an older one", Of: phaseRead},
		{Name: phaseUpdate, Meaning: "from just before an update is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseAwait, Meaning: "from when a reader begins to wait until it is told", Waits: true, UntimedInLockstep: true},
	}
}

// znode is where the value of a run stands.
func znode(env variants.Env) string { return path.Join(env.Root, "value") }

func numbered(number int64) []byte { return strconv.AppendInt(nil, number, 10) }

// prepare creates the value with number 0.
func prepare(ctx context.Context, s variants.Session, env variants.Env) error {
	return Create(ctx, s, znode(env), numbered(0))
}

// join makes a variant's Join out of its constructor. The first participant writes: where readers wait for messages, it
// has to be the first in a lockstep run to hold. Readers begin by reading what there is.
func join(open func(context.Context, variants.Session, variants.Env, Mail) (Value, error)) variants.JoinFunc {
	office := &postOffice{boxes: map[string]*sharedBox{}}
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		mail := pacedMail{Mailbox: office.rent(env.Root), env: env}
		leave := sync.OnceFunc(func() { office.giveBack(env.Root) })
		v, err := open(ctx, s, env, mail)
		if err != nil {
			leave()
			return nil, err
		}
		if env.Index == 0 {
			return &writer{value: v, env: env, leave: leave}, nil
		}
		r := &reader{value: v, env: env, leave: leave}
		if _, err := r.read(ctx); err != nil {
			leave()
			return nil, err
		}
		return r, nil
	}
}

// postOffice has the mailboxes of the runs under way, one for each root.
type postOffice struct {
	mu    sync.Mutex
	boxes map[string]*sharedBox
}

type sharedBox struct {
	*Mailbox
	tenants int
}

func (p *postOffice) rent(root string) *Mailbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes[root] == nil {
		p.boxes[root] = &sharedBox{Mailbox: NewMailbox()}
	}
	p.boxes[root].tenants++
	return p.boxes[root].Mailbox
}

func (p *postOffice) giveBack(root string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes[root].tenants--; p.boxes[root].tenants == 0 {
		delete(p.boxes, root)
	}
}

// pacedMail is a mailbox whose readers look into it when their turn has come: whoever conducts a lockstep run cannot see
// that somebody waits for a message, but sees who holds.
type pacedMail struct {
	*Mailbox
	env variants.Env
}

func (m pacedMail) Receive(ctx context.Context, after int64) (int64, error) {
	if err := m.env.Hold(ctx, m.env.Lost); err != nil {
		return 0, err
	}
	return m.Mailbox.Receive(ctx, after)
}

// writer is the participant that updates the value.
type writer struct {
	value  Value
	env    variants.Env
	number int64
	leave  func()
}

var _ variants.Participant = (*writer)(nil)

// Step implements [variants.Participant]: one update.
func (w *writer) Step(ctx context.Context) error {
	if err := w.env.Hold(ctx, w.env.Lost); err != nil {
		return err
	}
	number := w.number + 1
	w.env.Record(writing, number)
	if err := w.value.Update(ctx, numbered(number)); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	w.number = number
	w.env.Record(written, number)
	return nil
}

// Leave implements [variants.Participant].
func (w *writer) Leave(context.Context) error { w.leave(); return nil }

// reader is a participant that follows the value.
type reader struct {
	value Value
	env   variants.Env
	step  int64 // how many steps it has begun
	known int64 // the newest update that it was told of, or has read
	leave func()
}

var _ variants.Participant = (*reader)(nil)

// Step implements [variants.Participant]: the k-th one ends when the reader has been told of the k-th update, or of a
// later one, and has read what it then could.
func (r *reader) Step(ctx context.Context) error {
	r.step++
	for r.known < r.step {
		r.env.Record(awaiting, r.step)
		version, err := r.value.Changed(ctx)
		if err != nil {
			return fmt.Errorf("wait for an update: %w", err)
		}
		r.env.Record(told, version)
		number, err := r.read(ctx)
		if err != nil {
			return err
		}
		r.known = max(r.known, version, number)
	}
	return nil
}

func (r *reader) read(ctx context.Context) (int64, error) {
	reading, err := r.value.Read(ctx)
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	number, err := strconv.ParseInt(string(reading.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("understand the value: %w", err)
	}
	r.env.Record(read, number)
	return number, nil
}

// Leave implements [variants.Participant].
func (r *reader) Leave(context.Context) error { r.leave(); return nil }

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseUpdate, writing, written)
	out = append(out, h.Between(phaseAwait, awaiting, told)...)
	out = append(out, h.Between(phaseRead, told, read)...)
	out = append(out, staleReads(h)...)
	return append(out, h.FirstSights(phasePropagation, writing, read)...)
}

// staleReads are the reads of something older than what their reader had been told of.
func staleReads(h variants.History) []variants.Span {
	var out []variants.Span
	since := map[int]variants.Event{}
	for _, e := range h {
		switch e.Kind {
		case told:
			since[e.Client] = e
		case read:
			if start, ok := since[e.Client]; ok && e.Value < start.Value {
				out = append(out, variants.Span{Phase: phaseStale, Client: e.Client, Start: start.At, End: e.At})
			}
			delete(since, e.Client)
		}
	}
	return out
}

// check holds a history to the promise. An update is recorded before it is sent, and a read when its answer has come, so
// that a value from nowhere is one indeed.
func check(h variants.History) []variants.Violation {
	var out []variants.Violation
	var newest int64
	promised, knows, last := map[int]bool{}, map[int]int64{}, map[int]int64{}
	for _, e := range h {
		switch e.Kind {
		case writing:
			newest = max(newest, e.Value)
		case fresh:
			promised[e.Client] = true
		case told:
			knows[e.Client] = e.Value
		case read:
			if e.Value > newest {
				out = append(out, e.Violation("client %d read update %d when the last was %d", e.Client, e.Value, newest))
			}
			if e.Value < last[e.Client] {
				out = append(out, e.Violation("client %d read update %d after %d", e.Client, e.Value, last[e.Client]))
			}
			if promised[e.Client] && e.Value < knows[e.Client] {
				out = append(out, e.Violation("client %d read update %d when it had been told of %d", e.Client, e.Value, knows[e.Client]))
			}
			last[e.Client] = max(last[e.Client], e.Value)
		}
	}
	return out
}
