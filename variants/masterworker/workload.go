package masterworker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// What happens to tasks. The value is a task's number, if nothing else is said. These are exported for whoever casts the
// roles in another way than the workload does, and wants to hold what happened to the promise.
const (
	AtLeastOnce variants.EventKind = iota // the variant may execute a task twice
	Submitting                            // the client, just before
	Submitted                             // acknowledged
	Learned                               // the client has the task's result
	Withdrawn                             // the client gives up whatever it has not learned; no value
	Resting                               // the master has nothing to assign; no value
	Assigning                             // the master is told that there is; no value
	Assigned                              // the master has assigned all; no value
	Idle                                  // a worker has nothing to do; no value
	Told                                  // a worker is told that it has; no value
	Executing                             // a worker has the task
	Executed                              // its report was acknowledged
	Abandoned                             // it was not, and the worker gives up
)

// The phases.
const (
	phaseTask      = "task"
	phaseAssign    = "assign"
	phaseExecute   = "execute"
	phaseIdle      = "idle"
	phaseDuplicate = "duplicate"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseTask, Meaning: "from just before a batch is submitted until the client has a task's result", Waits: true, UntimedInLockstep: true},
		{Name: phaseAssign, Meaning: "what the master takes to assign all that is pending"},
		{Name: phaseExecute, Meaning: "what a worker takes to execute one task and report it"},
		{Name: phaseDuplicate, Meaning: "from a task's first execution until it is executed again", Of: phaseTask},
		{Name: phaseIdle, Meaning: "from when a master or a worker begins to wait for something to do until there is some", Waits: true, UntimedInLockstep: true},
	}
}

// share is how many tasks of a batch are each worker's: enough that it matters how many are assigned at once. The texts of
// the formulas contain this number.
const share = 10

// guarantee is what a variant promises of the number of a task's executions.
type guarantee bool

const (
	exactlyOnce guarantee = true
	atLeastOnce guarantee = false
)

// prepare makes the directories, those of the workers included: the first batch finds all of them.
func prepare(ctx context.Context, s variants.Session, env variants.Env) error {
	if err := Create(ctx, s, env.Root, nil); err != nil {
		return err
	}
	for i := range env.Clients {
		if err := ensure(ctx, s, layoutOf(env.Root).assign+"/"+workerName(i), nil); err != nil {
			return err
		}
	}
	return nil
}

func workerName(i int) string { return fmt.Sprintf("worker-%d", i) }

// participant is a worker. The first one is the master, too, and the last one the client, the same way for every variant.
type participant struct {
	env    variants.Env
	worker *Worker
	master Master  // nil at all but the first
	client *Client // nil at all but the last

	round     int // how many steps have been begun
	assigned  int // by the master, in all steps
	executed  int // by the worker
	submitted int64
}

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor and what it promises.
func join(promised guarantee, open func(context.Context, variants.Session, variants.Env) (Master, error)) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		p := &participant{env: env}
		if promised == atLeastOnce {
			env.Record(AtLeastOnce, 0)
		}
		var err error
		if p.worker, err = NewWorker(ctx, s, env.Root, workerName(env.Index), env.Lost); err != nil {
			return nil, fmt.Errorf("join as a worker: %w", err)
		}
		env.Record(Idle, 0)
		if env.Index == 0 {
			if p.master, err = open(ctx, s, env); err != nil {
				return nil, fmt.Errorf("take over as master: %w", err)
			}
			env.Record(Resting, 0)
		}
		if env.Index == env.Clients-1 {
			p.client = NewClient(s, env.Root, env.Lost)
		}
		return p, nil
	}
}

// Step implements [variants.Participant]: one batch of tasks, in which each participant does what is its to do. Nobody
// gets ahead of the others, as the client submits no batch before it has all results of the last one.
func (p *participant) Step(ctx context.Context) error {
	p.round++
	batch := share * p.env.Clients
	if p.client != nil {
		if err := p.submit(ctx, batch); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
	}
	if p.master != nil {
		for p.assigned < p.round*batch {
			if err := p.assign(ctx); err != nil {
				return fmt.Errorf("assign: %w", err)
			}
		}
	}
	for p.executed < p.round*share {
		if err := p.work(ctx); err != nil {
			return fmt.Errorf("execute: %w", err)
		}
	}
	if p.client != nil {
		if err := p.learn(ctx, batch); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
	}
	return nil
}

