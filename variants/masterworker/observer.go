package masterworker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Timed(phases()),
		out.Between(phaseIdle, Resting, Assigning),
		&delivery{
			out: out, open: map[int64]*task{}, assigning: map[int]int64{}, stepwise: map[int]int64{}, failed: map[int]int{},
		},
	}
}

// delivery reports the time from a task's submission to its result, tasks that are lost, and tasks that are executed
// twice. An execution that its worker abandons, or in which its worker dies, breaks no promise if it is repeated. Other
// than these, there may be as many tasks executed twice as the masters are in doubt about.
//
// It keeps the tasks that are open, and the latest tasks that their clients have given up: any of them may still be executed.
type delivery struct {
	out     variants.Findings
	open    map[int64]*task
	done    takequeue.Finished // with the beginnings of the tasks' first executions as places
	givenUp []int64            // tasks, in the order in which they were
	batch   int                // how many batches clients have begun to submit
	filling bool               // the last event of a client was that it submits
	place   int                // of the event in the history
	failed  map[int]int        // the places of each participant's last failure

	doubtful   int64         // how many tasks more may be executed twice
	assigning  map[int]int64 // for each master that assigns tasks, how many it leaves in doubt if it dies
	stepwise   map[int]int64 // likewise for each worker that reports in two steps
	duplicates []duplicate   // that are to be counted when no master assigns tasks
}

// duplicatesKept is how many duplicates may wait for the death of a worker, and givenUpKept how many of the tasks that were given
// up are remembered.
const (
	duplicatesKept = 1024
	givenUpKept    = 4096
)

// task is not done yet: its client may yet learn the result, or a worker executes it.
type task struct {
	submitting  variants.Event
	place       int // of the submission in the history
	submitted   bool
	learned     bool
	withdrawn   bool // its client does not wait for the result any more
	forsaken    bool // it was withdrawn because the client's session ended: the task is executed all the same
	batch       int  // how many batches had been begun when it was forsaken
	begun       bool
	running     []variants.Event // the executions that have not ended, in the order of their beginnings
	interrupted *variants.Event  // the last execution that its worker did not report, or not for certain; nil if there is none
	first       *variants.Event  // of the executions that are complete; nil if there is none
}

// isDone reports whether nothing more needs to happen to the task. A result that was learned proves that an execution which was
// interrupted has been reported.
func (t *task) isDone() bool {
	return len(t.running) == 0 && ((t.learned || t.withdrawn) && t.first != nil || t.learned && t.interrupted != nil)
}

type duplicate struct{ first, later variants.Event }

func (d *delivery) Observe(e variants.Event) {
	d.place++
	switch e.Kind {
	case Resting:
		delete(d.assigning, e.Client)
		d.count()
	case Assigning:
		d.assigning[e.Client] = e.Value
	case Doubtful:
		d.doubtful += e.Value
	case Stepwise:
		d.stepwise[e.Client] = 1
	case Submitting:
		if !d.filling {
			d.batch++
		}
		d.filling = true
		d.open[e.Value] = &task{submitting: e, place: d.place}
	case Submitted:
		d.filling = false
		if t := d.open[e.Value]; t != nil {
			t.submitted = true
		}
	case Withdrawn:
		d.giveUp(e, false)
	case Learned, Executing, Executed, Abandoned:
		d.advance(e)
	case variants.SessionLost:
		d.depose(e)
	case variants.Died, variants.Rejoined:
		d.depose(e)
		d.bury(e)
	}
}

// depose handles the end of a client's session. If it assigns tasks as a master, or reports in two steps as a worker,
// it leaves doubts.
func (d *delivery) depose(e variants.Event) {
	d.failed[e.Client], d.filling = d.place, false
	d.doubtful += d.assigning[e.Client] + d.stepwise[e.Client]
	delete(d.assigning, e.Client)
	delete(d.stepwise, e.Client)
	d.count()
}

// bury handles the end of a client's life: its executions are interrupted, and it learns no results.
func (d *delivery) bury(e variants.Event) {
	by := func(x variants.Event) bool { return x.Client == e.Client }
	for _, number := range variants.KeysWhere(d.open, func(_ int64, t *task) bool { return slices.ContainsFunc(t.running, by) }) {
		t := d.open[number]
		for slices.ContainsFunc(t.running, by) {
			d.end(t, variants.Event{At: e.At, Client: e.Client, Kind: Abandoned, Value: number})
		}
		d.keep(number, t)
	}
	d.giveUp(e, true)
}

func (d *delivery) giveUp(e variants.Event, forsaken bool) {
	own := func(_ int64, t *task) bool { return t.submitting.Client == e.Client && !t.withdrawn && !t.learned }
	for _, number := range variants.KeysWhere(d.open, own) {
		t := d.open[number]
		t.withdrawn, t.forsaken, t.batch = true, forsaken, d.batch
		d.givenUp = append(d.givenUp, number)
		d.keep(number, t)
	}
	for len(d.givenUp) > givenUpKept {
		if t := d.open[d.givenUp[0]]; t != nil {
			d.lost(t)
			t.first = cmp.Or(t.first, &variants.Event{At: t.submitting.At, Client: takequeue.UnknownClient})
			d.forget(d.givenUp[0], t)
		}
		d.givenUp = d.givenUp[1:]
	}
}

func (d *delivery) Complete() {
	clear(d.assigning)
	clear(d.stepwise)
	d.count()
	for _, number := range slices.Sorted(maps.Keys(d.open)) {
		t := d.open[number]
		for _, x := range t.running {
			d.executed(t, x)
		}
		d.lost(t)
	}
}

