package masterworker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// spans turns a history into phases.
func spans(h variants.History) []variants.Span {
	out := h.Between(phaseAssign, Assigning, Assigned)
	out = append(out, h.Between(phaseExecute, Executing, Executed)...)
	out = append(out, h.Between(phaseIdle, Resting, Assigning)...)
	out = append(out, h.Between(phaseIdle, Idle, Told)...)
	return append(out, read(h).spans()...)
}

// check holds a whole history to the promise: what was submitted is executed, its client learns the result, and, unless the
// variant says otherwise, it is executed once. What was interrupted is not a breach, if somebody says so: a client that
// withdraws its tasks, or a worker that was lost while it executed one. Everything is recorded on one clock, a beginning
// just before it and an end just after, so that an order in the history was one in reality.
func check(h variants.History) []variants.Violation {
	s := read(h)
	out := slices.Concat(s.breaches, s.duplicates(), s.losses())
	slices.SortStableFunc(out, func(a, b variants.Violation) int { return cmp.Compare(a.At, b.At) })
	return out
}

// checkPrefix leaves out what is under way: a task that may yet be learned, and an execution that may yet be abandoned.
func checkPrefix(h variants.History) []variants.Violation {
	s := read(h)
	for _, t := range s.tasks {
		t.executions = slices.DeleteFunc(t.executions, func(x *execution) bool { return !x.completed })
	}
	out := slices.Concat(s.breaches, s.duplicates())
	slices.SortStableFunc(out, func(a, b variants.Violation) int { return cmp.Compare(a.At, b.At) })
	return out
}

// story is a history by tasks.
type story struct {
	tasks       map[int64]*taskStory
	atLeastOnce bool
	breaches    []variants.Violation // that show as they happen
}

// taskStory is what became of one task.
type taskStory struct {
	submitting variants.Event
	submitted  bool
	learned    *variants.Event
	withdrawn  bool
	executions []*execution
}

// execution is one worker's attempt at a task.
type execution struct {
	variants.Event
	completed, abandoned bool // neither while it is under way
}

func read(h variants.History) *story {
	s := &story{tasks: map[int64]*taskStory{}}
	for _, e := range h {
		switch e.Kind {
		case AtLeastOnce:
			s.atLeastOnce = true
		case Submitting:
			s.tasks[e.Value] = &taskStory{submitting: e}
		case Submitted:
			if t := s.tasks[e.Value]; t != nil {
				t.submitted = true
			}
		case Learned:
			s.learn(e)
		case Withdrawn:
			s.withdraw(e)
		case Executing:
			s.execute(e)
		case Executed:
			s.end(e, func(x *execution) { x.completed = true })
		case Abandoned:
			s.end(e, func(x *execution) { x.abandoned = true })
		}
	}
	return s
}

// learn takes down that a client has a result.
func (s *story) learn(e variants.Event) {
	t := s.tasks[e.Value]
	switch {
	case t == nil:
		s.breaches = append(s.breaches, e.Violation("client %d learned the result of task %d, which was never submitted", e.Client, e.Value))
		return
	case len(t.executions) == 0:
		s.breaches = append(s.breaches, e.Violation("client %d learned the result of task %d, which nobody had executed", e.Client, e.Value))
	case t.learned != nil:
		s.breaches = append(s.breaches, e.Violation("client %d learned the result of task %d twice", e.Client, e.Value))
	}
	t.learned = &e
}

// withdraw excuses everybody from what a client has not learned.
func (s *story) withdraw(e variants.Event) {
	for _, t := range s.tasks {
		if t.submitting.Client == e.Client {
			t.withdrawn = true
		}
	}
}

// execute takes down that a worker has a task.
func (s *story) execute(e variants.Event) {
	t := s.tasks[e.Value]
	if t == nil {
		s.breaches = append(s.breaches, e.Violation("worker %d executed task %d, which was never submitted", e.Client, e.Value))
		return
	}
	t.executions = append(t.executions, &execution{Event: e})
}

// end takes down how a worker's last execution of a task ended.
func (s *story) end(e variants.Event, mark func(*execution)) {
	t := s.tasks[e.Value]
	if t == nil {
		return
	}
	for _, x := range slices.Backward(t.executions) {
		if x.Client == e.Client {
			mark(x)
			return
		}
	}
}

// again returns the executions of a task after the first one. That an execution was abandoned may show late, when its
// worker learns that its session is gone: those do not count, wherever they stand.
func (t *taskStory) again() (first *execution, later []*execution) {
	kept := slices.DeleteFunc(slices.Clone(t.executions), func(x *execution) bool { return x.abandoned })
	if len(kept) < 2 {
		return nil, nil
	}
	return kept[0], kept[1:]
}

// inOrder returns the tasks by their numbers.
func (s *story) inOrder() []int64 { return slices.Sorted(maps.Keys(s.tasks)) }

// duplicates finds the tasks that two workers executed, or one of them twice, unless the variant allows it.
func (s *story) duplicates() []variants.Violation {
	if s.atLeastOnce {
		return nil
	}
	var out []variants.Violation
	for _, number := range s.inOrder() {
		first, later := s.tasks[number].again()
		for _, x := range later {
			out = append(out, x.Violation("worker %d executed task %d, which worker %d had executed", x.Client, number, first.Client))
		}
	}
	return out
}

// losses finds the tasks of which the clients never learned the results.
func (s *story) losses() []variants.Violation {
	var out []variants.Violation
	for _, number := range s.inOrder() {
		t := s.tasks[number]
		if !t.submitted || t.withdrawn || t.learned != nil {
			continue
		}
		what := "was never executed"
		if len(t.executions) > 0 {
			what = "was executed, but its client never learned the result"
		}
		out = append(out, t.submitting.Violation("task %d of client %d %s", number, t.submitting.Client, what))
	}
	return out
}

// spans times the tasks, from end to end, and the duplicates among them.
func (s *story) spans() []variants.Span {
	var out []variants.Span
	for _, number := range s.inOrder() {
		t := s.tasks[number]
		if t.learned != nil {
			out = append(out, variants.Span{Phase: phaseTask, Client: t.learned.Client, Start: t.submitting.At, End: t.learned.At})
		}
		first, later := t.again()
		for _, x := range later {
			out = append(out, variants.Span{Phase: phaseDuplicate, Client: x.Client, Start: first.At, End: x.At})
		}
	}
	return out
}
