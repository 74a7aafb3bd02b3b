package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
)

// masterworkerDeath is how a master dies in the middle of its third assignment.
type masterworkerDeath int

const (
	masterworkerCloses      masterworkerDeath = iota // before the last write of the assignment, with its session
	masterworkerIsCutOff                             // there, and never comes back
	masterworkerLosesAReply                          // after the first write of it, and never comes back
)

// masterworkerDoomed is the session of a master that will die.
type masterworkerDoomed struct {
	*zk.Conn
	death  masterworkerDeath
	cable  *cable
	writes atomic.Int64 // that may be the fatal one
	dead   atomic.Bool
}

// fatal tells whether a write is the third one of its kind.
func (d *masterworkerDoomed) fatal() bool { return d.writes.Add(1) == 3 }

// before dies before a write, and returns how that fails.
func (d *masterworkerDoomed) before() error {
	if d.death != masterworkerLosesAReply && d.fatal() {
		d.dead.Store(d.death == masterworkerCloses)
		if d.death == masterworkerCloses {
			d.Close()
		}
		d.cable.unplug()
	}
	if d.dead.Load() {
		return zk.ErrSessionExpired // to each request of a dead master
	}
	return nil
}

// after dies after a write, so that its reply is lost.
func (d *masterworkerDoomed) after(err error) error {
	if d.death == masterworkerLosesAReply && d.fatal() {
		d.cable.unplug()
		return zk.ErrConnectionClosed
	}
	return err
}

func (d *masterworkerDoomed) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := d.Conn.Create(path, data, flags, acl)
	return created, d.after(err)
}

func (d *masterworkerDoomed) Delete(path string, version int32) error {
	if err := d.before(); err != nil {
		return err
	}
	return d.Conn.Delete(path, version)
}

func (d *masterworkerDoomed) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if err := d.before(); err != nil {
		return nil, err
	}
	results, err := d.Conn.Multi(ops...)
	return results, d.after(err)
}

// masterworkerDies lets a master die while it assigns tasks.
func masterworkerDies(t *testing.T, s *masterworkerShop, death masterworkerDeath, tasks int) *masterworker.Client {
	t.Helper()
	c, cable := cabled(t, s.venue, s.venue.shortest)
	doomed := &masterworkerDoomed{Conn: c.conn, death: death, cable: cable}
	m := s.master(t, c.handle.Through(doomed))
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	if _, err := m.Assign(testContext(t)); !errors.Is(err, variants.ErrSessionLost) {
		t.Fatalf("a master that dies is told %v, want ErrSessionLost", err)
	}
	s.doubtOfADeadMaster(tasks)
	return customer
}

// A master dies in the middle of an assignment. The workers execute what they have, and then another one takes over, which
// cannot tell a task that was both assigned and pending from a new one.
func masterworkerSurvivesAMaster(t *testing.T, s *masterworkerShop, death masterworkerDeath) {
	const tasks = 5
	workers := s.workers(t, 2)
	customer := masterworkerDies(t, s, death, tasks)
	s.execute(t, workers...)
	must(t, errorOf(s.newMaster(t).Assign(testContext(t))))
	s.execute(t, workers...)
	s.learn(t, customer, tasks)
	duplicates := s.close(t, workers...)
	switch {
	case s.variant.once && duplicates > 0, duplicates > tasks:
		t.Errorf("%d tasks were executed twice", duplicates)
	case !s.variant.once && duplicates == 0:
		t.Error("no task was executed twice: the test tests nothing")
	}
}

