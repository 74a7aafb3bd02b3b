package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The roles of participants. All of them are workers, too.
const (
	roleMaster    = "master"
	roleWorker    = "worker"
	roleSubmitter = "submitter"
)

func (p *participant) Role() string {
	switch {
	case p.candidate != nil && p.candidate.elected.Load():
		return roleMaster
	case p.client != nil:
		return roleSubmitter
	default:
		return roleWorker
	}
}

func (p *participant) leads() bool {
	if p.master != nil {
		return p.master.due()
	}
	return p.candidate != nil && (p.candidate.elected.Load() || p.candidate.due())
}

// lead assigns tasks as a master, or tries to become one. If an assignment fails, the tasks that the master was about to assign may be
// executed twice. If the session is lost, the observer knows that.
func (p *participant) lead(ctx context.Context) error {
	if p.master == nil {
		if elected, err := p.candidate.run(ctx); err != nil || !elected {
			return err
		}
	}
	p.env.Record(Assigning, p.system.window)
	p.assigns.Store(true)
	err := p.assign(ctx)
	p.assigns.Store(false)
	if err != nil {
		if p.system.window > 0 && p.env.Session.Alive() == nil {
			p.env.Record(Doubtful, p.system.window)
		}
		return err
	}
	p.env.Record(Assigned, 0)
	p.env.Record(Resting, 0)
	return nil
}

func (p *participant) assign(ctx context.Context) error {
	if p.master != nil {
		_, err := p.master.Assign(ctx)
		return err
	}
	m, err := p.system.open(ctx, p.env.Session.Fork(), p.env.Root)
	if err == nil {
		p.master = m
	}
	return session.Attempted("take over as master", err)
}

// lifeBits is how many bits of a task's number are its number within the life of its client.
const lifeBits = 32

// submit submits a batch of tasks that carry their numbers.
func (p *participant) submit(ctx context.Context, batch int) error {
	first := int64(p.env.Life)<<lifeBits + p.submitted
	tasks := make([][]byte, batch)
	for i := range tasks {
		number := first + int64(i)
		tasks[i] = variants.DataOf(number)
		p.env.Record(Submitting, number)
		p.submitted++
	}
	if err := p.client.Submit(ctx, tasks); err != nil {
		return err
	}
	p.batch, p.learned = batch, 0
	for i := range tasks {
		p.env.Record(Submitted, first+int64(i))
	}
	return nil
}

// work executes the next task. When it is notified of the first, the worker is still busy with something else for
// as long as the scenario holds: in a lockstep run until the master has assigned all, so that it finds them in one listing.
func (p *participant) work(ctx context.Context) error {
	if !p.visiting {
		p.env.Record(Notified, 0)
		if err := p.env.Hold(ctx, nil); err != nil {
			return err
		}
		p.visiting = true
	}
	task, err := p.worker.Next(ctx)
	if err != nil {
		return err
	}
	if task == nil {
		p.visiting = false
		p.env.Record(Idle, 0)
		return nil
	}
	return p.execute(ctx, task)
}

func (p *participant) execute(ctx context.Context, task *Task) error {
	number := variants.NumberIn(task.Data)
	p.env.Record(Executing, number)
	if err := p.worker.Done(ctx, task.Data); err != nil {
		p.env.Record(Abandoned, number)
		return err
	}
	p.env.Record(Executed, number)
	return nil
}

func (p *participant) learns() bool { return p.batch > 0 && p.client.batch[p.learned].due() }

// learn looks for the next result of the batch, and finishes the batch after the last one. It does not wait for a
// result that is not there, as after a lost connection: this participant itself may have to execute the task.
func (p *participant) learn(ctx context.Context) error {
	task, err := p.client.lookAt(ctx, p.learned)
	if err != nil || !task.done {
		return err
	}
	number := variants.NumberIn(task.result)
	p.env.Record(Learned, number)
	if p.learned++; p.learned < p.batch {
		return nil
	}
	p.batch = 0
	return p.client.Finish(ctx)
}