// lost reports a task that should have been executed, or whose result its client should have learned.
func (d *delivery) lost(t *task) {
	e := t.submitting
	switch {
	case !t.submitted || t.learned || t.withdrawn && !t.forsaken:
	case !t.begun && t.forsaken && !d.settled(t):
	case !t.begun:
		d.out.Lose(e, variants.ItemsLost, 1, "task %d of client %d was never executed", e.Value, e.Client)
	case !t.forsaken:
		d.out.Breach(e, "task %d of client %d was executed, but its client never learned the result", e.Value, e.Client)
	}
}

// settledAfter is how many batches must have been begun after a client's death until its tasks have been executed: they
// are assigned with the tasks of the first batch at the latest, and each worker executes all that it finds before it
// looks for more.
const settledAfter = 4

// settled reports whether a task whose client died must have been executed by now. That is not known if another participant has
// failed since: it may have the task until its session has run out.
func (d *delivery) settled(t *task) bool {
	for client, place := range d.failed {
		if client != t.submitting.Client && place > t.place {
			return false
		}
	}
	return d.batch >= t.batch+settledAfter
}

// advance handles an event of one task, and forgets the task if it is done with that.
func (d *delivery) advance(e variants.Event) {
	t := d.find(e.Value)
	if t == nil {
		d.stray(e)
		return
	}
	switch e.Kind {
	case Learned:
		d.learn(t, e)
	case Executing:
		t.begun, t.running = true, append(t.running, e)
	default:
		d.end(t, e)
	}
	d.keep(e.Value, t)
}

func (d *delivery) stray(e variants.Event) {
	switch e.Kind {
	case Learned:
		d.out.Breach(e, "client %d learned the result of %s, which was never submitted", e.Client, variants.Named("task %d", e.Value))
	case Executing:
		d.out.Breach(e, "worker %d executed %s, which was never submitted", e.Client, variants.Named("task %d", e.Value))
	}
}

// find returns a task, or nil if it was never submitted.
func (d *delivery) find(number int64) *task {
	if t := d.open[number]; t != nil {
		return t
	}
	owner, done := d.done.Owner(number)
	if !done {
		return nil
	}
	first := variants.Event{At: time.Duration(owner.Done), Client: owner.Client, Worker: owner.Worker, Value: number}
	return &task{learned: true, begun: true, first: &first}
}

// keep forgets a task that is done.
func (d *delivery) keep(number int64, t *task) {
	d.open[number] = t
	if t.isDone() {
		t.first = cmp.Or(t.first, t.interrupted)
		d.forget(number, t)
	}
}

func (d *delivery) forget(number int64, t *task) {
	delete(d.open, number)
	d.done.Add(number, takequeue.Owner{Client: t.first.Client, Worker: t.first.Worker, Done: int(t.first.At)})
}

func (d *delivery) learn(t *task, e variants.Event) {
	switch {
	case !t.begun:
		d.out.Breach(e, "client %d learned the result of task %d, which no worker had executed", e.Client, e.Value)
	case t.learned:
		d.out.Breach(e, "client %d learned the result of task %d twice", e.Client, e.Value)
	}
	if !t.learned {
		d.out.Span(variants.SpanOf(phaseTask, e.Client, t.submitting.Moment(), e.Moment()))
	}
	t.learned = true
}

func (d *delivery) end(t *task, e variants.Event) {
	for i, x := range slices.Backward(t.running) {
		if x.Client != e.Client {
			continue
		}
		t.running = slices.Delete(t.running, i, i+1)
		if e.Kind == Executed {
			d.executed(t, x)
			return
		}
		if t.first != nil || t.interrupted != nil {
			d.double(x)
		}
		t.interrupted = &x
		return
	}
}

// executed handles an execution that is complete. A second one is known only now: either could have been abandoned.
func (d *delivery) executed(t *task, x variants.Event) {
	if t.first == nil {
		if t.interrupted != nil {
			d.double(x)
		}
		t.first = &x
		return
	}
	first, later := *t.first, x
	if x.At < first.At {
		first, later = later, first
	}
	t.first = &first
	d.out.Span(variants.SpanOf(phaseDuplicate, later.Client, first.Moment(), later.Moment()))
	d.duplicates = append(d.duplicates, duplicate{first, later})
	d.count()
}

// double counts a task that was executed again because of a failure. No variant promises that this never happens.
func (d *delivery) double(e variants.Event) {
	if d.out.Damage != nil {
		d.out.Lose(e, variants.ItemsDoubled, 1, "worker %d executed task %d again", e.Client, e.Value)
	}
}

// count compares the duplicates with the number that the masters are in doubt about. It waits for masters that assign
// tasks, because they may have lost a reply, and for workers that report in two steps, because the death of one may
// become known only later.
func (d *delivery) count() {
	if len(d.assigning) > 0 {
		return
	}
	var kept []duplicate
	for _, x := range d.duplicates {
		switch {
		case d.doubtful > 0:
			d.doubtful--
			d.double(x.later)
		case len(d.stepwise) > 0 && len(kept) < duplicatesKept:
			kept = append(kept, x)
		default:
			by := "a worker"
			if x.first.Client != takequeue.UnknownClient {
				by = fmt.Sprintf("worker %d", x.first.Client)
			}
			d.out.Breach(x.later, "worker %d executed task %d, which %s had executed", x.later.Client, x.later.Value, by)
		}
	}
	d.duplicates = kept
}
