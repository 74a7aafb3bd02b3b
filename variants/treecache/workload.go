package treecache

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value of an event about a change is a stamp.
const (
	enrolled    variants.EventKind = iota // a client begins to load the tree; value: how many leaves that has
	changing                              // the writer, just before it makes a change
	changed                               // the writer, just after
	following                             // a client waits until its copy has all changes up to this number
	shown                                 // a client's copy has the data of a change, which it had not before
	refreshed                             // a copy has been brought up to date; value: how many leaves it has
	cutOff                                // a client has noticed that its connection is lost
	reconnected                           // a client has noticed that its connection is made again
	restored                              // a copy has everything again
)

const (
	phaseRefresh = "refresh"
	phaseReload  = "reload"
	phaseStorm   = "storm"
	phaseChange  = "change"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseRefresh, Meaning: "from just before a change is sent until one client's copy shows it", Floor: variants.FloorHandoff},
		{Name: phaseChange, From: changing, To: changed, Floor: variants.FloorWrite,
			Meaning: "from just before a change is sent until its reply"},
		{Name: phaseReload, Meaning: "from when a client's connection is made again, or its session lost, until its copy has everything again"},
		{Name: phaseStorm, Meaning: "from when the first client is cut off until all copies have everything again"},
		{Name: "follow", From: following, To: refreshed, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a client begins to wait for a change until its copy is up to date"},
	}
}

const (
	roleWriter = "writer"
	roleCache  = "cache"
)

// changesPerStep is how many changes the writer makes in one step: one that sets a znode and one that replaces one.
const changesPerStep = 2

// stampBase is larger than the number of leaves can be.
const stampBase = 1 << 20

func stamp(number int64, slot int) int64 { return number*stampBase + int64(slot) }

func unstamp(value int64) (number, slot int64) { return value / stampBase, value % stampBase }

// The last participant writes: in a lockstep run, all others wait for its changes by then.
func join[C Cache](open func(*session.Session, Tree, Listener) (C, error)) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		env.Size = max(env.Size, 1)
		if env.Index == env.Clients-1 {
			return newWriter(ctx, env)
		}
		r := &reader{env: env, shown: make([]int64, env.Size), step: int64(env.Completed)}
		c, err := open(env.Session, Tree{env.Root, leafDepth}, r.update)
		if err != nil {
			return nil, fmt.Errorf("open the cache: %w", err)
		}
		r.cache = c
		env.Record(enrolled, int64(env.Size))
		if err := c.Load(ctx); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		r.look()
		return r, nil
	}
}

type reader struct {
	env     variants.Env
	cache   Cache
	step    int64
	shown   []int64 // by slot, the number of the change that the copy shows
	through int64   // the copy shows all changes up to this number, or later ones in their place
	leaves  int64   // in the copy
	state   State
}

var (
	_ variants.Refresher = (*reader)(nil)
	_ variants.Roled     = (*reader)(nil)
)

// update records changes of the copy and of the connection: a client that was reading when it was cut off has more to
// read again than others, and must not be left out.
func (r *reader) update(u Update) {
	if u.Kind == Connection {
		r.enter(u.State)
		return
	}
	slot, isLeaf := slotIn(u.Path)
	if !isLeaf || slot >= len(r.shown) {
		return
	}
	switch u.Kind {
	case Removed:
		r.leaves--
		return
	case Added:
		r.leaves++
	}
	if number := numberIn(u.Data); number != r.shown[slot] {
		r.shown[slot] = number
		r.env.Record(shown, stamp(number, slot))
	}
}

// look records that the copy has been brought up to date.
func (r *reader) look() {
	for slots := int64(len(r.shown)); r.shown[slotOf(r.through+1, slots)] > r.through; {
		r.through++
	}
	r.env.Record(refreshed, r.leaves)
	r.enter(r.cache.State())
}

func (r *reader) enter(state State) {
	if state == r.state {
		return
	}
	r.state = state
	r.env.Record([...]variants.EventKind{Current: restored, CutOff: cutOff, Restoring: reconnected}[state], 0)
}

func (r *reader) Refresh(ctx context.Context) error {
	if err := r.cache.Refresh(ctx); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	r.look()
	return nil
}

// The k-th step ends when the copy shows the first 2k changes.
func (r *reader) Step(ctx context.Context) error {
	for target := changesPerStep * (r.step + 1); r.through < target; {
		r.env.Record(following, target)
		if err := r.cache.Changed(ctx); err != nil {
			return fmt.Errorf("wait for a change: %w", err)
		}
		if err := r.Refresh(ctx); err != nil {
			return err
		}
	}
	r.step++
	return nil
}

func (r *reader) Leave(context.Context) error { return nil }

func (r *reader) Role() string { return roleCache }
