package queue

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Answered: []string{"put", "took", "done"}, Events: map[string]variants.EventKind{
		"putting": takequeue.Putting, "put": takequeue.Put, "taking": takequeue.Taking, "empty": takequeue.Empty, "took": takequeue.Took,
		"finishing": takequeue.Finishing, "done": takequeue.Done, "givenUp": takequeue.GivenUp, "unordered": takequeue.Unordered,
		"removes": takequeue.Removes, "behind": takequeue.Behind, "scanning": takequeue.Scanning, "scanned": takequeue.Scanned, "inVain": takequeue.InVain,
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
		{
			"passed over, as it was claimed by a client whose session has ended, and finished before that client knows",
			twoPut + "0:taking 1:taking 1:took:2 1:done:2 1:taking 1:took:1 1:finishing:1 1:done:1 0:took:1 0:givenUp:1", "",
		},
		{"passed over by another", twoPut + "1:taking 1:took:2 0:taking 0:took:1", "client 1 took item 0x2, although item 0x1"},
		{"passed over without a promise of order", "0:unordered " + twoPut + "1:taking 1:took:2 1:taking 1:took:1", ""},
		{"lost: never taken, unlike a later one", twoPut + "1:taking 1:took:2 1:done:2", "although item 0x1 had been put before it"},
		{"lost with its taker, who died", twoPut + "0:taking 1:taking 1:took:2 1:done:2", ""},
		{"two lost, but only one died", twoPut + "0:putting:3 0:put:3 0:taking 1:taking 1:took:3", "although item 0x2 had been put before it"},

		{"not found, from a list that is never made again", "0:unordered " + twoPut + "0:taking 0:took:1 0:done:1 0:taking 0:took:2 0:done:2 0:putting:3 0:put:3 0:putting:4 0:put:4 0:taking 0:empty 0:empty", "client 0 found nothing, although item 0x3 was there | client 0 found nothing, although item 0x4 was there"},
		{"not found after a take that shows it", "0:unordered " + twoPut + "1:taking 1:took:1 1:done:1 1:taking 1:empty", "client 1 found nothing, although item 0x2 was there"},
		{"not found, and taken by an attempt that began before", "0:unordered 0:putting:1 0:put:1 1:taking 0:taking 0:empty 1:took:1", ""},
		{"not found, its own, put last", "0:unordered " + twoPut + "1:taking 0:taking 0:empty 1:took:1 0:took:2", "client 0 found nothing, although item 0x2 was there"},
		{"not found, and taken by an attempt that began later", "0:unordered " + twoPut + "2:taking 0:taking 0:empty 1:taking 2:empty 1:took:1", "client 0 found nothing, although item 0x1 was there | client 0 found nothing, although item 0x2 was there"},
		{"lost: not found", "0:unordered " + twoPut + "0:taking 0:empty", "client 0 found nothing, although item 0x1 was there and no client took it | client 0 found nothing, although item 0x2 was there"},
		{"not found by a client whose server may lag", "0:unordered 0:putting:1 0:put:1 1:taking 1:empty 1:took:1", ""},
		{"not found because it was about to be taken", "0:putting:1 0:put:1 1:taking 0:taking 0:empty 1:took:1 0:putting:2 0:put:2 0:took:2", ""},
		{"not found: it was another's, put before mine", "0:unordered 0:putting:1 0:put:1 1:putting:2 1:put:2 0:taking 0:took:2 1:taking 1:empty", "client 1 found nothing, although item 0x1"},
	})
}