// submit submits a batch of tasks that carry their numbers.
func (p *participant) submit(ctx context.Context, batch int) error {
	first := p.submitted
	tasks := make([][]byte, batch)
	for i := range tasks {
		tasks[i] = binary.BigEndian.AppendUint64(nil, uint64(p.submitted))
		p.env.Record(Submitting, p.submitted)
		p.submitted++
	}
	if err := p.client.Submit(ctx, tasks); err != nil {
		return err
	}
	for number := first; number < p.submitted; number++ {
		p.env.Record(Submitted, number)
	}
	return nil
}

// assign waits for tasks and assigns them.
func (p *participant) assign(ctx context.Context) error {
	if err := p.master.Wait(ctx); err != nil {
		return err
	}
	p.env.Record(Assigning, 0)
	n, err := p.master.Assign(ctx)
	p.assigned += n
	if err != nil {
		return err
	}
	p.env.Record(Assigned, 0)
	p.env.Record(Resting, 0)
	return nil
}

// work waits for tasks and executes them. When it is told of the first, the worker is still busy with something else, for
// as long as the scenario holds: in a lockstep run until the master has assigned all, so that it finds them in one listing.
func (p *participant) work(ctx context.Context) error {
	if err := p.worker.Wait(ctx); err != nil {
		return err
	}
	p.env.Record(Told, 0)
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
		return err
	}
	for {
		task, ok, err := p.worker.Next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			p.env.Record(Idle, 0)
			return nil
		}
		if err := p.execute(ctx, task); err != nil {
			return err
		}
	}
}

// execute does what a task asks for, which is to return its number.
func (p *participant) execute(ctx context.Context, task Task) error {
	number, err := numberOf(task.Data)
	if err != nil {
		return err
	}
	p.env.Record(Executing, number)
	if err := p.worker.Done(ctx, task.Data); err != nil {
		p.env.Record(Abandoned, number)
		return err
	}
	p.env.Record(Executed, number)
	p.executed++
	return nil
}

// learn waits for the results of a batch.
func (p *participant) learn(ctx context.Context, batch int) error {
	for i := range batch {
		result, err := p.client.Result(ctx, i)
		if err != nil {
			return err
		}
		number, err := numberOf(result)
		if err != nil {
			return err
		}
		p.env.Record(Learned, number)
	}
	return p.client.Finish(ctx)
}

func numberOf(data []byte) (int64, error) {
	const length = 8
	if len(data) != length {
		return 0, fmt.Errorf("a task has %d bytes, want %d: nobody here has submitted it", len(data), length)
	}
	return int64(binary.BigEndian.Uint64(data)), nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	var err error
	if p.client != nil {
		p.env.Record(Withdrawn, 0)
		err = p.client.Finish(ctx)
	}
	if err = errors.Join(err, p.worker.Close(ctx)); errors.Is(err, variants.ErrSessionLost) {
		return nil
	}
	return err
}

// steppedCost is what one task costs, in a batch of share·N, with so many writes for an assignment.
func steppedCost(writes float64) variants.Cost {
	return variants.Cost{
		Requests:      perTask((5+writes)*share+2, 5),
		Writes:        perTask((1+writes)*share, 2),
		FailedWrites:  "0",
		Notifications: perTask(share+1, 1),
		HerdMax:       "1",
	}
}

// freeCost is what it costs at most when the workers list at their own pace. Alone, a worker lists when all is there.
func freeCost(writes float64) variants.Cost {
	free := steppedCost(writes)
	free.Requests = aloneOr(free.Requests, perTask((7+writes)*share, 5))
	free.Notifications = aloneOr(free.Notifications, perTask(2*share, 1))
	free.HerdMax = aloneOr(free.HerdMax, variants.Formula(fmt.Sprintf("%dN", share)))
	return free
}

// perTask is what a task costs if a batch costs so much for each worker, and so much besides.
func perTask(worker, batch float64) variants.Formula {
	return variants.Formula(fmt.Sprintf("%g + %g/N", worker/share, batch/share))
}

// aloneOr is one cost for N = 1 and another for more.
func aloneOr(alone, more variants.Formula) variants.Formula {
	return more + variants.Formula(fmt.Sprintf(" (%g for N=1)", alone.At(1)))
}
