package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// root is the znode below which the recipe works.
const root = "/run"

// run is one run of a plan, within a bubble. Its mutex is never held during a wait.
type run struct {
	plan    Plan
	recipe  variants.Recipe
	variant variants.Variant
	server  *embedded.Server
	epoch   time.Time
	stop    context.CancelFunc
	clients []*client
	deal    func([]variants.Placed) [][]variants.Placed // splits the events among several workers; nil for one

	joined, done *gate
	sessions     sync.Map    // func() bool by session: reports whether its client leads another life
	belated      atomic.Bool // a write of a client's former life has taken effect in its next one
	over         chan struct{}

	mu       sync.Mutex
	lives    []*life       // in the order in which they began
	struck   bool          // a client has died or lost its session
	idle     time.Duration // how long no step had been completed when the run was found to hang; zero if it did not
	lines    []string      // of the story; nil unless it is told
	telling  bool
	out      Outcome
	advanced time.Time // when a step was completed last
	asked    int       // requests since advanced
}

// gate opens when a number of clients have arrived.
type gate struct {
	missing int // guarded by the run's mutex
	open    chan struct{}
}

func newGate(n int) *gate { return &gate{missing: n, open: make(chan struct{})} }

// count counts one more client that has joined for the first time, or has taken all its steps.
func (r *run) count(g *gate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.missing--; g.missing == 0 {
		close(g.open)
	}
}

// await returns true when a gate opens, and false when the client's session is lost or the run ends before.
func (r *run) await(ctx context.Context, g *gate, lost <-chan struct{}) bool {
	select {
	case <-g.open:
		return true
	case <-lost:
	case <-ctx.Done():
	}
	return false
}

// record appends an event of a client's life: otherwise if the channel is closed, else kind. A client that has died records nothing.
func (r *run) record(client int, l *life, closed <-chan struct{}, kind, otherwise variants.EventKind, value int64) (recorded bool) {
	seen, shown, next := l.link.ledger.Sight() // first, because the ledger's tap locks the run
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.dead != nil {
		return false
	}
	if session.IsClosed(closed) {
		kind = otherwise
	}
	e := variants.Event{At: time.Since(r.epoch), Client: client, Kind: kind, Value: value}
	l.places.Add(e, seen, shown, next)
	if kind == variants.Died {
		l.dead = make(chan struct{})
	}
	r.struck = r.struck || kind == variants.SessionLost || kind == variants.Died
	if r.telling {
		r.tell(client, r.describe(e))
	}
	return true
}

func (r *run) progress(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advanced, r.asked = time.Now(), 0
	r.out.Longest = max(r.out.Longest, Duration(took))
}

// isVoid reports, after a minute in which each client learns of the loss of its session, whether a session was lost:
// then it ends the run.
func (r *run) isVoid(ctx context.Context) bool {
	_ = variants.WaitFor(ctx, time.Minute, nil, nil)
	r.mu.Lock()
	struck := r.struck
	r.mu.Unlock()
	if struck && ctx.Err() == nil {
		r.void()
	}
	return struck || ctx.Err() != nil
}

func (r *run) void() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Void = true
	r.stop()
}

func (r *run) find(class Class, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(class, time.Since(r.epoch), fmt.Sprintf(format, args...))
}

// The caller of add holds the mutex, or nothing else runs.
func (r *run) add(class Class, at time.Duration, text string) {
	r.out.Findings = append(r.out.Findings, Finding{class, Duration(at), text})
}

// The bounds of a run: how long no step may be completed after the last fault, and how many requests may be made without one.
const (
	patience     = 2 * time.Minute
	mostRequests = 50_000
)

func (r *run) perform() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.stop, r.epoch, r.over = cancel, time.Now(), make(chan struct{})
	r.advanced = r.epoch
	r.server = embedded.Memory(embedded.Config{
		Tick: tick, Voters: len(r.plan.Lag), Expiry: time.Duration(r.plan.Expiry), Ordered: r.ordered,
	})
	admin, conn := r.admin()
	if err := r.prepare(ctx, admin); err != nil {
		r.find(Broken, "prepare: %v", err)
		cancel()
	}
	for i, lag := range r.plan.Lag { // all servers have applied what was prepared
		r.server.Members()[i].Lag(time.Duration(lag))
	}
	r.joined, r.done = newGate(r.plan.Clients), newGate(r.plan.Clients)
	var living sync.WaitGroup
	for i := range r.plan.Clients {
		r.clients = append(r.clients, r.newClient(i))
	}
	for _, c := range r.clients {
		living.Go(func() { c.live(ctx) })
	}
	ended := make(chan struct{})
	go func() { living.Wait(); close(ended) }()
	completed := r.watch(ctx, ended)
	r.close(ctx, ended, admin, completed)
	conn.Close()
	time.Sleep(lastWaits)
	_ = r.server.Close()
}

func (r *run) ordered(session int64) {
	if former, known := r.sessions.Load(session); known && former.(func() bool)() {
		r.belated.Store(true)
	}
}

func (r *run) admin() (*session.Session, *zk.Conn) {
	turn := 0
	conn := connect(20*tick, func(network, address string, _ time.Duration) (net.Conn, error) {
		turn++
		conn, err := r.server.Members()[turn%len(r.server.Members())].DialContext(context.Background(), network, address)
		if err != nil {
			return nil, err
		}
		return dial.Impatient(conn, 2*tick), nil
	}, func(zk.Event) {})
	return session.NewSession(conn, nil), conn
}

