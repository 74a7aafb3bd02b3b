package masterworker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"doubtful": Doubtful, "submitting": Submitting, "submitted": Submitted, "learned": Learned, "withdrawn": Withdrawn,
		"resting": Resting, "assigning": Assigning, "assigned": Assigned, "idle": Idle, "notified": Notified,
		"executing": Executing, "executed": Executed, "abandoned": Abandoned, "stepwise": Stepwise,
	}}
}

func TestCheck(t *testing.T) {
	const submitted = "9:submitting+submitted:7 "
	const batches = "9:submitting+submitted:0x100000000 1:executing+executed:0x100000000 9:learned:0x100000000 " +
		"9:submitting+submitted:0x100000001 1:executing+executed:0x100000001 9:learned:0x100000001 " +
		"9:submitting+submitted:0x100000002 1:executing+executed:0x100000002 9:learned:0x100000002 " +
		"9:submitting+submitted:0x100000003 1:executing+executed:0x100000003 9:learned:0x100000003 "
	const done = "1:executing+executed:7 9:learned:7 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"one task", submitted + done, ""},
		{"learned before the report was acknowledged", submitted + "1:executing:7 9:learned:7 1:executed:7", ""},
		{"executed before the submission was acknowledged", "9:submitting:7 1:executing+executed:7 9:submitted+learned:7", ""},
		{"never acknowledged, and lost", "9:submitting:7", ""},
		{"withdrawn", submitted + "9:withdrawn:0", ""},
		{"its worker died", submitted + "1:executing+abandoned:7 2:executing+executed:7 9:learned:7", ""},
		{"its worker learned late that it was dead", submitted + "1-2:executing:7 2:executed:7 9:learned:7 1:abandoned:7", ""},
		{"a duplicate that may be", "0:doubtful:1 " + submitted + done + "2:executing+executed:7", ""},
		{"a duplicate", submitted + done + "2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"a duplicate at one worker", submitted + done + "1:executing+executed:7", "worker 1 executed task 7, which worker 1 had executed"},
		{"a duplicate that its worker abandons", submitted + done + "2:executing+abandoned:7", ""},
		{"a reply that was lost before the duplicate", submitted + "0:assigning:0 " + done + "2:executing+executed:7 0:doubtful:1 0:assigned+resting:0", ""},
		{"a task given to two workers", submitted + "0:assigning:0 " + done + "2:executing+executed:7 0:assigned+resting:0", "worker 2 executed task 7, which worker 1 had executed"},
		{"a task given to two workers by a master that never rests", submitted + "0:assigning:0 " + done + "2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"more duplicates than lost replies", "0:doubtful:1 " + submitted + done + "2:executing+executed:7 3:executing+executed:7", "worker 3 executed task 7, which worker 1 had executed"},
		{"two abandon, two do not", submitted + "1:executing+abandoned:7 2-3:executing:7 9:learned:7", "worker 3 executed task 7, which worker 2 had executed"},
		{"its client died", submitted + "9:died:0 1:executing+executed:7", ""},
		{"its client died, and it is still pending", submitted + "9:died:0 9:rejoined:1", ""},
		{"its client died, and it is lost", submitted + "9:died:0 9:rejoined:1 " + batches, "task 7 of client 9 was never executed"},
		{"its client died, and the worker that has it", submitted + "9:died:0 1:died:0 9:rejoined:1 " + batches, ""},
		{"its client died before the acknowledgement", "9:submitting:7 9:died:0 9:rejoined:1 " + batches, ""},
		{"its worker died, and it is lost", submitted + "1:executing:7 1:died:0 1:rejoined:1", "executed, but its client never learned the result"},
		{"its master died in a move", submitted + "0:assigning:1 0:died:0 " + done + "2:executing+executed:7", ""},
		{"its master died in a move of one step", submitted + "0:assigning+died:0 " + done + "2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"its master died when it was at rest", submitted + "0:assigning:1 0:resting+died:0 " + done + "2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"its worker died between two steps of its report", "1:stepwise:0 " + submitted + "1:executing:7 9:learned:7 1:died:0 2:executing+executed:7", ""},
		{"that is known only later", "1:stepwise:0 " + submitted + done + "2:executing+executed:7 1:lost:0", ""},
		{"it did not die", "1:stepwise:0 " + submitted + done + "2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"it died once, and left two", "1:stepwise+lost+died:0 " + submitted + done + "2:executing+executed:7 3:executing+executed:7", "worker 3 executed task 7, which worker 1 had executed"},
		{"a worker that reports in one step died", submitted + "1:executing:7 9:learned:7 1:died:0 2:executing+executed:7", "worker 2 executed task 7, which worker 1 had executed"},
		{"lost", submitted, "task 7 of client 9 was never executed"},
		{"lost, with duplicates allowed", "0:doubtful:1 " + submitted, "task 7 of client 9 was never executed"},
		{"lost on the way back", submitted + "1:executing+executed:7", "executed, but its client never learned the result"},
		{"another client withdrew", submitted + "8:withdrawn:0", "task 7 of client 9 was never executed"},
		{"from nowhere", "1:executing:3", "worker 1 executed task 3, which was never submitted"},
		{"a result from nowhere", "9:learned:3", "client 9 learned the result of task 3, which was never submitted"},
		{"a result before the execution", submitted + "9:learned:7 1:executing:7", "client 9 learned the result of task 7, which no worker had executed"},
		{"a result twice", submitted + done + "9:learned:7", "client 9 learned the result of task 7 twice"},
	})
}

// The cost of failures is not a breach of the promise, but is counted.
func TestDamage(t *testing.T) {
	const submitted = "9:submitting+submitted:7 "
	const done = "2:executing+executed:7 9:learned:7 "
	teller().Damage(t, Recipe(), []variantstest.Case{
		{"nothing", submitted + done, ""},
		{"its worker died", submitted + "1:executing:7 1:died:0 " + done + "1:rejoined:1", "items-doubled=1"},
		{"its worker gave up", submitted + "1:executing:7 1:lost:0 1:abandoned:7 " + done, "items-doubled=1"},
		{"its worker learned late that it was dead", submitted + "1:executing:7 " + done + "1:lost:0 1:abandoned:7", "items-doubled=1"},
		{"its worker died after its report", submitted + "1:executing:7 1:died:0 9:learned:7", ""},
		{"its master died in a move", submitted + "0:assigning:1 0:died:0 1:executing+executed:7 " + done, "items-doubled=1"},
		{"never executed", submitted, "items-lost=1"},
	})
}

// It is no longer known which worker executed a task long ago.
func TestLateDuplicate(t *testing.T) {
	const kept = 512
	var story strings.Builder
	for number := range 2*kept + 1 {
		fmt.Fprintf(&story, "9:submitting+submitted:%[1]d 1:executing+executed:%[1]d 9:learned:%[1]d ", number)
	}
	for _, tt := range []struct {
		number int
		want   string
	}{
		{2 * kept, "worker 2 executed task 1024, which worker 1 had executed"},
		{kept + 1, "worker 2 executed task 513, which worker 1 had executed"},
		{kept, "worker 2 executed task 512, which a worker had executed"},
		{0, "worker 2 executed task 0, which a worker had executed"},
	} {
		h := teller().Build(t, story.String()+fmt.Sprintf("2:executing+executed:%[1]d", tt.number))
		spans, violations := Recipe().Replay(h, true)
		if len(violations) != 1 || violations[0].Text != tt.want {
			t.Errorf("violations %v, want %q", violations, tt.want)
		}
		isDuplicate := func(s variants.Span) bool { return s.Phase == phaseDuplicate && s.End > s.Start }
		if !slices.ContainsFunc(spans, isDuplicate) {
			t.Errorf("the duplicate of task %d was not counted", tt.number)
		}
	}
}

// Every tenth task is executed twice, the second time when many others are done.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		story := fmt.Sprintf("9:submitting+submitted:%[1]d %[2]d:executing+executed:%[1]d 9:learned:%[1]d", i, i%3)
		if i%10 == 9 {
			story += fmt.Sprintf(" 0:assigning 4:executing+executed:%d 0:doubtful:1 0:resting", i-i%5000/2)
		}
		return story
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"a task is executed, and once more after its client has learned the result",
		"0:doubtful:1 1:idle:0 0:resting:0 9:submitting+submitted:7 0:assigning:0 1:notified:0 0:assigned:0 " +
			"1:executing+executed:7 9:learned:7 2:executing+executed:7",
		"assign(0)=2ms execute(1)=1ms execute(2)=1ms idle(0)=3ms idle(1)=5ms task(9)=7ms duplicate(2)=3ms",
	}})
}

