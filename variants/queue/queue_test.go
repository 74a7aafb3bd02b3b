package queue

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/line"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"putting": items.Putting, "put": items.Put, "taking": items.Taking, "empty": items.Empty, "took": items.Took,
		"finishing": items.Finishing, "done": items.Done, "givenUp": items.GivenUp, "unordered": items.Unordered,
	}}
}

func TestCheck(t *testing.T) {
	const twoPut = "0:putting:1 0:put:1 0:putting:2 0:put:2 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"first in, first out", twoPut + "1:taking 1:took:1 1:done:1 1:taking 1:took:2 1:done:2", ""},
		{"taken before the put was acknowledged", "0:putting:1 1:taking 1:took:1 0:put:1", ""},
		{"two put at once, in either order", "0:putting:1 1:putting:2 0:put:1 1:put:2 0:taking 0:took:2 0:taking 0:took:1", ""},
		{"two take at once, in either order", twoPut + "0:taking 1:taking 1:took:2 0:took:1", ""},
		{"some are left", twoPut + "0:taking 0:took:1 0:done:1", ""},

		{"never put", "0:putting:1 0:put:1 0:taking 0:took:7", "item 0x7, which was never put"},
		{"taken before it was put", "0:taking 0:took:1 0:done:1 0:putting:1 0:put:1", "which was never put"},
		{"twice, by two", twoPut + "0:taking 1:taking 0:took:1 1:took:1", "client 1 took item 0x1, which client 0 had taken"},
		{"twice, by one", twoPut + "0:taking 0:took:1 0:done:1 0:taking 0:took:1", "client 0 took item 0x1, which client 0 had taken"},
		{"again after it was done", twoPut + "0:taking 0:took:1 0:done:1 1:taking 1:took:1 1:givenUp:1", "client 1 took item 0x1, which client 0 had taken"},

		{"given back", twoPut + "0:taking 0:took:1 0:givenUp:1 1:taking 1:took:1 1:done:1", ""},
		{"given back, and the next taken before", twoPut + "0:taking 0:took:1 1:taking 1:took:2 0:givenUp:1 1:done:2 1:taking 1:took:1", ""},
		{"a claim that went with its session, which shows late", twoPut + "0:taking 0:took:1 1:taking 1:took:1 1:done:1 0:finishing:1 0:givenUp:1", ""},
		{"a claim that was lost, but the work was done", twoPut + "0:taking 0:took:1 1:taking 1:took:1 1:done:1 0:finishing:1 0:done:1", "client 1 took item 0x1"},

		{"passed over", twoPut + "1:taking 1:took:2 1:taking 1:took:1", "client 1 took item 0x2, although item 0x1 had been put before it"},
		{"passed over by another", twoPut + "1:taking 1:took:2 0:taking 0:took:1", "client 1 took item 0x2, although item 0x1"},
		{"passed over without a promise of order", "0:unordered " + twoPut + "1:taking 1:took:2 1:taking 1:took:1", ""},
		{"lost: never taken, unlike a later one", twoPut + "1:taking 1:took:2 1:done:2", "although item 0x1 had been put before it"},
		{"lost with its taker, who died", twoPut + "0:taking 1:taking 1:took:2 1:done:2", ""},
		{"two lost, but only one died", twoPut + "0:putting:3 0:put:3 0:taking 1:taking 1:took:3", "although item 0x2 had been put before it"},

		{"not found, from a list that is never made again", "0:unordered " + twoPut + "0:taking 0:took:1 0:done:1 0:taking 0:took:2 0:done:2 0:putting:3 0:put:3 0:putting:4 0:put:4 0:taking 0:empty 0:empty", "client 0 found nothing, although item 0x3 was there"},
		{"not found after a take that shows it", "0:unordered " + twoPut + "1:taking 1:took:1 1:done:1 1:taking 1:empty", "client 1 found nothing, although item 0x2 was there"},
		{"not found, and taken by an attempt that began before", "0:unordered " + twoPut + "1:taking 0:taking 0:empty 1:took:1 0:took:2", ""},
		{"not found, and taken by an attempt that began later", "0:unordered " + twoPut + "2:taking 0:taking 0:empty 1:taking 2:empty 1:took:1", "client 0 found nothing, although item 0x1 was there"},
		{"lost: not found", "0:unordered " + twoPut + "0:taking 0:empty", "client 0 found nothing, although item 0x1 was there and no client took it"},
		{"not found by a client whose server may lag", "0:unordered 0:putting:1 0:put:1 1:taking 1:empty 1:took:1", ""},
		{"not found because it was about to be taken", "0:putting:1 0:put:1 0:putting:2 0:put:2 1:taking 0:taking 0:empty 1:took:1 0:took:2", ""},
		{"not found: it was another's, put before mine", "0:unordered 0:putting:1 0:put:1 1:putting:2 1:put:2 0:taking 0:took:2 1:taking 1:empty", "client 1 found nothing, although item 0x1"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 finds nothing at first; then it takes what client 0 put, and client 0 what client 1 put",
		"0:putting:1 0:put:1 1:putting:2 1:put:2 1:taking 1:empty 1:took:1 0:taking 0:took:2 1:finishing:1 1:done:1",
		"put(0)=1ms put(1)=1ms take(1)=2ms take(0)=1ms sojourn(1)=6ms sojourn(0)=6ms done(1)=1ms",
	}})
}

