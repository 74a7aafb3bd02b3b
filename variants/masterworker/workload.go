package masterworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// What happens to tasks. The value is the number of a task unless the comment says otherwise. The kinds are exported for
// programs that assign the roles in another way than the workload does, and check the promise.
const (
	Doubtful   variants.EventKind = iota // a master died or lost replies; value: how many tasks more may be executed twice
	Submitting                           // the client, just before
	Submitted                            // acknowledged
	Learned                              // the client has the task's result
	Withdrawn                            // the client gives up the results that it has not learned; no value
	Resting                              // the master has nothing to assign; no value
	Assigning                            // the master is notified of tasks, of workers, or takes over; value: as Doubtful, if it dies now
	Assigned                             // the master has assigned all; no value
	Idle                                 // a worker has nothing to do; no value
	Notified                             // a worker is notified of tasks; no value
	Executing                            // a worker has the task
	Executed                             // its report was acknowledged
	Abandoned                            // its report was not acknowledged, and the worker gives up
	Stepwise                             // a worker begins that reports in two steps: one more task may be executed twice if it dies; no value
)

const (
	phaseTask      = "task"
	phaseIdle      = "idle"
	phaseDuplicate = "duplicate"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseTask, Waits: true, UntimedInLockstep: true,
			Meaning: "from just before a batch is submitted until the client has a task's result"},
		{Name: "assign", From: Assigning, To: Assigned, Meaning: "from when the master is notified of tasks until it has assigned all of them"},
		{Name: "execute", From: Executing, To: Executed, Meaning: "from when a worker has read a task until its report is acknowledged"},
		{Name: phaseDuplicate, Meaning: "from a task's first execution until it is executed again", Of: phaseTask},
		{Name: phaseIdle, From: Idle, To: Notified, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a master or a worker begins to wait for something to do until there is some"},
	}
}

// share is how many tasks each worker gets in a batch: enough that it matters how many are assigned at once. The texts of
// the formulas contain this number.
const share = 10

// fewest is how many participants there must be for the client not to be a candidate for master, so that a fault can be
// aimed at either.
const fewest = 3

// participant is a worker. The last one is also the client, the same way for every variant. The others are candidates
// for master, the last one only if there are fewer than three. The first one is master until it fails.
//
// A participant acts only in its steps. A step of the client is one batch of tasks. A step of any other participant
// lasts as long as the batch does, or as long as its own session: which tasks it gets depends on which others are
// alive.
type participant struct {
	env       variants.Env
	system    system
	worker    *Worker
	candidate *candidate // nil if it is not a candidate
	master    *Master    // nil until it has taken over
	client    *Client    // nil for all but the last
	batches   *batches   // of the client
	taken     int64      // the number of the first batch in which it has not taken its part

	assigns   atomic.Bool
	visiting  bool  // the worker executes the tasks that it was notified of
	submitted int64 // tasks
	learned   int   // of the present batch
	batch     int   // size of the present batch; 0 for none
}

var (
	_ variants.Refresher = (*participant)(nil)
	_ variants.Roled     = (*participant)(nil)
	_ variants.Rounded   = (*participant)(nil)
)

type system struct {
	open      func(ctx context.Context, s *session.Session, dir string) (*Master, error) // of a master that takes over
	newClient func(s *session.Session, dir string) *Client
	window    int64 // how many tasks may be executed twice if a master dies, or an Assign fails
	book      bool  // the client submits the tasks of a batch one by one, and a worker reports in two steps
}

func join(s system) variants.JoinFunc {
	var runs sync.Map // of *batches, by root, which is new in each measurement: they stay, a few words each
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		all, _ := runs.LoadOrStore(env.Root, &batches{present: newBatch(0)})
		p := &participant{env: env, system: s, batches: all.(*batches)}
		p.taken = p.batches.next()
		if env.Index < env.Clients-1 || env.Clients < fewest {
			p.candidate = &candidate{session: env.Session.Fork(), znode: layoutOf(env.Root).master}
		}
		return p, p.join(ctx)
	}
}

// join registers the worker. The first participant contends for mastership at once, the others when they act for the
// first time.
func (p *participant) join(ctx context.Context) (err error) {
	p.env.Session.WhenUnknown(func() { // a master that has lost a reply may die: a task may be executed twice
		if p.system.window > 0 && p.assigns.Load() {
			p.env.Record(Doubtful, 1)
		}
	})
	name := fmt.Sprintf("worker-%d-life-%d", p.env.Index, p.env.Life)
	if p.worker, err = newWorker(ctx, p.env.Session, p.env.Root, name, p.system.book); err != nil {
		return fmt.Errorf("join as a worker: %w", err)
	}
	if p.system.book {
		p.env.Record(Stepwise, 0)
	}
	p.env.Record(Idle, 0)
	if p.env.Index == p.env.Clients-1 {
		p.client = p.system.newClient(p.env.Session.Fork(), p.env.Root)
		p.client.Resubmitting = func() { p.env.Record(Doubtful, 1) }
	}
	if p.env.Index == 0 {
		return p.lead(ctx)
	}
	return nil
}