func (r *run) newClient(index int) *client {
	c := &client{
		run: r, index: index, awaited: map[string]chan struct{}{},
		random: rand.New(rand.NewPCG(r.plan.Seed, uint64(index)<<32|1<<31)), //nolint:gosec // to be repeated
	}
	for i, f := range r.plan.Faults {
		if f.Client == index && !f.Then {
			c.due = append(c.due, i)
		}
	}
	return c
}

func (r *run) prepare(ctx context.Context, admin *session.Session) error {
	err := admin.Ensure(ctx, root, nil, 0)
	if err == nil && r.recipe.Prepare != nil {
		err = r.recipe.Prepare(ctx, r.env(admin))
	}
	return err
}

func (r *run) env(admin *session.Session) variants.Env {
	return variants.Env{Clients: r.plan.Clients, Size: r.recipe.UsualSize(), Root: root, Session: admin}
}

// watch returns true when all clients have taken their steps and left, and false when they never will.
func (r *run) watch(ctx context.Context, ended <-chan struct{}) bool {
	patience := patience
	for _, f := range r.plan.Faults {
		patience = max(patience, 2*time.Duration(f.For))
	}
	for _, lag := range r.plan.Lag { // a write takes as long, and a step may take many, one after the other
		patience = max(patience, 1000*time.Duration(lag))
	}
	for {
		select {
		case <-ended:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
		r.mu.Lock()
		idle, asked := time.Since(r.advanced), r.asked
		r.mu.Unlock()
		switch {
		case asked > mostRequests:
			r.find(Livelock, "%d requests have been made since the last step was completed: %s", asked, r.activities())
			return false
		case idle > patience:
			r.find(Hang, "no step has been completed for %s although no fault is left: %s", patience, r.activities())
			r.idle = idle
			return false
		}
	}
}

func (r *run) activities() string {
	var s string
	for _, c := range r.clients {
		s += fmt.Sprintf("; client %d is %s", c.index, c.activity())
	}
	return s[2:]
}

// lastWaits is longer than any background wait of a client that has ended, as when the client library is closing.
const lastWaits = 5 * time.Minute

// close ends the rest of a run, checks the history, and counts the orphans.
func (r *run) close(ctx context.Context, ended <-chan struct{}, admin *session.Session, completed bool) {
	r.stop()
	close(r.over)
	select {
	case <-ended:
	case <-time.After(lastWaits):
		r.find(Leak, "a client does not end when its context does: %s", r.activities())
	}
	r.replay(completed)
	r.recover()
	time.Sleep(time.Duration(r.plan.Session) + 3*tick) // the sessions of the dead have ended
	if !completed || r.recipe.Orphans == nil || r.forgone(variants.Orphans) {
		return
	}
	orphans, err := r.recipe.Orphans(context.WithoutCancel(ctx), r.env(admin))
	if err != nil || orphans > 0 {
		r.find(Orphaned, "%d orphans are left when all clients have left (%v)", orphans, err)
	}
}

func (r *run) lose(loss variants.Loss, amount int64) {
	r.out.Lost[loss] = loss.Sum(r.out.Lost[loss], amount)
}

// forgone reports whether the variant forgoes a loss. Only a client that fails may lose items, tear reads, or leave its
// group. A group cannot distinguish a belated write of a member from the writes of its present life.
func (r *run) forgone(l variants.Loss) bool {
	if l == variants.OutOfStep && r.belated.Load() {
		return true
	}
	if !r.struck && (l == variants.ItemsLost || l == variants.TornReads || l == variants.OutOfStep) {
		return r.variant.ForgoneAlways(l)
	}
	return r.variant.Forgone(l)
}

// mayWaitInVain reports whether clients may be kept waiting by members that have taken all their steps: if the group
// has come as far during the steps of the clients that wait, if all have failed since and begun anew, or if the variant
// lets members be ahead. A loss that the variant forgoes may keep them waiting, too: an item that is lost, or values
// that stay torn. A hang that has another reason besides is not found.
func (r *run) mayWaitInVain() bool {
	finished := r.done.missing < r.plan.Clients
	forgetful := slices.ContainsFunc(r.clients, func(c *client) bool { return c.forgetful })
	return r.done.missing == 0 || forgetful || finished && r.forgone(variants.OutOfStep) ||
		r.recipe.Collective && r.out.Lost[variants.ItemsLost] > 0 ||
		r.out.Lost[variants.TornReads] > 0 && !r.variant.ForgoneAlways(variants.TornReads)
}

func (r *run) replay(completed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out.Void {
		return
	}
	fingerprint := fnv.New64()
	o := r.recipe.NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { r.add(Violation, v.At, v.Text) },
		Damage: func(d variants.Damage) {
			if d.Loss.IsBreach() && !r.forgone(d.Loss) {
				r.add(Class(d.Loss), d.At, d.Text)
			} else {
				r.lose(d.Loss, d.Amount)
			}
		},
	})
	var events []variants.Placed
	for _, l := range r.lives {
		events = l.places.Take(events, math.MaxInt64)
	}
	workers := [][]variants.Placed{events}
	if r.deal != nil {
		workers = r.deal(events)
	}
	for _, e := range variants.HistoryOf(workers...) {
		_ = binary.Write(fingerprint, binary.LittleEndian, [...]int64{int64(e.At), int64(e.Client), int64(e.Kind), e.Value})
		o.Observe(e)
	}
	if completed || r.idle > 0 && r.recipe.Collective && r.forgone(variants.ItemsLost) {
		o.Complete()
	}
	if r.idle > 0 && r.mayWaitInVain() {
		r.out.Findings = slices.DeleteFunc(r.out.Findings, func(f Finding) bool { return f.Class == Hang })
		r.lose(variants.Blocked, int64(r.idle))
	}
	r.out.Fingerprint = fingerprint.Sum64()
}