// If the next master comes before the worker, it finds the task in both places, and puts that in order.
func masterworkerTakesOverInTime(t *testing.T, s *masterworkerShop) {
	const tasks = 5
	workers := s.workers(t, 2)
	customer := masterworkerDies(t, s, masterworkerIsCutOff, tasks)
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
	masters := []masterworker.Master{s.newMaster(t), s.newMaster(t)}
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

// A worker dies while it waits, and one while it executes a task. The master assigns their tasks again.
func masterworkerSurvivesAWorker(t *testing.T, s *masterworkerShop) {
	const tasks = 6
	expiring, cable := cabled(t, s.venue, s.venue.shortest)
	dying := []*masterworkerWorker{s.worker(t, 0, expiring), s.worker(t, 1, clients(t, s.venue, 1)[0])}
	third := s.worker(t, 2, clients(t, s.venue, 1)[0])
	waiting := background(func() error { return dying[0].Wait(testContext(t)) })
	awaitWaiting(t, dying[0].client)
	m := s.newMaster(t)
	cable.unplug()
	wantError(t, "Wait without a session", <-waiting, variants.ErrSessionLost)
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	must(t, errorOf(m.Assign(testContext(t))))
	catchUp(t, dying[1].client, s.dir)
	task, ok := s.begin(t, dying[1])
	if !ok {
		t.Fatal("a worker has no task")
	}
	dying[1].client.Close()
	s.record(1, masterworker.Abandoned, int64(task.Data[0]))
	s.assignUntil(t, m, third)
	s.learn(t, customer, tasks)
	if duplicates := s.close(t, third); duplicates > 0 {
		t.Errorf("%d tasks were executed twice, besides the one that a worker died of", duplicates)
	}
}

// assignUntil lets the master assign and workers execute until there is no other worker, and no task left.
func (s *masterworkerShop) assignUntil(t *testing.T, m masterworker.Master, workers ...*masterworkerWorker) {
	t.Helper()
	c := clients(t, s.venue, 1)[0]
	eventually(t, "dead workers are not noticed", func() bool {
		must(t, errorOf(m.Assign(testContext(t))))
		s.execute(t, workers...)
		return len(children(t, c, path.Join(s.dir, "assign"))) == len(workers)
	})
	must(t, errorOf(m.Assign(testContext(t))))
	s.execute(t, workers...)
}

func masterworkerReportsALostSession(t *testing.T, s *masterworkerShop) {
	c, cable := cabled(t, s.venue, s.venue.shortest)
	workers := s.workers(t, 1)
	m, customer := s.master(t, c.session()), s.variant.newClient(c.session(), s.dir)
	waiting := background(func() error { return m.Wait(testContext(t)) })
	awaitWaiting(t, c)
	cable.unplug()
	wantError(t, "Wait without a session", <-waiting, variants.ErrSessionLost)
	wantError(t, "Assign without a session", errorOf(m.Assign(testContext(t))), variants.ErrSessionLost)
	wantError(t, "Submit without a session", customer.Submit(testContext(t), [][]byte{{0}}), variants.ErrSessionLost)
	s.close(t, workers...)
}

// The connection of each role is cut once around its write. No role takes notice.
func masterworkerRecovers(t *testing.T, s *masterworkerShop, fault fault) {
	const tasks = 3
	var cs []*client
	var cutters []*cutter
	for range 3 {
		c, cutter := cutOnce(t, s.venue, fault)
		cs, cutters = append(cs, c), append(cutters, cutter)
	}
	worker := s.worker(t, 0, cs[0])
	m := s.master(t, cs[1].session())
	cutters[2].arm()
	customer := s.submit(t, cs[2].session(), tasks)
	must(t, m.Wait(testContext(t)))
	cutters[1].arm()
	if n, err := m.Assign(testContext(t)); err != nil || n < tasks || n > tasks+s.resubmitted {
		t.Errorf("%d tasks were assigned (%v), want %d and up to %d that were submitted once more", n, err, tasks, s.resubmitted)
	}
	must(t, worker.Wait(testContext(t))) // so that no watch is armed when it is cut
	catchUp(t, cs[0], s.dir)
	cutters[0].arm()
	s.execute(t, worker)
	s.learn(t, customer, tasks)
	if duplicates := s.close(t, worker); duplicates > s.resubmitted {
		t.Errorf("%d tasks were executed twice, and %d were submitted once more", duplicates, s.resubmitted)
	}
}

// A call that was cancelled while it waited can be repeated.
func masterworkerGoesOnAfterACancellation(t *testing.T, s *masterworkerShop) {
	const tasks = 3
	worker := s.worker(t, 0, clients(t, s.venue, 1)[0])
	session := clients(t, s.venue, 1)[0].session()
	m := s.master(t, session)
	mustCancel := func(what string, session *variants.Session, wait func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(testContext(t))
		ended := background(func() error { return wait(ctx) })
		eventually(t, what+" does not wait", func() bool {
			waits, _ := session.Waiting()
			return waits != nil
		})
		cancel()
		wantError(t, what+" when cancelled", <-ended, context.Canceled)
	}
	mustCancel("Wait of the master", session, m.Wait)
	mustCancel("Wait of the worker", worker.session, worker.Wait)
	session = clients(t, s.venue, 1)[0].session()
	customer := s.submit(t, session, tasks)
	mustCancel("Result", session, func(ctx context.Context) error { return errorOf(customer.Result(ctx, 1)) })
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
	task, ok := s.begin(t, worker)
	if !ok {
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

// Wherever a master's session is expired by force, before or after each of its writes, another one can take over.
func TestMasterWorkerMasterExpiresAnywhere(t *testing.T) {
	t.Parallel()
	for _, variant := range masterworkerVariants {
		ops := []wire.Opcode{wire.OpMulti}
		if !variant.once {
			ops = []wire.Opcode{wire.OpCreate, wire.OpDelete}
		}
		for _, op := range ops {
			for _, do := range []embedded.Action{embedded.ExpireBefore, embedded.ExpireAfter} {
				when := []string{embedded.ExpireBefore: "before", embedded.ExpireAfter: "after"}[do]
				bubbles.run(t, fmt.Sprint(variant.name, " ", op, " ", when), func(t *testing.T, v venue) {
					masterworkerExpires(t, newMasterworkerShop(t, v, variant), op, do)
				})
			}
		}
	}
}

func masterworkerExpires(t *testing.T, s *masterworkerShop, op wire.Opcode, do embedded.Action) {
	const tasks = 5
	workers := s.workers(t, 2)
	c := clients(t, s.venue, 1)[0]
	m := s.master(t, c.session())
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	trap := s.venue.Ensemble.(*embedded.Ensemble).Inject(embedded.Fault{Session: c.conn.SessionID(), Op: op, Nth: 3, Do: do})
	wantError(t, "a master whose session expired", errorOf(m.Assign(testContext(t))), variants.ErrSessionLost)
	<-trap.Fired()
	s.doubtOfADeadMaster(tasks)
	s.execute(t, workers...)
	must(t, errorOf(s.newMaster(t).Assign(testContext(t))))
	s.execute(t, workers...)
	s.learn(t, customer, tasks)
	if duplicates := s.close(t, workers...); s.variant.once && duplicates > 0 {
		t.Errorf("%d tasks were executed twice", duplicates)
	}
}

// masterworkerCareless is the session of a master that takes the second task from the pending ones and assigns it to no worker.
type masterworkerCareless struct {
	*zk.Conn
	assigned atomic.Int64
}

func (c *masterworkerCareless) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if c.assigned.Add(1) == 2 {
		return path, nil
	}
	return c.Conn.Create(path, data, flags, acl)
}

func (c *masterworkerCareless) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if c.assigned.Add(1) == 2 {
		ops = ops[:1]
	}
	return c.Conn.Multi(ops...)
}

// The check must be able to fail: a master that loses a task.
func TestMasterThatLosesATaskIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range masterworkerVariants {
		if variant.pipelined { // which task is lost would be left to chance
			continue
		}
		bubbles.run(t, variant.name, func(t *testing.T, v venue) {
			s := newMasterworkerShop(t, v, variant)
			workers := s.workers(t, 2)
			c := clients(t, v, 1)[0]
			m := s.master(t, c.handle.Through(&masterworkerCareless{Conn: c.conn}))
			customer := s.newClient(t, 3)
			mustAssign(t, m, 3)
			s.execute(t, workers...)
			s.learn(t, customer, 3, 1)
			closeAll(t, workers...)
			mustBreak(t, masterworker.Recipe(), s.history, "was never executed")
		})
	}
}

