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
		{"a put of the former life, in the next", "9:putting:1 9:died:0 9:rejoined:1 9:putting:2 9:put:2 0:claiming:2 0:taken:2 1:claiming:1 1:taken:1", ""},
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
		{"an item that went with a lost session", twoPut + "0:claiming:1 0:lost 1:claiming:2 1:taken:2 0:rejoined:1", "item 1 is lost: client 0 was claiming it"},
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

// The producer puts an item for each of two consumers, which take them in the other order.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("0-1:requested 2:putting+put:%[1]d 0:claiming:%[1]d 2:putting:%[2]d 1:claiming+taken:%[2]d 0:taken:%[1]d 2:put:%[2]d 2:draining+drained",
			2*i+1, 2*i+2)
	})
}
