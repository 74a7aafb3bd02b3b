package conformance_test

import (
	"context"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/session"
)

type masterworkerVariant struct {
	name      string
	open      func(ctx context.Context, s *session.Session, dir string) (*masterworker.Master, error)
	newClient func(s *session.Session, dir string) *masterworker.Client
	newWorker func(ctx context.Context, s *session.Session, dir, name string) (*masterworker.Worker, error)
	once      bool // a task is assigned once, whichever client dies
	pipelined bool
}

func (v masterworkerVariant) label() string { return v.name }

// book reports whether clients and workers are the book's: tasks are doubled by lost replies, and statuses may remain.
func (v masterworkerVariant) book() bool { return strings.HasPrefix(v.name, "book") }

// checked reports whether a new master makes the clients create their tasks in another directory than before.
func (v masterworkerVariant) checked() bool { return v.name == "book-checked" }

// disambiguates reports whether a new master finds the tasks that are pending and assigned.
func (v masterworkerVariant) disambiguates() bool { return v.name != "book" }

var masterworkerVariants = []masterworkerVariant{
	{"create-then-delete", masterworker.CreateThenDelete, masterworker.NewClient, masterworker.NewWorker, false, false},
	{"create-then-delete-pipelined", masterworker.CreateThenDeletePipelined, masterworker.NewClient, masterworker.NewWorker, false, true},
	{"multi", masterworker.Multi, masterworker.NewClient, masterworker.NewWorker, true, false},
	{"multi-pipelined", masterworker.MultiPipelined, masterworker.NewClient, masterworker.NewWorker, true, true},
	{"book", masterworker.Book, masterworker.NewBookClient, masterworker.NewBookWorker, false, true},
	{"book-multi", masterworker.BookMulti, masterworker.NewBookClient, masterworker.NewBookWorker, true, true},
	{"book-checked", masterworker.BookChecked, masterworker.NewCheckedClient, masterworker.NewBookWorker, true, true},
}

type masterworkerCheck = func(t *testing.T, s *masterworkerShop)

// masterworkerChecks are what every variant must pass, on every ensemble.
var masterworkerChecks = []check[masterworkerCheck]{
	{"takes over before the worker has executed", masterworkerTakesOverInTime},
	{"survives two masters", masterworkerSurvivesTwoMasters},
	{"goes on after a cancellation", masterworkerGoesOnAfterACancellation},
	{"honours a deadline of a silent server", masterworkerHonoursADeadline},
	{"withdraws", masterworkerWithdraws},
	{"wants workers", masterworkerWantsWorkers},
}

func TestMasterWorker(t *testing.T) { onEmbedded(t, checkMasterWorkers) }

func checkMasterWorkers(t *testing.T, at place) {
	checkAll(t, at, masterworkerChecks, masterworkerVariants, func(t *testing.T, v venue, do masterworkerCheck, variant masterworkerVariant) {
		do(t, newMasterworkerShop(t, v, variant))
	})
}

// masterworkerShop is a place where roles can be given one by one, with a record of what happens in it.
type masterworkerShop struct {
	venue   venue
	variant masterworkerVariant
	dir     string
	epoch   time.Time

	mu          sync.Mutex
	history     variants.History
	resubmitted int // tasks that the client submitted once more
}

func newMasterworkerShop(t *testing.T, v venue, variant masterworkerVariant) *masterworkerShop {
	t.Helper()
	s := &masterworkerShop{venue: v, variant: variant, dir: directory(t, v), epoch: time.Now()}
	c := clients(t, v, 1)[0]
	must(t, masterworker.Create(testContext(t), c.session(), s.dir))
	t.Cleanup(func() { s.clear(t, c) })
	return s
}

// clear removes the directories, and reports an error if they still have anything that the variant promises to remove.
func (s *masterworkerShop) clear(t *testing.T, c *client) {
	for _, sub := range children(t, c, s.dir) {
		dir := path.Join(s.dir, sub)
		for _, name := range children(t, c, dir) {
			if sub != "status" || !s.variant.book() {
				t.Errorf("%s/%s is left", sub, name)
			}
			for _, task := range children(t, c, path.Join(dir, name)) {
				_ = c.conn.Delete(path.Join(dir, name, task), -1)
			}
			_ = c.conn.Delete(path.Join(dir, name), -1)
		}
		if err := c.conn.Delete(dir, -1); err != nil && sub != "master" { // whose session may have ended meanwhile
			t.Error(err)
		}
	}
}

func (s *masterworkerShop) record(client int, kind variants.EventKind, value int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, variants.Event{At: time.Since(s.epoch), Client: client, Kind: kind, Value: value})
}

// doubt records that so many tasks may be executed twice, if the variant does not assign each of them once.
func (s *masterworkerShop) doubt(tasks int) {
	if !s.variant.once {
		s.record(0, masterworker.Doubtful, int64(tasks))
	}
}

// doubtOfADeadMaster records how many of so many tasks may be executed twice because a master died.
func (s *masterworkerShop) doubtOfADeadMaster(tasks int) {
	if !s.variant.pipelined {
		tasks = 1
	}
	s.doubt(tasks)
}

// master takes over with the session that is given.
func (s *masterworkerShop) master(t *testing.T, sess *session.Session) *masterworker.Master {
	t.Helper()
	m, err := s.variant.open(testContext(t), sess, s.dir)
	must(t, err)
	return m
}

