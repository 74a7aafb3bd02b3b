package blockingqueue

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"putting": putting, "put": put, "requested": requested, "claiming": claiming, "taken": taken,
		"draining": draining, "drained": drained, "shortLived": shortLived,
		"sessionLost": variants.SessionLost, "died": variants.Died, "rejoined": variants.Rejoined,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"one after the other", "9:putting:1 9:put:1 0:claiming:1 0:taken:1 9:putting:2 9:put:2 1:claiming:2 1:taken:2", ""},
		{"taken before the put was answered", "9:putting:1 0:claiming:1 0:taken:1 9:put:1", ""},
		{"a put that failed may be taken", "9:putting:1 0:claiming:1 0:taken:1", ""},
		{"a put that failed may be lost", "9:putting:1 9:putting:2 9:put:2 0:claiming:2 0:taken:2", ""},
		{"answers cross", "9:putting:1 9:put:1 9:putting:2 9:put:2 0:claiming:1 1:claiming:2 1:taken:2 0:taken:1", ""},
		{"a claim that failed", "9:putting:1 9:put:1 9:putting:2 9:put:2 0:claiming:1 1:claiming:1 0:taken:1 1:claiming:2 1:taken:2", ""},
		{"never taken", "9:putting:1 9:put:1 9:putting:2 9:put:2 0:claiming:2 0:taken:2", "item 1 was put and never taken"},
		{"taken twice", "9:putting:1 9:put:1 0:claiming:1 1:claiming:1 0:taken:1 1:taken:1", "client 1 took item 1, which client 0 had taken"},
		{"twice by the same", "9:putting:1 9:put:1 0:claiming:1 0:taken:1 0:claiming:1 0:taken:1", "client 0 took item 1, which client 0 had taken"},
		{"never put", "0:claiming:7 0:taken:7", "item 7, which was never put"},
		{"taken before it was put", "0:claiming:1 0:taken:1 9:putting:1 9:put:1", "item 1, which was never put"},
		{"the wrong order", "9:putting:1 9:put:1 9:putting:2 9:put:2 0:claiming:2 0:taken:2 1:claiming:1 1:taken:1", "item 1 after item 2"},
	})
}

func TestCheckOfFailures(t *testing.T) {
	const twoPut = "9:putting:1 9:put:1 9:putting:2 9:put:2 "
	later := fmt.Sprint("0:putting:", int64(spare|1), " 0:put:", int64(spare|1), " ")
	teller().Check(t, Recipe(), []variantstest.Case{
		{"a claim that did not take effect", twoPut + "0:claiming:1 0:died 1:claiming:1 1:taken:1 0:rejoined:1 0:claiming:2 0:taken:2", ""},
		{"an item that is left for one who died", twoPut + "0:claiming:1 0:died 1:claiming:1 1:taken:1", ""},
		{"a claim of the last item", twoPut + "1:claiming:1 1:taken:1 0:claiming:2 0:died", ""},
		{"spare items have no order", twoPut + later + "0:died 1:claiming:" + fmt.Sprint(int64(spare|1)) + " 1:taken:" + fmt.Sprint(int64(spare|1)) + " 1:claiming:1 1:taken:1 1:claiming:2 1:taken:2", ""},
		{"a put that its client did not live to see", "9:putting:1 9:died 9:rejoined:1 9:putting:2 9:put:2 0:claiming:2 0:taken:2", ""},
		{"taken, and the client died", twoPut + "0:claiming:1 0:taken:1 0:died 1:claiming:2 1:taken:2", ""},
		{"an item that went with its claim", twoPut + "0:claiming:1 0:died 1:claiming:2 1:taken:2 0:rejoined:1", "item 1 is lost: client 0 was claiming it"},
		{"an item that went with a lost session", twoPut + "0:claiming:1 0:sessionLost 1:claiming:2 1:taken:2 0:rejoined:1", "item 1 is lost: client 0 was claiming it"},
		{"an item that ended with its producer", "0:shortLived " + twoPut + "0:claiming:1 0:taken:1 9:died 9:rejoined:1", "item 2 is lost: the session of client 9, which had put it, has ended"},
		{"an item of a later life of its producer", "0:shortLived 9:died 9:rejoined:1 " + twoPut + "0:claiming:1 0:taken:1", ""},
		{"an item that was taken before its producer died", "0:shortLived " + twoPut + "0:claiming:1 0:taken:1 9:died 0:claiming:2 0:taken:2 9:rejoined:1", ""},
		{"an item that ended although it is not to", twoPut + "9:died 9:rejoined:1 0:claiming:2 0:taken:2", "item 1 was put and never taken"},
		{"never taken, and not claimed by the one who died", twoPut + "0:died 1:claiming:2 1:taken:2", "item 1 was put and never taken"},
		{"never taken, while a client waits", twoPut + "0:claiming:1 0:died 1:claiming:1 1:taken:1 2:requested", "item 2 was put and never taken, although a client waits"},
		{"twice", twoPut + "0:claiming:1 0:died 1:claiming:1 1:taken:1 2:claiming:1 2:taken:1", "client 2 took item 1, which client 1 had taken"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"consumers 0 and 1 wait when the first item comes; the second is taken before its put is answered",
		"0:requested 1:requested 9:putting:1 9:put:1 0:claiming:1 1:claiming:1 0:taken:1 9:draining:1 9:drained:1 9:putting:2 1:claiming:2 1:taken:2 9:put:2",
		"put(9)=1ms put(9)=3ms take(0)=6ms take(1)=10ms drain(9)=1ms sojourn(0)=4ms sojourn(1)=2ms",
	}})
}

