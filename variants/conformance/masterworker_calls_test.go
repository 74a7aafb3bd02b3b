package conformance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/session"
)

// A master is cut off in the middle of an assignment. If the next one comes before the worker, it finds the task in
// both places, and corrects that.
func masterworkerTakesOverInTime(t *testing.T, s *masterworkerShop) {
	const tasks, fatal = 5, 2 // the second task is the first that two masters give to different workers
	workers := s.workers(t, 2)
	c, cable := cabled(t, s.venue, s.venue.shortest)
	var writes atomic.Int64 // that end an assignment
	m := s.master(t, c.handle.Through(hooked{c.conn, func(op, _ string) {
		if (op == "delete" || op == "multi") && writes.Add(1) == fatal {
			cable.unplug()
		}
	}}))
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	wantError(t, "Assign of a master that is cut off", errorOf(m.Assign(testContext(t))), session.ErrSessionLost)
	s.doubtOfADeadMaster(tasks)
	must(t, errorOf(s.newMaster(t).Assign(testContext(t))))
	s.execute(t, workers...)
	s.learn(t, customer, tasks)
	if duplicates := s.close(t, workers...); duplicates > 0 && s.variant.disambiguates() {
		t.Errorf("%d tasks were executed twice, although the new master could see that they were assigned", duplicates)
	}
}

// A master that was only slow assigns beside its successor.
func masterworkerSurvivesTwoMasters(t *testing.T, s *masterworkerShop) {
	const tasks = 20
	workers := s.workers(t, 3)
	masters := []*masterworker.Master{s.newMaster(t), s.newMaster(t)}
	customer := s.newClient(t, tasks)
	s.doubt(tasks)
	var wait sync.WaitGroup
	for _, m := range masters {
		wait.Go(func() {
			if err := m.Wait(testContext(t)); err != nil {
				t.Error(err)
			}
			if _, err := m.Assign(testContext(t)); err != nil && (!errors.Is(err, masterworker.ErrDeposed) || !s.variant.checked()) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	s.execute(t, workers...)
	s.learn(t, customer, tasks)
	if duplicates := s.close(t, workers...); s.variant.once && duplicates > 0 {
		t.Errorf("%d tasks were executed twice", duplicates)
	}
}

// A call that was cancelled while it waited can be repeated.
func masterworkerGoesOnAfterACancellation(t *testing.T, s *masterworkerShop) {
	const tasks = 3
	worker := s.worker(t, 0, clients(t, s.venue, 1)[0])
	sess := clients(t, s.venue, 1)[0].session()
	m := s.master(t, sess)
	mustCancel := func(what string, sess *session.Session, wait func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(testContext(t))
		ended := background(func() error { return wait(ctx) })
		eventually(t, what+" does not wait", func() bool {
			waits, _ := sess.Waiting()
			return waits != nil
		})
		cancel()
		wantError(t, what+" when cancelled", <-ended, context.Canceled)
	}
	mustCancel("Wait of the master", sess, m.Wait)
	mustCancel("Wait of the worker", worker.session, worker.Wait)
	sess = clients(t, s.venue, 1)[0].session()
	customer := s.submit(t, sess, tasks)
	mustCancel("Result", sess, func(ctx context.Context) error { return errorOf(customer.Result(ctx, 1)) })
	must(t, m.Wait(testContext(t)))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := m.Assign(cancelled); !errors.Is(err, context.Canceled) || n > 0 {
		t.Errorf("Assign assigned %d tasks (%v) when cancelled", n, err)
	}
	mustAssign(t, m, tasks)
	must(t, worker.Wait(testContext(t)))
	s.execute(t, worker)
	s.learn(t, customer, tasks)
	s.close(t, worker)
}

// A caller gets control back although the server does not answer at all. What it had begun is not lost.
func masterworkerHonoursADeadline(t *testing.T, s *masterworkerShop) {
	const tasks = 3
	c, cable := cabled(t, s.venue, ensemble.SessionTimeout)
	m, worker := s.master(t, c.session()), s.worker(t, 0, c)
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	cable.mustTimeOut(t, "Assign", func(ctx context.Context) error { _, err := m.Assign(ctx); return err })
	must(t, errorOf(m.Assign(testContext(t))))
	task := s.begin(t, worker)
	if task == nil {
		t.Fatal("the worker has no task")
	}
	cable.mustTimeOut(t, "Done", func(ctx context.Context) error { return worker.Done(ctx, task.Data) })
	if err := worker.Done(testContext(t), task.Data); err != nil && !errors.Is(err, masterworker.ErrNoTask) {
		t.Error(err)
	}
	s.execute(t, worker)
	s.learn(t, customer, tasks)
	s.close(t, worker)
}

// A client that gives up leaves nothing behind, wherever its tasks are.
func masterworkerWithdraws(t *testing.T, s *masterworkerShop) {
	worker := s.worker(t, 0, clients(t, s.venue, 1)[0])
	m := s.newMaster(t)
	first := s.newClient(t, 2)
	must(t, m.Wait(testContext(t)))
	mustAssign(t, m, 2)
	wantError(t, "Submit before Finish", first.Submit(testContext(t), nil), masterworker.ErrOutstanding)
	second := s.newClient(t, 2)
	s.record(0, masterworker.Withdrawn, 0)
	for _, c := range []*masterworker.Client{first, second} {
		if err := c.Finish(testContext(t)); err != nil {
			t.Error(err)
		}
		wantError(t, "Result after Finish", errorOf(c.Result(testContext(t), 0)), masterworker.ErrNoBatch)
	}
	s.execute(t, worker) // the reports find that no client waits for them
	wantError(t, "Done without a task", worker.Done(testContext(t), nil), masterworker.ErrNoTask)
	s.close(t, worker)
}

// Without workers tasks remain pending.
func masterworkerWantsWorkers(t *testing.T, s *masterworkerShop) {
	c := clients(t, s.venue, 1)[0]
	m := s.master(t, c.session())
	customer := s.newClient(t, 2)
	wantError(t, "Assign without workers", errorOf(m.Assign(testContext(t))), masterworker.ErrNoWorkers)
	workers := s.workers(t, 1)
	must(t, m.Wait(testContext(t)))
	catchUp(t, c, s.dir)
	mustAssign(t, m, 2)
	s.execute(t, workers...)
	s.learn(t, customer, 2)
	s.close(t, workers...)
}
