package queue

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

// check holds a whole history to the promise: every item that was taken had been put, and nobody else had it; no item
// that was put is passed over for a later one, unless the variant promises no order; and nobody finds nothing while an
// item is there that nobody takes.
func check(h variants.History) []variants.Violation {
	return breaches(h, items.Read(h))
}

// checkPrefix holds a part of a history to it.
func checkPrefix(h variants.History) []variants.Violation { return breaches(h, items.ReadPrefix(h)) }

func breaches(h variants.History, s *items.Story) []variants.Violation {
	s.Excuse(s.Acked)
	out := append(s.CheckTakes(), s.CheckEmpty()...)
	if s.Unordered {
		return out
	}
	return append(out, checkOrder(h, s)...)
}

// checkOrder finds items that were passed over. At each moment the oldest item that nobody has begun to take decides:
// whatever is taken then must not have been put later.
func checkOrder(h variants.History, s *items.Story) []variants.Violation {
	var out []variants.Violation
	waiting := s.Acked
	for _, e := range h {
		for len(waiting) > 0 && waiting[0].TakeBegun < e.At {
			waiting = waiting[1:]
		}
		if e.Kind != items.Took || len(waiting) == 0 {
			continue
		}
		item := s.Items[e.Value]
		if item != nil && waiting[0].PutEnded < item.PutBegun && waiting[0].ID != item.ID {
			out = append(out, e.Violation("client %d took item %#x, although item %#x had been put before it", e.Client, e.Value, waiting[0].ID))
			waiting = waiting[1:] // once is enough
		}
	}
	return out
}
