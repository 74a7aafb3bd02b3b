package doublebarrier

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/tickets"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are rounds, or rounds and barriers: "round:barrier".
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"joined": joined, "arrived": arrived, "started": started, "finished": finished, "departed": departed, "failed": failed,
		},
		Value: func(t testing.TB, _ string, parts []string) int64 {
			value := variantstest.Number(t, parts[0])
			if len(parts) > 1 {
				value = stamp(int(variantstest.Number(t, parts[1])), value)
			}
			return value
		},
	}
}

func TestCheck(t *testing.T) {
	const (
		two   = "0-1:joined:2 "
		first = two + "0-1:arrived+started+finished:0 0:departed:0 "
	)
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"alone", "0:joined:1 0:arrived+started+finished+departed:0", ""},
		{"one round", first + "1:departed:0", ""},
		{"a fast one is back before a slow one has left", first + "0:arrived:1 1:departed:0 1:arrived:1 0:started:1", ""},
		{"a fast one has finished before a slow one starts", two + "0-1:arrived:0 1:started+finished:0 0:started:0", ""},
		{"one that died in the round", two + "0-1:arrived+started:0 0:finished+departed:0 1:failed:0", ""},
		{"one that died before it started", two + "0-1:arrived:0 1:failed:0 0:started+finished+departed:0", ""},
		{"one that withdrew and came again", two + "0:arrived+failed+arrived:0 1:arrived:0 0-1:started:0", ""},
		{"started alone", two + "0:arrived+started:0 1:arrived:0", "participant 0 started round 0 before participant 1 had entered"},
		{"started without one that never came", "0-1:joined:3 0-1:arrived:0 0:started:0",
			"participant 0 started round 0 before participant 2 had entered"},
		{"started by the last round's signal", first + "0:arrived+started:1 1:departed:0 1:arrived:1",
			"participant 0 started round 1 before participant 1 had entered"},
		{"left alone", two + "0-1:arrived+started:0 0:finished+departed:0 1:finished:0",
			"participant 0 left round 0 before participant 1 had finished"},
		{"left one that has not even started", two + "0-1:arrived:0 0:started+finished+departed:0",
			"participant 0 left round 0 before participant 1 had finished"},
		{
			"a death in another round explains nothing", first + "1:departed:0 0-1:arrived+started:1 0:finished+departed:1 1:finished+departed:1 1:failed:2",
			"participant 0 left round 1 before participant 1 had finished",
		},
		{"one that died long after it was left alone", two + "0-1:arrived+started:0 0:finished+departed:0 0:arrived:1 1:finished+failed:0", ""},
		{"started twice", first + "1:started:0", "participant 1 started round 0 twice"},
		{"started twice, after all have left", first + "1:departed+started:0", "participant 1 started round 0 twice"},
		{"left twice", first + "0:departed:0", "participant 0 left round 0 twice"},
		{"left twice, after all have left", first + "1:departed:0 0:departed:0", "participant 0 left round 0 twice"},
	})
}

// The others need not wait for the dead, and a member that is back takes part in no round that began before.
func TestCheckLives(t *testing.T) {
	const (
		three    = "0-2:joined:3 "
		gathered = three + "0-2:arrived:0 "
		inside   = gathered + "0-2:started:0 "
		next     = "0-2:arrived+started:1 "
	)
	teller().Check(t, Recipe(), []variantstest.Case{
		{"dies inside", inside + "2:died:0 0-1:finished+departed:0 2:rejoined:1 2:joined:3 " + next, ""},
		{"is back while the others are inside", inside + "2:died:0 2:rejoined:1 2:joined:3 2:arrived:1 0-1:finished+departed:0 0-1:arrived+started:1 2:started:1", ""},
		{"dies when all have arrived", gathered + "2:died:0 0-1:started+finished+departed:0", ""},
		{"dies, and is back before another one arrives", three + "0:arrived:0 2:arrived+died:0 2:rejoined:1 2:joined:3 2:arrived:0 1:arrived:0 0-2:started:0", ""},
		{"loses its session, goes on, and learns of it", inside + "0-1:finished:0 0:departed:0 2:lost+finished+failed:0", ""},
		{"the others leave before it can know", inside + "0-1:finished+departed:0 2:finished+lost+failed:0 2:rejoined:1 2:joined:3 2:arrived:1", ""},
		{
			"is counted twice, arrives for a round that begins with its former life, and waits for the next",
			gathered + "2:lost+failed:0 2:rejoined:1 2:joined:3 0:started:0 2:arrived:0 1:started:0 0-1:finished+departed:0 0-1:arrived:1 2:started:1 0-1:started:1", "",
		},
		{"back, and starts what has begun", inside + "2:died:0 2:rejoined:1 2:joined:3 2:arrived+started:0",
			"participant 2 started round 0 twice"},
		{
			"back, and starts what began when it was dead", gathered + "2:died:0 0:started:0 2:rejoined:1 2:joined:3 2:arrived:0 1-2:started:0",
			"participant 2 started round 0, which had begun before it came back",
		},
		{"back, and does not wait for the others", inside + "2:died:0 2:rejoined:1 2:joined:3 2:arrived+started:1",
			"participant 2 started round 1 before participant 0 had entered"},
		{"the others start a round without the dead", inside + "2:died:0 0-1:finished+departed:0 0-1:arrived:1 0:started:1 2:rejoined:1",
			"participant 0 started round 1 before participant 2 had entered"},
		{
			"is back, and left alone", inside + "2:died:0 0-1:finished+departed:0 2:rejoined:1 2:joined:3 " + next +
				"0-1:finished:1 0:departed:1 2:finished+departed:1",
			"participant 0 left round 1 before participant 2 had finished",
		},
		{
			"died while all gathered, is back, and left alone", three + "2:arrived+died:0 0-1:arrived:0 2:rejoined:1 2:joined:3 2:arrived:0 0-2:started:0 " +
				"0-1:finished:0 0:departed:0 2:finished+departed:0",
			"participant 0 left round 0 before participant 2 had finished",
		},
		{"the death of one says nothing of another", inside + "2:died:0 0:finished+departed:0 1:finished+departed:0",
			"participant 0 left round 0 before participant 1 had finished"},
	})
}