// Nor may a master pass for one that assigns once if it does not.
func TestMasterThatAssignsTwiceIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range masterworkerVariants {
		if variant.once {
			continue
		}
		bubbles.run(t, variant.name, func(t *testing.T, v venue) {
			s := newMasterworkerShop(t, v, variant)
			masterworkerSurvivesAMaster(t, s, masterworkerCloses)
			boasting := slices.DeleteFunc(s.history, func(e variants.Event) bool { return e.Kind == masterworker.Doubtful })
			mustBreak(t, masterworker.Recipe(), boasting, "had executed")
		})
	}
}

// masterworkerGullible is the session of a client that takes an empty status for a result.
type masterworkerGullible struct{ *zk.Conn }

func (g masterworkerGullible) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	_, stat, watch, err := g.Conn.GetW(path)
	if stat != nil {
		stat.Version = 1
	}
	return []byte{0}, stat, watch, err
}

// Nor may a client learn a result that no worker has found.
func TestClientThatLearnsTooEarlyIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		s := newMasterworkerShop(t, v, masterworkerVariants[2])
		worker := s.worker(t, 0, clients(t, v, 1)[0])
		m := s.newMaster(t)
		c := clients(t, v, 1)[0]
		customer := s.submit(t, c.handle.Through(masterworkerGullible{c.conn}), 1)
		s.learn(t, customer, 1)
		must(t, m.Wait(testContext(t)))
		mustAssign(t, m, 1)
		s.execute(t, worker)
		closeAll(t, worker)
		mustBreak(t, masterworker.Recipe(), s.history, "no worker had executed")
	})
}
