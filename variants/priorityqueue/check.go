package priorityqueue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

// check holds a whole history to the promise: every item that was taken had been put, and nobody else had it; nobody finds
// nothing while an item is there that nobody takes; and there are no inversions, unless the variant has them.
func check(h variants.History) []variants.Violation {
	return breaches(h, read(h))
}

// checkPrefix holds a part of a history to it.
func checkPrefix(h variants.History) []variants.Violation {
	s := items.ReadPrefix(h)
	s.ExcuseAll()
	return breaches(h, s)
}

func breaches(h variants.History, s *items.Story) []variants.Violation {
	out := append(s.CheckTakes(), s.CheckEmpty()...)
	if s.Unordered {
		return out
	}
	for _, i := range inversions(h, s) {
		out = append(out, i.take.Violation("client %d took item %#x of priority %d, although it knew of item %#x of priority %d",
			i.take.Client, i.take.Value, priorityOf(i.take.Value), i.overtaken.ID, priorityOf(i.overtaken.ID)))
	}
	return out
}

// read sorts a history by items. A client that died while it looked for an item took the most urgent one.
func read(h variants.History) *items.Story {
	s := items.Read(h)
	due := slices.Clone(s.Acked)
	slices.SortStableFunc(due, func(a, b *items.ItemStory) int { return cmp.Compare(priorityOf(a.ID), priorityOf(b.ID)) })
	s.Excuse(due)
	return s
}

func priorityOf(id int64) Priority { return Priority(items.ClassOf(id)) }

// inversion is a take that passed over a more urgent item; see the comment of the package for what counts as one.
type inversion struct {
	take      variants.Event
	overtaken *items.ItemStory // the most urgent one
}

// inversions goes through a history and keeps, by priority, the items that nobody has begun to take.
func inversions(h variants.History, s *items.Story) []inversion {
	var out []inversion
	all, own := waiting{}, map[int]waiting{} // own by the client that put them
	clients := map[int]*knowledge{}
	for _, e := range h {
		if clients[e.Client] == nil {
			clients[e.Client], own[e.Client] = &knowledge{}, waiting{}
		}
		k, item := clients[e.Client], s.Items[e.Value]
		switch {
		case e.Kind == items.Taking, e.Kind == items.Empty:
			k.begun, k.inAttempt = e.At, k.now
		case e.Kind == items.Put && item != nil:
			k.now = item.PutBegun
			all.add(item)
			own[e.Client].add(item)
		case e.Kind == items.Took && item != nil:
			k.now = k.begun
			overtaken := all.first(priorityOf(item.ID), e.At, k.inAttempt)
			if overtaken == nil {
				overtaken = own[e.Client].first(priorityOf(item.ID), e.At, k.begun)
			}
			if overtaken != nil {
				out = append(out, inversion{e, overtaken})
			}
		}
	}
	return out
}

// knowledge is how far a client's server is known to have come: behind every item whose put was acknowledged before.
type knowledge struct {
	now       time.Duration // when the client began the last write that was acknowledged to it
	inAttempt time.Duration // the same when it began to look for an item
	begun     time.Duration // when it began to look for one
}

// waiting is the items that have been put, by priority in the order of their acknowledgement.
type waiting map[Priority][]*items.ItemStory

func (w waiting) add(item *items.ItemStory) {
	p := priorityOf(item.ID)
	w[p] = append(w[p], item)
}

// first returns the most urgent item that is more urgent than a priority, that was acknowledged before a moment, and that
// nobody has begun to take by now, or nil. It forgets the others that come before it, so that now must not go back.
func (w waiting) first(than Priority, now, acknowledged time.Duration) *items.ItemStory {
	for _, p := range slices.Sorted(maps.Keys(w)) {
		if p >= than {
			break
		}
		for len(w[p]) > 0 && w[p][0].TakeBegun < now {
			w[p] = w[p][1:]
		}
		if len(w[p]) > 0 && w[p][0].PutEnded < acknowledged {
			return w[p][0]
		}
	}
	return nil
}