// The promise holds for each of several barriers, and in none of them the others need to wait for a participant that
// fails.
func TestCheckSeveralBarriers(t *testing.T) {
	const (
		two    = "0-1:joined:2 0-1:joined:2:1 "
		inside = two + "0-1:arrived+started:0 0-1:arrived+started:0:1 "
	)
	teller().Check(t, Recipe(), []variantstest.Case{
		{"all enter both, and leave both", inside + "0-1:finished+departed:0 0-1:finished+departed:0:1", ""},
		{"one fails in both", inside + "1:failed:0 0:finished+departed:0 0:finished+departed:0:1", ""},
		{"the second is started alone", two + "0-1:arrived+started:0 0:arrived+started:0:1",
			"barrier 1: participant 0 started round 0 before participant 1 had entered"},
		{"the second is left alone", inside + "0-1:finished+departed:0 0:finished+departed:0:1",
			"barrier 1: participant 0 left round 0 before participant 1 had finished"},
	})
}

func TestStamp(t *testing.T) {
	for _, barrier := range []int{0, 1, 1600} {
		for _, round := range []int64{0, 1, 1 << 30} {
			if b, r := unstamp(stamp(barrier, round)); b != barrier || r != round {
				t.Errorf("unstamp(stamp(%d, %d)) = %d, %d", barrier, round, b, r)
			}
		}
	}
}

// A round that one member started too early has no order any more: what follows from that is no second loss.
func TestOutOfStep(t *testing.T) {
	const inside = "0-1:joined:2 0-1:arrived+started:0 "
	teller().Damage(t, Recipe(), []variantstest.Case{
		{
			"starts again what has begun", inside + "1:died:0 1:rejoined:1 1:joined:2 1:arrived+started:0 0:finished+departed:0 1:finished+departed:0",
			"out-of-step=1",
		},
		{"starts the next round alone", inside + "1:died:0 1:rejoined:1 1:joined:2 1:arrived+started+finished+departed:1 0:finished+departed:0", "out-of-step=1"},
		{"leaves too early", inside + "0:finished+departed:0 1:finished+departed:0", "out-of-step=1"},
	})
}

// A member dies in each round: while all gather, inside, or while the others leave.
func TestObserverMemoryWithLives(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		victim, last := i%3, i/3%3
		var story strings.Builder
		if i == 0 {
			story.WriteString("0-2:joined:3 ")
		}
		fmt.Fprintf(&story, "0-2:arrived:%d ", i)
		for stage, kind := range []string{"started", "finished", "departed"} {
			if stage == last {
				fmt.Fprintf(&story, "%d:died ", victim)
			}
			for client := range 3 {
				if client != victim || stage < last {
					fmt.Fprintf(&story, "%d:%s:%d ", client, kind, i)
				}
			}
		}
		fmt.Fprintf(&story, "%[1]d:rejoined %[1]d:joined:3", victim)
		return story.String()
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"participant 1 leaves first, and is back before participant 0 has left",
		"0-1:arrived+started+finished:0 1:departed:0 1:arrived:1 0:departed:0",
		"enter(0)=2ms enter(1)=2ms hold(0)=2ms hold(1)=2ms leave(1)=1ms leave(0)=4ms",
	}})
}

// Three participants go through a round, of which the first is back before the last has left.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		story := fmt.Sprintf("0-2:started+finished:%[1]d 0:departed:%[1]d 0:arrived:%[2]d 1:departed:%[1]d 1:arrived:%[2]d 2:departed:%[1]d 2:arrived:%[2]d", i, i+1)
		if i == 0 {
			story = "0-2:joined:3 0-2:arrived:0 " + story
		}
		return story
	})
}

// Numbers wrap: the server's counters are 32 bits wide.
func TestTheStatShowsTheNewestTicket(t *testing.T) {
	for _, tt := range []struct {
		seq, cversion, children int32
		size                    int
		want                    bool
	}{
		{0, 1, 1, 1, true},
		{2, 3, 3, 3, true},
		{2, 3, 3, 4, false},             // one is missing
		{1, 3, 3, 3, false},             // another one came later
		{5, 9, 3, 3, true},              // six creations, three deletions
		{math.MaxInt32, -3, 3, 3, true}, // 2^31 creations
	} {
		s := state{stat: &zk.Stat{Cversion: tt.cversion, NumChildren: tt.children}}
		if got := s.complete(tickets.Ticket{Seq: tt.seq}, tt.size); got != tt.want {
			t.Errorf("%+v: complete = %t", tt, got)
		}
	}
}

func TestUpTo(t *testing.T) {
	all := []tickets.Ticket{{Name: "a", Seq: math.MaxInt32}, {Name: "b", Seq: math.MinInt32}, {Name: "c", Seq: math.MinInt32 + 1}}
	for n, last := range all {
		if got := len(upTo(last, all)); got != n+1 {
			t.Errorf("%d tickets up to %v, want %d", got, last, n+1)
		}
	}
}
