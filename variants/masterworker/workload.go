package masterworker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	"github.com/zkbench/zkbench/variants"
)

// What happens to tasks. The value is the number of a task unless the comment says otherwise. The kinds are exported for
// programs that assign the roles in another way than the workload does, and check the promise.
const (
	Doubtful   variants.EventKind = iota // a master died or lost replies; value: how many tasks more may be executed twice
	Submitting                           // the client, just before
	Submitted                            // acknowledged
	Learned                              // the client has the task's result
	Withdrawn                            // the client gives up what it has not learned; no value
	Resting                              // the master has nothing to assign; no value
	Assigning                            // the master is notified of tasks; no value
	Assigned                             // the master has assigned all; no value
	Idle                                 // a worker has nothing to do; no value
	Notified                             // a worker is notified of tasks; no value
	Executing                            // a worker has the task
	Executed                             // its report was acknowledged
	Abandoned                            // it was not, and the worker gives up
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
		{Name: phaseAssign, Meaning: "from when the master is notified of tasks until it has assigned all of them"},
		{Name: phaseExecute, Meaning: "from when a worker has read a task until its report is acknowledged"},
		{Name: phaseDuplicate, Meaning: "from a task's first execution until it is executed again", Of: phaseTask},
		{Name: phaseIdle, Meaning: "from when a master or a worker begins to wait for something to do until there is some", Waits: true, UntimedInLockstep: true},
	}
}

// share is how many tasks each worker gets in a batch: enough that it matters how many are assigned at once. The texts of
// the formulas contain this number.
const share = 10

// prepare creates the directories, those of the workers included: the first batch finds all of them.
func prepare(ctx context.Context, env variants.Env) error {
	if err := Create(ctx, env.Session, env.Root); err != nil {
		return err
	}
	for i := range env.Clients {
		if err := env.Session.Ensure(ctx, path.Join(layoutOf(env.Root).assign, workerName(i)), nil, 0); err != nil {
			return err
		}
	}
	return nil
}

func workerName(i int) string { return fmt.Sprintf("worker-%d", i) }

// participant is a worker. The first one is also the master and the last one also the client, the same way for every variant.
type participant struct {
	env    variants.Env
	worker *Worker
	master Master  // nil for all but the first
	client *Client // nil for all but the last
	window int64   // how many tasks may be executed twice after an Assign that failed

	round     int // how many steps have been begun
	assigned  int // by the master, in all steps
	executed  int // by the worker
	submitted int64
}

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor. window is how many tasks may be executed twice if a master dies.
func join[M Master](open func(context.Context, *variants.Session, string) (M, error), window int64) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		p := &participant{env: env, window: window}
		var err error
		if p.worker, err = NewWorker(ctx, env.Session, env.Root, workerName(env.Index)); err != nil {
			return nil, fmt.Errorf("join as a worker: %w", err)
		}
		env.Record(Idle, 0)
		if env.Index == 0 {
			if p.master, err = open(ctx, env.Session.Fork(), env.Root); err != nil {
				return nil, fmt.Errorf("take over as master: %w", err)
			}
			env.Record(Resting, 0)
		}
		if env.Index == env.Clients-1 {
			p.client = NewClient(env.Session.Fork(), env.Root)
		}
		return p, nil
	}
}

// Step implements [variants.Participant]: one batch of tasks, in which each participant plays its roles one after another.
// No participant gets ahead of the others, because the client submits no batch before it has all results of the last one.
func (p *participant) Step(ctx context.Context) error {
	p.round++
	batch := share * p.env.Clients
	if p.client != nil {
		if err := p.submit(ctx, batch); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
	}
	for p.master != nil && p.assigned < p.round*batch {
		if err := p.assign(ctx); err != nil {
			return fmt.Errorf("assign: %w", err)
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
	outages := p.env.Session.Outages()
	n, err := p.master.Assign(ctx)
	p.assigned += n
	p.doubt(p.env.Session.Outages()-outages, err)
	if err != nil {
		return err
	}
	p.env.Record(Assigned, 0)
	p.env.Record(Resting, 0)
	return nil
}

// doubt records how many tasks may be executed twice after an Assign: one for each reply that was lost and, if the master
// failed, those that it was about to assign.
func (p *participant) doubt(outages int64, err error) {
	if err != nil {
		outages += p.window
	}
	if p.window > 0 && outages > 0 {
		p.env.Record(Doubtful, outages)
	}
}

// work waits for tasks and executes them. When it is notified of the first, the worker is still busy with something else for
// as long as the scenario holds: in a lockstep run until the master has assigned all, so that it finds them in one listing.
func (p *participant) work(ctx context.Context) error {
	if err := p.worker.Wait(ctx); err != nil {
		return err
	}
	p.env.Record(Notified, 0)
	if err := p.env.Hold(ctx, nil); err != nil {
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

// execute executes a task, whose result is its number.
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
		return 0, fmt.Errorf("a task has %d bytes, want %d: it is not a task of this workload", len(data), length)
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

// lockstepCost returns the cost of one task, in a batch of share·N tasks.
func lockstepCost(requests, writes variants.Formula) variants.Cost {
	return variants.Cost{
		Requests: requests, Writes: writes, FailedWrites: "0",
		Notifications: "1.1 + 0.1/N", HerdMax: "1",
	}
}

// freeCost returns the upper bound of a task's cost when the workers list in closed mode. A single worker lists once, when
// all tasks are there.
func freeCost(requests, writes variants.Formula) variants.Cost {
	return variants.Cost{
		Requests: requests, Writes: writes, FailedWrites: "0",
		Notifications: "2 + 0.1/N (1.2 for N=1)", HerdMax: "10N (1 for N=1)",
	}
}
