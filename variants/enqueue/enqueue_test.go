package enqueue

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"enqueuing": enqueuing, "enqueuing-once": enqueuingOnce, "enqueued": enqueued, "found": found, "audited": audited,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"once", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:audited:1", ""},
		{"two items", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:audited:1 0:enqueuing-once:2 0:enqueued:2 0:found:2 0:audited:2", ""},
		{"not audited yet", "0:enqueuing-once:1 0:enqueued:1", ""},
		{"failed, and not there", "0:enqueuing-once:1", ""},
		{"twice, as one may who does not claim otherwise", "0:enqueuing:1 0:enqueued:1 0:found:1 0:found:1 0:audited:1", ""},
		{"twice", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:found:1 0:audited:1", "in the queue 2 times"},
		{"not enqueued by one who died", "0:enqueuing-once:1 0:died 0:rejoined:1 0:enqueuing-once:2 0:enqueued:2 0:found:2 0:audited:2", ""},
		{"not audited by one who died", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:died 0:rejoined:1 0:enqueuing-once:2 0:enqueued:2 0:found:2 0:audited:2", ""},
		{"twice, in the next life", "0:enqueuing-once:1 0:died 0:rejoined:1 0:enqueuing-once:2 0:enqueued:2 0:found:2 0:found:2 0:audited:2", "item 2 once, and it is in the queue 2 times"},
		{"lost, in the next life", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:died 0:rejoined:1 0:enqueuing-once:2 0:enqueued:2 0:audited:2", "item 2, which is not in the queue"},
		{"lost", "0:enqueuing-once:1 0:enqueued:1 0:audited:1", "not in the queue"},
		{"lost by one who does not claim to enqueue once", "0:enqueuing:1 0:enqueued:1 0:audited:1", "not in the queue"},
	})
}

// Each copy but one is damage, also of a variant that forgoes that there is none.
func TestCopiesAreDamage(t *testing.T) {
	for _, begin := range []string{"enqueuing", "enqueuing-once"} {
		var damage []variants.Damage
		o := newObserver(variants.Findings{
			Span:      func(variants.Span) {},
			Violation: func(v variants.Violation) { t.Errorf("%s: violation %v", begin, v) },
			Damage:    func(d variants.Damage) { damage = append(damage, d) },
		})
		for _, e := range teller().Build(t, "0:"+begin+":1 0:enqueued:1 0:found:1 0:found:1 0:found:1 0:audited:1") {
			o.Observe(e)
		}
		if len(damage) != 1 || damage[0].Loss != variants.ItemsDoubled || damage[0].Amount != 2 {
			t.Errorf("%s: damage %v, want 2 items doubled", begin, damage)
		}
	}
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"two items, of which one is found before its enqueuing was acknowledged",
		"0:enqueuing:1 0:enqueued:1 0:found:1 0:audited:1 0:enqueuing-once:2 0:found:2 0:enqueued:2 0:audited:2",
		"enqueue(0)=1ms enqueue(0)=2ms audit(0)=2ms audit(0)=1ms",
	}})
}

func TestConsumable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stored []byte
		want   string
		ok     bool
	}{
		{"ready", flagged(ready, []byte("x")), "x", true},
		{"ready and empty", flagged(ready, nil), "", true},
		{"not ready", flagged(unready, []byte("x")), "", false},
		{"not an item", nil, "", false},
	} {
		if data, ok := Consumable(tt.stored); ok != tt.ok || string(data) != tt.want {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, data, ok, tt.want, tt.ok)
		}
	}
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("0:enqueuing-once:%d 0:died 0:rejoined+enqueuing-once+enqueued+found+audited:%d", -i-1, i)
	})
}
