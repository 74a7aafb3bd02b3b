package watchload

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"arming": arming, "armed": armed, "missed": missed, "publishing": publishing, "published": published, "told": told, "failed": failed,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"told", "0:armed:0 1:armed:0 0:publishing:0 1:told:0 0:published:0 0:told:0", ""},
		{"again", "1:armed:0 0:publishing:0 1:told:0 0:published:0 1:armed:0 0:publishing:0 0:published:0 1:told:0", ""},
		{"late", "0:publishing:0 0:published:0 1:armed:0 1:missed:0 1:armed:0 0:publishing:0 1:told:0 0:published:0", ""},
		{"late while it is published", "0:publishing:0 1:armed:0 1:missed:0 0:published:0", ""},
		{"two topics", "1:armed:0 1:armed:1 0:publishing:1 1:told:1 0:published:1", ""},
		{"the publisher died in between", "1:armed:0 0:publishing:0 0:failed:0", ""},
		{"the client gave up", "1:armed:0 0:publishing:0 0:published:0 1:failed:0", ""},
		{"not published yet", "1:armed:0 1:told:0", "client 1 was told of publication 1 of topic 0, and there had been 0"},
		{
			"told of the next before it comes", "1:armed:0 0:publishing:0 1:told:0 0:published:0 1:armed:0 1:told:0",
			"client 1 was told of publication 2 of topic 0, and there had been 1",
		},
		{
			"told of another topic", "1:armed:0 1:armed:1 0:publishing:1 1:told:0 0:published:1",
			"publication 1 of topic 0, and there had been 0 | client 1 was never told of publication 1 of topic 1",
		},
		{"missed what was never published", "1:armed:0 1:missed:0", "client 1 was told of publication 1 of topic 0, and there had been 0"},
		{"twice", "1:armed:0 0:publishing:0 1:told:0 1:told:0 0:published:0", "client 1 was told of topic 0 twice"},
		{"never", "1:armed:0 0:publishing:0 0:published:0", "client 1 was never told of publication 1 of topic 0"},
		{"never, although others were", "1:armed:0 2:armed:0 0:publishing:0 2:told:0 0:published:0", "client 1 was never told"},
		{"a failure of another client explains nothing", "1:armed:0 0:publishing:0 0:published:0 2:failed:0", "client 1 was never told"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 misses the second publication of topic 0 and is told of the third",
		"1:arming:0 1:armed:0 1:arming:1 1:armed:1 0:publishing:0 1:told:0 0:publishing:1 1:told:1 " +
			"0:publishing:0 1:arming:0 1:armed:0 1:missed:0 1:arming:0 1:armed:0 0:publishing:0 1:told:0",
		"arm(1)=1ms arm(1)=1ms delivery(1)=1ms watch(1)=5ms delivery(1)=1ms watch(1)=5ms " +
			"arm(1)=1ms watch(1)=2ms arm(1)=1ms delivery(1)=1ms watch(1)=3ms fan-out(0)=3ms fan-out(0)=0ms fan-out(0)=1ms",
	}})
}

// Two clients watch two topics, and client 1 misses every third publication.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		if i%3 == 0 {
			return "0:arming+armed:0 0:arming+armed:1 0:publishing+told+published:0 1:arming+armed+missed:0 0:publishing+told+published:1 1:arming+armed+missed:1"
		}
		return "0-1:arming+armed:0 0-1:arming+armed:1 0:publishing+told+published:0 1:told:0 0:publishing+told+published:1 1:told:1"
	})
}

// A client that stops in the middle of a step has asked for up to as many watches as there are topics, each for an operation of its own.
// A bound over a window allows for steps that its edges cut.
func TestStepHasAnOperationForEachTopic(t *testing.T) {
	if got := Recipe().BatchOf(100); got != 100 {
		t.Errorf("a step with 100 topics has %d operations, want 100", got)
	}
}
