package election

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"campaigning": exclusion.Requested, "withdrew": exclusion.Withdrew, "elected": exclusion.Acquired,
		"resigning": exclusion.Releasing, "resigned": exclusion.Released, "deposed": exclusion.Deposed, "unseen": exclusion.Unseen,
	}}
}

// The promise is that of a lock, whose tests have more stories, in other words.
func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"one after the other", "0:campaigning 0:elected:1 1:campaigning 0:resigning 1:elected:2 0:resigned 1:resigning 1:resigned", ""},
		{"a leader in the end", "0:campaigning 0:elected:1 1:campaigning", ""},
		{"all who waited have given up", "0:campaigning 0:elected:1 1:campaigning 0:resigning 1:withdrew", ""},
		{"two at once", "0:elected:1 1:elected:2", "client 1 was elected while client 0 led"},
		{"before the old leader was told, which goes on", "0:elected:1 1:elected:2 0:lost 0:resigning", "client 0 went on leading after it could know that its session was lost, while client 1 led"},
		{"after one that is not the leader has resigned", "0:elected:1 1:resigning 1:elected:2", "client 1 was elected while client 0 led"},
		{"an epoch again", "0:elected:1 0:resigning 1:elected:1", "epoch 1 after epoch 1"},
		{"a term that others cannot see", "0:elected:1 0:unseen 0:resigning 0:resigned", "client 0 led, and other clients could not see it"},
		{"a term that others cannot see as its session has ended", "0:elected:1 0:unseen 0:deposed", ""},
		{"a term whose end could not be sent", "0:elected:1 0:unseen 0:resigning 0:campaigning 0:elected:2", ""},
		{"no successor", "0:campaigning 0:elected:1 1:campaigning 2:campaigning 0:resigning 0:resigned", "no client leads in the end, although 2 clients campaign"},
		{"no client is left", "0:elected:1 1:campaigning 0:died 1:lost", ""},
		{"no client ever", "0:campaigning", "no client leads in the end, although 1 clients campaign"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{
		// Client 1 campaigns while 0 leads, so it fails over; client 0 comes back only after 1 has resigned.
		{
			"clean",
			"0:campaigning 0:elected:1 1:campaigning 0:resigning 1:elected:2 0:resigned 1:resigning 1:resigned 0:campaigning 0:elected:3",
			"campaign(0)=1ms campaign(1)=2ms campaign(0)=1ms lead(0)=2ms lead(1)=2ms resign(0)=2ms resign(1)=1ms failover-clean(1)=1ms",
		},
		{
			"to a newcomer, while another asks too seldom",
			"0:elected:1 1:campaigning 0:resigning 2:campaigning 2:elected:2",
			"campaign(2)=1ms lead(0)=2ms failover-clean(2)=2ms",
		},
		{
			"to no other client",
			"0:elected:1 1:campaigning 0:resigning 0:campaigning 0:elected:2 1:withdrew 0:resigning 1:campaigning 1:elected:3",
			"campaign(0)=1ms campaign(1)=1ms lead(0)=2ms lead(0)=2ms",
		},
		{
			"crash",
			"0:campaigning 0:elected:1 1:campaigning 2:campaigning 2:withdrew 0:deposed 1:elected:2 1:resigning 1:resigned",
			"campaign(0)=1ms campaign(1)=4ms lead(1)=1ms resign(1)=1ms failover-crash(1)=1ms",
		},
		{
			"a death",
			"0:campaigning 0:elected:1 1:campaigning 0:died - - 0:rejoined 0:campaigning 1:elected:2 1:resigning 0:elected:3",
			"campaign(0)=1ms campaign(0)=3ms campaign(1)=6ms lead(1)=1ms failover-crash(1)=5ms failover-clean(0)=1ms",
		},
		{
			"a death, and a new life before the other candidates ask",
			"0:elected:1 1:campaigning 0:died 0:rejoined 0:campaigning 0:elected:2",
			"campaign(0)=1ms failover-crash(0)=3ms",
		},
		{
			"a death between two terms",
			"0:elected:1 0:resigning 0:resigned 1:campaigning 0:died 1:elected:2",
			"campaign(1)=2ms lead(0)=1ms resign(0)=1ms",
		},
		{
			"a loss that the leader acts on later",
			"0:elected:1 1:campaigning 0:lost - 0:deposed 1:elected:2",
			"campaign(1)=4ms failover-crash(1)=3ms",
		},
		{
			"told after the successor led",
			"0:campaigning 0:elected:1 1:campaigning 2:campaigning 1:elected:2 0:deposed 1:resigning 2:elected:3 1:resigned",
			"campaign(0)=1ms campaign(1)=2ms campaign(2)=4ms lead(1)=2ms resign(1)=2ms failover-clean(2)=1ms",
		},
	})
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("%[1]d:campaigning+elected:%[3]d %[2]d:campaigning+withdrew %[1]d:resigning+resigned:%[3]d", i%10, (i+1)%10, i)
	})
}