// Client 0 fails. Items that it has claimed are free when twice the time from its death until it joins again has passed.
func TestCheckOfFailures(t *testing.T) {
	const (
		onePut  = "1:putting:1 1:put:1 "
		twoPut  = onePut + "1:putting:2 1:put:2 "
		back    = "0:died 0:rejoined:1 - - "
		another = "1:putting:3 1:put:3 "
		twoMore = another + "1:putting:4 1:put:4 "
	)
	turn := func(item string) string {
		return strings.ReplaceAll("1:putting:I 1:put:I 1:taking 1:took:I 1:finishing:I 1:done:I ", "I", item)
	}
	teller().Check(t, Recipe(), []variantstest.Case{
		{"claimed, and taken again", twoPut + "0:taking 0:took:1 0:died 1:taking 1:took:1 1:finishing:1 1:done:1 0:rejoined:1", ""},
		{"claimed, and taken again by its next life", twoPut + "0:taking 0:took:1 " + back + "0:taking 0:took:1 0:finishing:1 0:done:1", ""},
		{"claimed, and passed over while the claim stands", twoPut + "0:taking 0:took:1 0:died 1:taking 1:took:2 1:done:2 0:rejoined:1 0:taking 0:took:1", ""},
		{"claimed, and passed over for an item that was put before the session had ended", twoPut + "0:taking 0:took:1 " + back + "1:taking 1:took:2 1:done:2 1:taking 1:took:1", ""},
		{"claimed, and passed over just after the client has joined again", onePut + "0:taking 0:took:1 0:died - - 0:rejoined:1 " + another + "1:taking 1:took:3", ""},
		{"claimed, and then claimed by a client that dies, too", onePut + "0:taking 0:took:1 " + back + another + "2:taking 2:died 1:taking 1:took:3 1:done:3", ""},
		{"claimed, and about to be claimed again", onePut + "0:taking 0:took:1 " + back + another + "2:taking 1:taking 1:took:3 2:took:1", ""},
		{"the claim of a client that was only cut off may stand", onePut + "0:taking 0:took:1 0:lost 0:givenUp:1 0:rejoined:1 " + another + "1:taking 1:took:3", ""},
		{"never free again", onePut + "0:taking 0:took:1 " + back + another + "1:taking 1:took:3", "client 1 took item 0x3, although item 0x1 had been put before it; it was not free again"},
		{"never free again, and not found", "1:unordered " + onePut + "0:taking 0:took:1 " + back + another + "1:taking 1:took:3 1:done:3 1:taking 1:empty", "client 1 found nothing, although item 0x1 was there and no client took it; it was not free again"},
		{"never free again, by an attempt that died", twoPut + "0:taking 0:died 1:taking 1:took:2 1:done:2 0:rejoined:1 - - - - - - " + another + "1:taking 1:took:3", "item 0x1 had been put before it; it was not free again"},
		{"reported once", onePut + "0:taking 0:took:1 " + back + another + "1:taking 1:took:3 1:done:3 1:putting:4 1:put:4 1:taking 1:took:4", "item 0x1"},

		{"goes behind the others, and is taken in time", "1:behind:1 " + onePut + "0:taking 0:took:1 " + back + another + "1:taking 1:took:3 1:done:3 1:putting:4 1:put:4 1:taking 1:took:1 1:done:1 1:taking 1:took:4", ""},
		{"goes behind the others, and is never taken", "1:behind:1 " + onePut + "0:taking 0:took:1 " + back + turn("3") + turn("4") + turn("5") + turn("6") + turn("7"), "although item 0x1 had been put before it; it was not free again"},
		{"goes behind the others late, as another client fails", "1:behind:2 " + onePut + "0:taking 0:took:1 " + back + turn("3") + "2:died " + turn("4") + turn("5") + "1:taking 1:took:1", ""},
		{"goes behind the others late, as the client that looks is slow", "1:behind:2 " + onePut + "0:taking 0:took:1 " + back + "2:taking " + turn("3") + turn("4") + "1:putting:5 1:put:5 1:putting:6 1:put:6 1:taking 1:took:5 1:done:5 2:took:6 2:done:6 1:taking 1:took:1", ""},
		{"not taken when its client died, and taken later", "0:removes 1:behind:1 " + twoPut + "0:taking 0:died 1:taking 1:took:2 1:done:2 0:rejoined:1 1:taking 1:took:1 1:done:1", ""},
		{"put after its owner had failed, as the ticket came late", "1:behind:1 " + onePut + "0:taking 0:died 1:taking 1:took:1 1:done:1 " + twoMore + "1:taking 1:took:4 1:done:4", ""},
		{"passed over, and no client failed", "1:behind:1 " + twoPut + "1:taking 1:took:2", "client 1 took item 0x2, although item 0x1"},

		{"removed, and the client goes on without a session", "0:removes " + onePut + "0:taking 0:took:1 0:lost 0:finishing:1 0:done:1 0:rejoined:1", ""},
		{"removed, processed, and not done", "0:removes " + onePut + "0:taking 0:took:1 0:finishing:1 0:died", ""},
		{"removed and not processed", "0:removes " + onePut + "0:taking 0:took:1 0:died", "item 0x1 is lost: client 0 had removed it"},
		{"removed by a request whose reply its client did not live to see", "0:removes " + twoPut + "0:taking 0:died 1:taking 1:took:2", "item 0x1 is lost: client 0 was taking it"},
		{"removed by a client whose session was lost", "0:removes " + twoPut + "0:taking 0:lost 1:taking 1:took:2 0:rejoined:1", "item 0x1 is lost: client 0 was taking it"},
		{"two passed over, one of them removed", "0:removes 1:putting:3 1:put:3 " + twoPut + "0:taking 0:died 1:taking 1:took:2", "item 0x3 is lost: client 0 was taking it | client 1 took item 0x2, although item 0x1"},
		{"an item that was put after its supposed taker had died", twoPut + "0:taking 0:died " + another + "1:putting:4 1:put:4 1:taking 1:took:1 1:done:1 1:taking 1:took:2 1:done:2 1:taking 1:took:4", "client 1 took item 0x4, although item 0x3"},
		{"two attempts of one client", twoPut + "1:putting:3 1:put:3 0:taking 0:died 0:rejoined:1 0:taking 0:died 1:taking 1:took:3", ""},
		{"one attempt, two items", twoPut + "1:putting:3 1:put:3 0:taking 0:died 0:rejoined:1 1:taking 1:took:3", "although item 0x2"},

		{"processed again after a death", onePut + "0:taking 0:took:1 0:finishing:1 0:died 1:taking 1:took:1 1:finishing:1 1:done:1", "client 1 processed item 0x1, which client 0 had processed"},
		{"processed again by a client that learns late", onePut + "0:taking 0:took:1 1:taking 1:took:1 1:finishing:1 1:done:1 0:finishing:1 0:lost 0:givenUp:1", "client 0 processed item 0x1, which client 1 had processed"},
		{"stopped in time", onePut + "0:taking 0:took:1 1:taking 1:took:1 0:lost 0:givenUp:1 1:finishing:1 1:done:1 0:rejoined:1", ""},
		{"done by two", onePut + "0:taking 0:took:1 1:taking 1:took:1 1:done:1 0:done:1 0:died", "client 1 took item 0x1, which client 0 had taken"},
		{"put and not acknowledged", "0:putting:1 0:died 1:putting:2 1:put:2 1:taking 1:took:1 1:done:1 1:taking 1:took:2", ""},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 finds nothing at first; then it takes what client 0 put, and client 0 what client 1 put",
		"0:putting:1 0:put:1 1:putting:2 1:put:2 1:taking 1:empty 1:took:1 0:taking 0:took:2 1:finishing:1 1:done:1",
		"put(0)=1ms put(1)=1ms take(1)=2ms take(0)=1ms sojourn(1)=6ms sojourn(0)=6ms done(1)=1ms",
	}, {
		"client 0 dies with an item, which client 1 takes; a take in which client 1 dies has no span",
		"0:putting:1 0:put:1 0:taking 0:took:1 0:died 1:taking 1:took:1 1:done:1 1:taking 1:died 1:rejoined:1 1:taking 1:empty 1:took:1",
		"put(0)=1ms take(0)=1ms take(1)=1ms take(1)=2ms sojourn(0)=3ms reclaim(1)=2ms",
	}, {
		"client 1 scans in vain, then with success; a scan in which client 0 dies has no span, nor has what follows in its next life",
		"1:scanning 1:scanned 1:inVain 0:scanning 1:scanning 0:died 1:scanned 0:rejoined:1 0:scanned 0:inVain",
		"scan(1)=1ms scan(1)=2ms in-vain(1)=2ms",
	}})
}