func (p *participant) Refresh(ctx context.Context) error {
	for p.leads() {
		if err := p.lead(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *participant) Round() int64 { return p.taken }

// A step is one batch of tasks.
func (p *participant) Step(ctx context.Context) error {
	step := p.serve
	if p.client != nil {
		step = p.commission
	}
	err := step(ctx)
	if err == nil {
		p.taken++
	}
	return err
}

// commission is the step of the client. It ends when the others have ended theirs: in a lockstep run, the runner would
// otherwise count one of them as a client that waits in vain.
func (p *participant) commission(ctx context.Context) error {
	err := session.Attempted("submit", p.submit(ctx, share*p.env.Clients))
	for err == nil && (p.visiting || p.batch > 0) {
		err = p.play(ctx, ctx)
	}
	if err != nil { // withdraw the batch, so that the next step can submit another one
		ctx, cancel := session.Cleanup(ctx)
		defer cancel()
		p.env.Record(Withdrawn, 0)
		p.batch = 0
		return errors.Join(err, p.client.Finish(ctx))
	}
	return p.batches.end(ctx)
}

// serve is the step of a participant that only serves: it ends with the batch, at once if that is over.
func (p *participant) serve(ctx context.Context) error {
	b := p.batches.enter(p.taken)
	if b == nil {
		return p.env.Session.Alive()
	}
	defer b.serving.Done()
	waiting, cancel := session.UntilLost(ctx, b.over, func() error { return context.Canceled })
	defer cancel()
	for p.visiting || !session.IsClosed(b.over) {
		if err := p.play(ctx, waiting); err != nil && (ctx.Err() != nil || waiting.Err() == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
	}
	return nil
}

// play does one thing that is due, as a master, as a worker or as the client. If nothing is, it waits. If the tasks of a batch come one by
// one, a master that is notified of the first is busy for as long as the scenario holds: in a lockstep run until the client has submitted
// all, so that it finds them in one listing.
func (p *participant) play(ctx, waiting context.Context) error {
	switch {
	case p.leads():
		if p.system.book && p.master != nil {
			if err := p.env.Hold(ctx, nil); err != nil {
				return err
			}
		}
		if err := p.lead(ctx); err != nil {
			return fmt.Errorf("assign: %w", err)
		}
	case p.visiting || p.worker.due():
		if err := p.work(ctx); err != nil {
			return fmt.Errorf("execute: %w", err)
		}
	case p.learns():
		return session.Attempted("learn", p.learn(ctx))
	default:
		return p.await(waiting)
	}
	return nil
}

func (p *participant) await(ctx context.Context) error {
	watches := []*session.Watch{p.worker.inbox.watch}
	switch {
	case p.master != nil:
		watches = append(watches, p.master.watches()...)
	case p.candidate != nil:
		watches = append(watches, p.candidate.watch)
	}
	if p.batch > 0 {
		watches = append(watches, p.client.batch[p.learned].watch)
	}
	return p.env.Session.Await(ctx, watches...)
}

// A master leaves its znode to the end of its session.
func (p *participant) Leave(ctx context.Context) (err error) {
	if p.client != nil {
		p.env.Record(Withdrawn, 0)
		err = p.client.Finish(ctx)
	}
	return errors.Join(err, p.worker.Close(ctx))
}

// batches lets the participants of a run end their steps together, when the client has the results of its batch: how many of its tasks
// a worker gets may be left to chance. They synchronize within the process, which costs no request.
type batches struct {
	mu      sync.Mutex
	present *batch
}

type batch struct {
	number  int64
	over    chan struct{}  // closed when the client has the results
	serving sync.WaitGroup // the steps of others that have begun
}

func newBatch(number int64) *batch { return &batch{number: number, over: make(chan struct{})} }

func (b *batches) next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present.number
}

// enter begins a participant's step in a batch, which the caller ends with serving.Done. It returns nil if that batch is over.
func (b *batches) enter(number int64) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number < b.present.number {
		return nil
	}
	b.present.serving.Add(1)
	return b.present
}

// end ends the present batch, and returns when the steps of others that have begun in it have ended.
func (b *batches) end(ctx context.Context) error {
	b.mu.Lock()
	last := b.present
	b.present = newBatch(last.number + 1)
	b.mu.Unlock()
	close(last.over)
	served, done := context.WithCancel(ctx)
	go func() {
		defer done()
		last.serving.Wait()
	}()
	<-served.Done()
	return ctx.Err()
}

// perTask returns the cost of a task in a batch of share·N tasks. In closed mode, it is an upper bound for when tasks, and assignments,
// are found one by one. A single worker lists once, when all tasks are there.
func perTask(requests, writes, notifications, herd variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: writes, FailedWrites: "0", Notifications: notifications, HerdMax: herd}
}