func (s *masterworkerShop) newMaster(t *testing.T) *masterworker.Master {
	t.Helper()
	return s.master(t, clients(t, s.venue, 1)[0].session())
}

func mustAssign(t testing.TB, m *masterworker.Master, want int) {
	t.Helper()
	if n, err := m.Assign(testContext(t)); err != nil || n != want {
		t.Errorf("%d tasks were assigned (%v), want %d", n, err, want)
	}
}

// masterworkerWorker is a worker with the session that it works in.
type masterworkerWorker struct {
	*masterworker.Worker
	client  *client
	session *session.Session
	number  int
}

func (s *masterworkerShop) worker(t *testing.T, number int, c *client) *masterworkerWorker {
	t.Helper()
	session := c.session()
	w, err := s.variant.newWorker(testContext(t), session, s.dir, "worker-"+string(rune('a'+number)))
	must(t, err)
	return &masterworkerWorker{w, c, session, number}
}

func (s *masterworkerShop) workers(t *testing.T, n int) []*masterworkerWorker {
	t.Helper()
	var workers []*masterworkerWorker
	for i, c := range clients(t, s.venue, n) {
		workers = append(workers, s.worker(t, i, c))
	}
	return workers
}

// begin lets a worker read its next task, the number of which is its data.
func (s *masterworkerShop) begin(t *testing.T, w *masterworkerWorker) *masterworker.Task {
	t.Helper()
	task, err := w.Next(testContext(t))
	must(t, err)
	if task != nil {
		s.record(w.number, masterworker.Executing, int64(task.Data[0]))
	}
	return task
}

// execute lets workers execute all their tasks.
func (s *masterworkerShop) execute(t *testing.T, workers ...*masterworkerWorker) {
	t.Helper()
	for _, w := range workers {
		catchUp(t, w.client, s.dir)
		for task := s.begin(t, w); task != nil; task = s.begin(t, w) {
			must(t, w.Done(testContext(t), task.Data))
			s.record(w.number, masterworker.Executed, int64(task.Data[0]))
		}
	}
}

// submit lets a new client submit tasks with the numbers from 0 on.
func (s *masterworkerShop) submit(t *testing.T, sess *session.Session, n int) *masterworker.Client {
	t.Helper()
	c := s.variant.newClient(sess, s.dir)
	c.Resubmitting = func() {
		s.record(0, masterworker.Doubtful, 1)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resubmitted++
	}
	var tasks [][]byte
	for i := range n {
		tasks = append(tasks, []byte{byte(i)})
		s.record(0, masterworker.Submitting, int64(i))
	}
	must(t, c.Submit(testContext(t), tasks))
	for i := range n {
		s.record(0, masterworker.Submitted, int64(i))
	}
	return c
}

func (s *masterworkerShop) newClient(t *testing.T, n int) *masterworker.Client {
	t.Helper()
	return s.submit(t, clients(t, s.venue, 1)[0].session(), n)
}

func (s *masterworkerShop) learn(t *testing.T, c *masterworker.Client, n int) {
	t.Helper()
	for i := range n {
		result, err := c.Result(testContext(t), i)
		must(t, err)
		s.record(0, masterworker.Learned, int64(result[0]))
	}
	must(t, c.Finish(testContext(t)))
}

// close lets the workers go, and checks the history against the promise. It returns how many executions were
// duplicates.
func (s *masterworkerShop) close(t *testing.T, workers ...*masterworkerWorker) int {
	t.Helper()
	closeAll(t, workers...)
	recipe := masterworker.Recipe()
	_, violations := recipe.Replay(s.history, true)
	for _, violation := range violations {
		t.Error(violation.Text)
	}
	return phasesIn(recipe, s.history)["duplicate"]
}

// A master that loses a reply is in doubt about one task, unless its variant assigns each of them once.
func TestMasterThatLosesAReplyIsInDoubt(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, masterworkerVariants, func(t *testing.T, v venue, variant masterworkerVariant) {
		dir, observer, cs := directory(t, v), clients(t, v, 1)[0], clients(t, v, 2)
		c := newCompany(t.Context(), variantOf(masterworker.Recipe(), variant.name), variants.Env{Clients: len(cs), Root: dir})
		count := func(kind variants.EventKind) (total int) {
			for _, e := range c.history() {
				if e.Kind == kind {
					total++
				}
			}
			return total
		}
		c.env.Hold = func(context.Context, <-chan struct{}) error { // the workers execute when all tasks are assigned
			eventually(t, "the master does not assign its tasks", func() bool { return count(masterworker.Assigned) > 0 })
			return nil
		}
		c.prepare(t, masterworker.Recipe(), observer)
		t.Cleanup(func() { (&masterworkerShop{dir: dir, variant: variant}).clear(t, observer) })
		c.joinAll(t, cs...)
		op := wire.OpCreate
		if variant.once {
			op = wire.OpMulti
		}
		trap := inject(embeddedServer(t, v), cs[0], op, embedded.DropAfter)
		c.mustStep(t, 1)
		mustHaveFired(t, trap)
		_, violations := masterworker.Recipe().Replay(c.history(), true)
		for _, violation := range violations {
			t.Error(violation.Text)
		}
		if doubtful := count(masterworker.Doubtful); doubtful > 0 == variant.once {
			t.Errorf("the master was in doubt %d times", doubtful)
		}
		c.leave(t)
	})
}