func TestOffsetLists(t *testing.T) {
	line := func(seqs ...int32) []tickets.Ticket {
		var out []tickets.Ticket
		for _, s := range seqs {
			out = append(out, tickets.Ticket{Seq: s})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		share  float64
		listed []tickets.Ticket
		want   []tickets.Ticket
	}{
		{"nothing", 0.5, nil, nil},
		{"one", 0.9, line(7), line(7)},
		{"from the head", 0, line(1, 2, 3, 4), line(1, 2, 3, 4)},
		{"from the middle", 0.5, line(1, 2, 3, 4), line(3, 4, 1, 2)},
		{"by numbers, not by places", 0.5, line(1, 8, 9, 10), line(8, 9, 10, 1)},
		{"almost the end", 0.99, line(1, 2, 3, 4), line(4, 1, 2, 3)},
		{"across the wrap of the counter", 0.5, line(math.MaxInt32-1, math.MaxInt32, math.MinInt32, math.MinInt32+1), line(math.MinInt32, math.MinInt32+1, math.MaxInt32-1, math.MaxInt32)},
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
			return []variants.Event{event(i, takequeue.Took, id(i)), event(i, takequeue.Finishing, id(i)), event(i, takequeue.Done, id(i))}
		}
		var h []variants.Event
		if i == 0 {
			const dead = clients + 1
			h = append(h, variants.Event{Client: dead, Kind: takequeue.Putting, Value: dead << 32},
				variants.Event{Client: dead, Kind: takequeue.Put, Value: dead << 32}, variants.Event{Client: dead, Kind: takequeue.Taking})
		}
		h = append(h, event(i, takequeue.Putting, id(i)), event(i, takequeue.Put, id(i)), event(i, takequeue.Taking, 0))
		if i%2 == 0 && i >= 4 {
			h = append(append(h, end(i-3)...), end(i-4)...)
		}
		return h
	})
}

