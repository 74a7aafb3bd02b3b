package masterworker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// newObserver returns an observer of the phases and the promise. All events are recorded on one clock, the beginning of an
// operation just before it and its end just after it, so that an order in the history was one in reality.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phaseAssign, Assigning, Assigned),
		out.Between(phaseExecute, Executing, Executed),
		out.Between(phaseIdle, Resting, Assigning),
		out.Between(phaseIdle, Idle, Notified),
		&delivery{out: out, open: map[int64]*task{}, skipped: map[int64]bool{}, assigning: map[int]bool{}},
	}
}

// delivery reports the time from a task's submission to its result, tasks that are lost, and tasks that are executed twice.
// An execution that its worker abandons does not count, even if the worker learns late that its session is gone. No more
// tasks may be executed twice than the masters are in doubt about.
//
// It keeps the tasks that are open. Clients number their tasks from 0 on without gaps, so that a task that was submitted
// and is not open is done. Of the latest tasks that are done it keeps who executed them, for the message.
type delivery struct {
	out     variants.Findings
	open    map[int64]*task
	next    int64                      // larger than the number of each task that was submitted
	skipped map[int64]bool             // smaller numbers that were not submitted; none in a run
	done    [firstsKept]variants.Event // the first executions of tasks that are done, by number modulo firstsKept

	doubtful   int64        // how many tasks more may be executed twice
	assigning  map[int]bool // the masters that assign tasks, and may yet be in doubt about them
	duplicates []duplicate  // that are to be counted when no master assigns tasks
}

// firstsKept is how many of the latest tasks are remembered with the worker that executed them first.
const firstsKept = 1024

// task is a task that is not done: its client may yet learn the result, or a worker executes it.
type task struct {
	submitting variants.Event
	submitted  bool
	learned    bool
	withdrawn  bool
	begun      bool             // a worker has begun to execute it
	running    []variants.Event // the executions that have not ended, in the order of their beginnings
	first      *variants.Event  // of the executions that are complete; nil if there is none
}

// duplicate is a task's first execution and another one.
type duplicate struct{ first, later variants.Event }

// Observe implements [variants.Observer].
func (d *delivery) Observe(e variants.Event) {
	switch e.Kind {
	case Resting:
		delete(d.assigning, e.Client)
		d.count()
	case Assigning:
		d.assigning[e.Client] = true
	case Doubtful:
		d.doubtful += e.Value
	case Submitting:
		d.submit(e)
	case Submitted:
		if t := d.open[e.Value]; t != nil {
			t.submitted = true
		}
	case Withdrawn:
		for _, t := range d.open {
			t.withdrawn = t.withdrawn || t.submitting.Client == e.Client
		}
	case Learned, Executing, Executed, Abandoned:
		d.advance(e)
	}
}

// Complete implements [variants.Observer].
func (d *delivery) Complete() {
	clear(d.assigning)
	d.count()
	for _, number := range slices.Sorted(maps.Keys(d.open)) {
		t := d.open[number]
		for _, x := range t.running {
			d.executed(t, x)
		}
		switch {
		case !t.submitted || t.withdrawn || t.learned:
		case t.begun:
			d.out.Breach(t.submitting, "task %d of client %d was executed, but its client never learned the result", number, t.submitting.Client)
		default:
			d.out.Breach(t.submitting, "task %d of client %d was never executed", number, t.submitting.Client)
		}
	}
}

func (d *delivery) submit(e variants.Event) {
	for ; d.next < e.Value; d.next++ {
		d.skipped[d.next] = true
	}
	delete(d.skipped, e.Value)
	d.next = max(d.next, e.Value+1)
	d.open[e.Value] = &task{submitting: e}
}

// advance takes an event of one task, and forgets the task if it is done with that.
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

// stray takes an event of a task that was never submitted.
func (d *delivery) stray(e variants.Event) {
	switch e.Kind {
	case Learned:
		d.out.Breach(e, "client %d learned the result of task %d, which was never submitted", e.Client, e.Value)
	case Executing:
		d.out.Breach(e, "worker %d executed task %d, which was never submitted", e.Client, e.Value)
	}
}

// find returns a task, or nil if it was never submitted. A task that is done and no longer remembered was executed before the
// one that has its place, and gets that one's execution.
func (d *delivery) find(number int64) *task {
	if t := d.open[number]; t != nil || number < 0 || number >= d.next || d.skipped[number] {
		return t
	}
	first := d.done[number%firstsKept]
	return &task{learned: true, begun: true, first: &first}
}

// keep forgets a task that is done, but for its first execution, if that is not older than those that are remembered.
func (d *delivery) keep(number int64, t *task) {
	if !t.learned || t.first == nil || len(t.running) > 0 {
		d.open[number] = t
		return
	}
	delete(d.open, number)
	if place := &d.done[number%firstsKept]; place.Value <= number {
		*place = *t.first
	}
}

func (d *delivery) learn(t *task, e variants.Event) {
	switch {
	case !t.begun:
		d.out.Breach(e, "client %d learned the result of task %d, which no worker had executed", e.Client, e.Value)
	case t.learned:
		d.out.Breach(e, "client %d learned the result of task %d twice", e.Client, e.Value)
	}
	if !t.learned {
		d.out.Span(variants.Span{Phase: phaseTask, Client: e.Client, Start: t.submitting.At, End: e.At})
	}
	t.learned = true
}

// end ends a worker's last execution of a task.
func (d *delivery) end(t *task, e variants.Event) {
	for i, x := range slices.Backward(t.running) {
		if x.Client != e.Client {
			continue
		}
		t.running = slices.Delete(t.running, i, i+1)
		if e.Kind == Executed {
			d.executed(t, x)
		}
		return
	}
}

// executed takes an execution that is complete. That there are two is only known now: either could have been abandoned.
func (d *delivery) executed(t *task, x variants.Event) {
	if t.first == nil {
		t.first = &x
		return
	}
	first, later := *t.first, x
	if x.At < first.At {
		first, later = later, first
	}
	t.first = &first
	d.out.Span(variants.Span{Phase: phaseDuplicate, Client: later.Client, Start: first.At, End: later.At})
	d.duplicates = append(d.duplicates, duplicate{first, later})
	d.count()
}

// count holds the duplicates to the number that the masters are in doubt about. A master that assigns tasks is waited for:
// it may have lost a reply.
func (d *delivery) count() {
	if len(d.assigning) > 0 {
		return
	}
	for _, x := range d.duplicates {
		if d.doubtful > 0 {
			d.doubtful--
			continue
		}
		by := "a worker"
		if x.first.Value == x.later.Value { // it is remembered
			by = fmt.Sprintf("worker %d", x.first.Client)
		}
		d.out.Breach(x.later, "worker %d executed task %d, which %s had executed", x.later.Client, x.later.Value, by)
	}
	d.duplicates = nil
}