func TestOffsetLists(t *testing.T) {
	tickets := func(seqs ...int32) []line.Ticket {
		var out []line.Ticket
		for _, s := range seqs {
			out = append(out, line.Ticket{Seq: s})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		share  float64
		listed []line.Ticket
		want   []line.Ticket
	}{
		{"nothing", 0.5, nil, nil},
		{"one", 0.9, tickets(7), tickets(7)},
		{"from the head", 0, tickets(1, 2, 3, 4), tickets(1, 2, 3, 4)},
		{"from the middle", 0.5, tickets(1, 2, 3, 4), tickets(3, 4, 1, 2)},
		{"by numbers, not by places", 0.5, tickets(1, 8, 9, 10), tickets(8, 9, 10, 1)},
		{"almost the end", 0.99, tickets(1, 2, 3, 4), tickets(4, 1, 2, 3)},
		{"across the wrap of the counter", 0.5, tickets(math.MaxInt32-1, math.MaxInt32, math.MinInt32, math.MinInt32+1), tickets(math.MinInt32, math.MinInt32+1, math.MaxInt32-1, math.MaxInt32)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&OffsetCachedList{Share: tt.share}).turn(tt.listed); !slices.Equal(got, tt.want) {
				t.Errorf("turned to %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClaimedItemsAreLeftOut(t *testing.T) {
	got := withoutClaimed([]string{"item-0000000002", "journals", "item-0000000001", "item-0000000001-claim", "item-0000000000-claim"})
	if len(got) != 1 || got[0].Name != "item-0000000002" {
		t.Errorf("unclaimed are %v, want item-0000000002 alone", got)
	}
}

// model is a lockstep run in which every request is made for real on a list of numbers.
type model struct {
	variantstest.Counts
	variant string
	items   []int // that exist, the first first
	claimed map[int]bool
	armed   map[int]bool // by client: the child watch
	lists   [][]int      // by client
	held    []int        // by client
}

func simulate(variant string, n int) variantstest.Counts {
	m := &model{
		Counts:  variantstest.Counts{Operations: float64(n * batch)},
		variant: variant, claimed: map[int]bool{}, armed: map[int]bool{}, lists: make([][]int, n), held: make([]int, n),
	}
	for i := range n * batch {
		m.items = append(m.items, i)
		m.Write(0)
	}
	for round := range batch + 1 {
		for c := range n {
			if round > 0 {
				m.finish(c)
			}
			if round < batch {
				m.take(c, n)
			}
		}
	}
	return m.Counts
}

func (m *model) remove(item int) {
	m.items = slices.DeleteFunc(m.items, func(i int) bool { return i == item })
	m.Write(len(m.armed))
	clear(m.armed)
}

func (m *model) take(c, n int) {
	if !strings.HasSuffix(m.variant, "cached-list") {
		m.lists[c] = nil
	}
	for {
		if len(m.lists[c]) == 0 {
			m.Read(1)
			m.lists[c] = slices.Clone(m.items)
			if m.variant == "lock-and-claim" {
				m.armed[c] = true
			}
			if m.variant == "offset-cached-list" {
				first := m.items[0]
				start := first + (m.items[len(m.items)-1]-first+1)*c/n
				i := slices.IndexFunc(m.lists[c], func(item int) bool { return item >= start })
				m.lists[c] = slices.Concat(m.lists[c][i:], m.lists[c][:i])
			}
		}
		item := m.lists[c][0]
		m.lists[c] = m.lists[c][1:]
		if m.try(item) {
			m.held[c] = item
			return
		}
	}
}

func (m *model) try(item int) bool {
	switch m.variant {
	case "lock-and-claim":
		m.Read(1) // exists
		if m.claimed[item] {
			return false
		}
		m.Write(0)
		m.claimed[item] = true
		m.Read(1) // get
		return true
	case "multi-claim":
		if m.claimed[item] { // as the listing shows
			return false
		}
		m.Write(0)
		m.claimed[item] = true
		m.Read(1) // get
		return true
	default:
		m.Read(1) // get
		if !slices.Contains(m.items, item) {
			return false
		}
		m.remove(item)
		return true
	}
}

func (m *model) finish(c int) {
	switch m.variant {
	case "lock-and-claim":
		m.remove(m.held[c])
		m.Write(0)
	case "multi-claim":
		m.remove(m.held[c])
	}
}

func TestSteppedCostsMatchASimulation(t *testing.T) {
	variantstest.LockstepCosts(t, Recipe(), simulate, "list-and-delete", "lock-and-claim", "cached-list", "offset-cached-list", "multi-claim")
}

// Clients take turns to put an item each, and take each other's with overlapping attempts, some of which end in another
// order. One client has died while it was taking an item.
func TestObserverMemory(t *testing.T) {
	variantstest.ObserverMemory(t, Recipe(), func(i int) []variants.Event {
		const clients = 8
		event := func(i int, kind variants.EventKind, value int64) variants.Event {
			return variants.Event{Client: i % clients, Kind: kind, Value: value}
		}
		id := func(i int) int64 { return int64(i%clients)<<32 | int64(i/clients) }
		end := func(i int) []variants.Event {
			return []variants.Event{event(i, items.Took, id(i)), event(i, items.Finishing, id(i)), event(i, items.Done, id(i))}
		}
		var h []variants.Event
		if i == 0 {
			const dead = clients + 1
			h = append(h, variants.Event{Client: dead, Kind: items.Putting, Value: dead << 32},
				variants.Event{Client: dead, Kind: items.Put, Value: dead << 32}, variants.Event{Client: dead, Kind: items.Taking})
		}
		h = append(h, event(i, items.Putting, id(i)), event(i, items.Put, id(i)), event(i, items.Taking, 0))
		if i%2 == 0 && i >= 4 {
			h = append(append(h, end(i-3)...), end(i-4)...)
		}
		return h
	})
}