// Clients put and take an item in turn. Now and then one dies: while it looks for an item, while it has one, or when it has
// processed one. Each item is either lost or taken again, as the variant removes or claims it.
func TestObserverMemoryWithDeaths(t *testing.T) {
	const clients, everyNth = 8, 1000
	var lives [clients]int64
	for _, removes := range []bool{false, true} {
		variantstest.ObserverMemory(t, variantstest.Forgoing(Recipe()), func(i int) []variants.Event {
			c := i % clients
			id := int64(c)<<40 | lives[c]<<28 | int64(i/clients)
			events := []variants.Event{
				{Kind: takequeue.Putting, Value: id}, {Kind: takequeue.Put, Value: id}, {Kind: takequeue.Taking},
				{Kind: takequeue.Took, Value: id}, {Kind: takequeue.Finishing, Value: id}, {Kind: takequeue.Done, Value: id},
			}
			if removes {
				events = slices.Insert(events, 0, variants.Event{Kind: takequeue.Removes})
			}
			if i%everyNth == 0 {
				done := len(events) - 1
				lives[c]++
				events = append(events[:done-i/everyNth%3], variants.Event{Kind: variants.Died}, variants.Event{Kind: variants.Rejoined, Value: lives[c]})
				if i/everyNth%3 < 2 && !removes {
					events = append(events, variants.Event{Kind: takequeue.Taking}, variants.Event{Kind: takequeue.Took, Value: id}, variants.Event{Kind: takequeue.Done, Value: id})
				}
			}
			for j := range events {
				events[j].Client = c
			}
			return events
		})
	}
}