// model is a queue with its one-shot watches.
type model struct {
	variantstest.Counts
	items             int
	onItems, onTicket map[int]bool // who watches the items, or the ticket before its own
}

func (m *model) write(fired ...map[int]bool) (woken []int) {
	for _, watchers := range fired {
		for k := range watchers {
			woken = append(woken, k)
			delete(watchers, k)
		}
	}
	m.Write(len(woken))
	return woken
}

// allWatch lets consumers 0 to c-1 take one item each; they wait already. One that is alone has yet to look.
func (m *model) allWatch(c int, alone bool) {
	for k := 0; k < c && !alone; k++ {
		m.onItems[k] = true
	}
	for range c {
		woken := m.write(m.onItems)
		if alone {
			woken = []int{0}
		}
		m.items++
		for _, k := range woken {
			m.Read(1) // the listing
			m.onItems[k] = true
			m.Read(1) // the item
		}
		for i, k := range woken {
			if m.items > 0 {
				m.items--
				m.write(m.onItems)
				continue
			}
			if i == 0 {
				panic("the first one finds the item")
			}
			m.write()
			m.FailedWrites++
			m.Read(1) // it lists again
			m.onItems[k] = true
		}
	}
}

func (m *model) ticket(c int, alone bool)       { m.line(c, alone, true) }
func (m *model) markedTicket(c int, alone bool) { m.line(c, alone, false) }

// line does the same with a line: consumer 0 is the first. The next consumer lists the tickets to see that it has its turn, or
// need not.
func (m *model) line(c int, alone, lists bool) {
	if alone {
		m.write() // the put
		m.write() // the ticket
		m.Read(1) // the tickets
		m.Read(1) // the items
		m.Read(1) // the item
		m.write() // the claim
		return
	}
	m.onItems[0] = true
	for k := 1; k < c; k++ {
		m.onTicket[k] = true
	}
	for k := range c {
		m.write(m.onItems)
		m.Read(1)
		m.Read(1)
		next := map[int]bool{}
		if m.onTicket[k+1] {
			next[k+1] = true
		}
		for _, successor := range m.write(next, m.onItems) {
			if lists {
				m.Read(1) // the tickets
			}
			m.Read(1) // the items
			m.Read(1) // the items, with a watch
			m.onItems[successor] = true
		}
	}
}

// simulate has each consumer take one item. With N=1, the only client is its own producer.
func simulate(variant string, n int) variantstest.Counts {
	takes := max(1, n-1)
	m := model{Counts: variantstest.Counts{Operations: float64(takes)}, onItems: map[int]bool{}, onTicket: map[int]bool{}}
	map[string]func(int, bool){
		"all-watch": m.allWatch, "ephemeral-items": m.allWatch, "ticket": m.ticket, "marked-ticket": m.markedTicket,
	}[variant](takes, n == 1)
	return m.Counts
}

func TestSteppedCostsMatchASimulation(t *testing.T) {
	variantstest.LockstepCosts(t, Recipe(), simulate, "all-watch", "ephemeral-items", "ticket", "marked-ticket")
}

// The producer puts an item for each of two consumers, which take them in the other order.
func TestObserverMemory(t *testing.T) {
	variantstest.ObserverMemory(t, Recipe(), func(i int) []variants.Event {
		a, b := int64(2*i+1), int64(2*i+2)
		return []variants.Event{
			{Client: 0, Kind: requested}, {Client: 1, Kind: requested},
			{Client: 2, Kind: putting, Value: a}, {Client: 2, Kind: put, Value: a},
			{Client: 0, Kind: claiming, Value: a},
			{Client: 2, Kind: putting, Value: b}, {Client: 1, Kind: claiming, Value: b},
			{Client: 1, Kind: taken, Value: b}, {Client: 0, Kind: taken, Value: a},
			{Client: 2, Kind: put, Value: b}, {Client: 2, Kind: draining}, {Client: 2, Kind: drained},
		}
	})
}