// The formulas of the book's variants count on a task for each worker, which the choice at random gives it in a lockstep run.
func TestEachWorkerIsChosen(t *testing.T) {
	const most = 200
	for n := 1; n <= most; n++ {
		random, chosen := newChoice(), map[int]bool{}
		for range share * n {
			chosen[random.IntN(n)] = true
		}
		if len(chosen) < n {
			t.Errorf("%d of %d workers get a task of the first batch: choose another seed", len(chosen), n)
		}
	}
}

// Clients and workers fail again and again. Of the tasks that are then given up, most are never executed.
func TestObserverMemoryWithFailures(t *testing.T) {
	const rare, more = 200, 500 // operations from one failure to the next, and tasks that are not acknowledged then
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		n := int64(i/rare)<<lifeBits + int64(i%rare)
		begun := fmt.Sprintf("9:submitting+submitted:%[1]d 3:executing:%[1]d ", n)
		if i%rare != rare-1 {
			return begun + fmt.Sprintf("3:executed:%[1]d 9:learned:%[1]d", n)
		}
		for j := range more {
			begun += fmt.Sprintf("9:submitting:%d ", n+int64(j)+1)
		}
		return begun + fmt.Sprintf("3:lost+abandoned+rejoined:%[1]d 4:assigning:1 4:died+rejoined 4:executing+executed:%[1]d 9:died+rejoined", n)
	})
}
