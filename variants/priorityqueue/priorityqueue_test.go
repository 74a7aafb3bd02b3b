package priorityqueue

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's items are numbers after a letter: x for one that is due before all others, u for an urgent one, o for an
// ordinary one.
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Answered: []string{"put", "took", "done"},
		Events: map[string]variants.EventKind{
			"putting": takequeue.Putting, "put": takequeue.Put, "taking": takequeue.Taking, "empty": takequeue.Empty, "took": takequeue.Took,
			"done": takequeue.Done, "givenUp": takequeue.GivenUp, "unordered": takequeue.Unordered,
			"removes": takequeue.Removes,
		},
		Value: func(t testing.TB, _ string, parts []string) int64 {
			p, known := map[byte]int64{'x': 1, 'u': int64(urgent), 'o': int64(ordinary)}[parts[0][0]]
			if !known {
				t.Fatalf("%q is no item", parts[0])
			}
			return variantstest.Number(t, parts[0][1:]) | p<<56
		},
	}
}

const (
	bothPut = "0:putting:o1 0:put:o1 0:putting:u2 0:put:u2 " // by client 0
	knows   = "1:putting:o3 1:put:o3 "                       // client 1 writes afterwards
	passed  = "client 1 took item 0x3200000000000001 of priority 50, although it knew of item 0xa00000000000002 of priority 10"
)

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"the urgent one first", bothPut + knows + "1:taking 1:took:u2 1:done:u2 1:taking 1:took:o1", ""},
		{"in turn, by two", bothPut + knows + "1:taking 1:took:u2 0:taking 0:took:o1", ""},
		{"an urgent one that came later", "1:putting:o1 1:put:o1 1:taking 0:putting:u2 1:took:o1 0:put:u2", ""},
		{"an urgent one that the taker's server may not have", "1:putting:o1 1:put:o1 0:putting:u2 0:put:u2 1:taking 1:took:o1", ""},
		{"a write that had begun before", "1:putting:o1 0:putting:u2 0:put:u2 1:put:o1 1:taking 1:took:o1", ""},
		{"an urgent one that another client is about to take", bothPut + knows + "0:taking 1:taking 1:took:o1 0:took:u2", ""},
		{"given back meanwhile", bothPut + knows + "0:taking 0:took:u2 1:taking 1:took:o1 0:givenUp:u2 0:taking 0:took:u2", ""},
		{"with its taker, who died", bothPut + knows + "0:taking 1:taking 1:took:o1", ""},
		{"a more urgent one that comes while two are looking", bothPut + knows + "2:taking 1:taking 1:took:o1 0:putting:x4 0:put:x4 3:taking 2:took:u2 3:took:x4", ""},
		{"without a promise of order", "1:unordered " + bothPut + knows + "1:taking 1:took:o1", ""},

		{"known by a put", bothPut + knows + "1:taking 1:took:o1", passed},
		{"known by a take", bothPut + "0:putting:o3 0:put:o3 1:taking 1:took:o3 1:taking 1:took:o1 1:taking 1:took:u2", passed},
		{"known because it was its own", "1:putting:u2 1:put:u2 0:putting:o1 0:put:o1 1:taking 1:took:o1", passed},
		{"known, and taken afterwards by another", bothPut + knows + "1:taking 1:took:o1 0:taking 0:took:u2", passed},
		{"lost: never taken", bothPut + knows + "1:taking 1:took:o1 1:taking 1:took:o3", passed + " | client 1 took item 0x3200000000000003"},

		{"never put", "0:taking 0:took:o7", "which was never put"},
		{"twice, by two", bothPut + "0:taking 1:taking 0:took:u2 1:took:u2", "client 1 took item 0xa00000000000002, which client 0 had taken"},
		{"twice, without a promise of order", "0:unordered " + bothPut + "0:taking 1:taking 0:took:u2 1:took:u2", "which client 0 had taken"},
		{"lost: not found", "0:unordered " + bothPut + "0:taking 0:empty", "client 0 found nothing | client 0 found nothing"},
	})
}

func TestCheckOfFailures(t *testing.T) {
	const removes = "0:removes:o0 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"an urgent one went with its taker", bothPut + knows + "0:taking 0:died:o0 1:taking 1:took:o1 1:taking 1:took:o3 0:rejoined:o1", ""},
		{"known in a former life", bothPut + knows + "1:died:o0 1:rejoined:o1 1:taking 1:took:o1", ""},
		{"known before the session was lost", bothPut + knows + "1:taking 1:lost:o0 1:took:o1", ""},
		{"removed and not processed", removes + bothPut + "0:taking 0:took:u2 0:died:o0", "item 0xa00000000000002 is lost: client 0 had removed it"},
		{"removed without a reply", removes + bothPut + knows + "0:taking 0:died:o0 1:taking 1:took:o1 1:taking 1:took:o3", "item 0xa00000000000002 is lost: client 0 was taking it"},
		{"only one was removed", removes + "0:putting:u4 0:put:u4 " + bothPut + knows + "0:taking 0:died:o0 1:taking 1:took:o1", "item 0xa00000000000004 is lost: client 0 was taking it | " + passed},
		{"known in the same life", bothPut + "1:died:o0 1:rejoined:o1 " + knows + "1:taking 1:took:o1", passed},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 takes two ordinary items while an urgent one is there",
		"1:unordered " + bothPut + knows + "1:taking 1:took:o1 1:taking 1:took:o3 0:taking 0:took:u2",
		"put(0)=1ms put(0)=1ms put(1)=1ms take(1)=1ms take(1)=1ms take(0)=1ms " +
			"sojourn(1)=7ms sojourn(1)=5ms sojourn(0)=9ms urgent(0)=9ms inversion(1)=4ms inversion(1)=6ms",
	}})
}

func TestByUrgency(t *testing.T) {
	var got []string
	for _, ticket := range byUrgency([]string{
		"queue-07-0000000003", "journals", "queue-50--2147483648", "queue-50-2147483647",
		"queue-07-0000000002", "queue-7-0000000002", "queue-100-0000000001", "queue-00-", "item-00-0000000001", "00-0000000001",
	}) {
		got = append(got, ticket.Name)
	}
	want := []string{"queue-07-0000000002", "queue-07-0000000003", "queue-50-2147483647", "queue-50--2147483648"}
	if !slices.Equal(got, want) {
		t.Errorf("in order of urgency: %q, want %q", got, want)
	}
}

// Clients put and take ordinary items in turn, while an urgent one is there that a client was taking when it died.
func TestObserverMemory(t *testing.T) {
	variantstest.ObserverMemory(t, Recipe(), func(i int) []variants.Event {
		const clients, dead = 8, 9
		c := i % clients
		id := int64(ordinary)<<56 | int64(c)<<32 | int64(i/clients)
		const lost = int64(urgent)<<56 | dead<<32
		var h []variants.Event
		if i == 0 {
			h = append(h, variants.Event{Client: dead, Kind: takequeue.Putting, Value: lost},
				variants.Event{Client: dead, Kind: takequeue.Put, Value: lost, Shown: 1}, variants.Event{Client: dead, Kind: takequeue.Taking})
		}
		for _, e := range []variants.Event{
			{Kind: takequeue.Putting, Value: id}, {Kind: takequeue.Put, Value: id, Shown: int64(i + 1)}, {Kind: takequeue.Taking}, {Kind: takequeue.Empty},
			{Kind: takequeue.Took, Value: id}, {Kind: takequeue.Finishing, Value: id}, {Kind: takequeue.Done, Value: id},
		} {
			e.Client = c
			h = append(h, e)
		}
		return h
	})
}
