package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants/session"
)

// applyLockstep lets clients act one at a time, so that no two changes fire the same watch and the counts are exact:
//
//  1. Start: the runner lets a client begin its only step, and waits for rest before it starts the next client.
//  2. Rest: docs/glossary.md defines when a client is at rest. The runner sends syncs on sessions that lag behind, so that
//     no notification is still on its way.
//  3. Hold: a client that has acquired what its recipe grants, such as a lock, waits in its hold. It is then a holder.
//  4. Asked: in some recipes another client can ask a holder to continue. An asked holder continues before the next start.
//  5. Turn: when all clients have started, the holders continue one at a time, asked ones first. Before each turn, the
//     runner waits for rest.
//
// Counting begins before the first start. Requests by which clients join and leave the recipe are not counted.
func (m *measurement) applyLockstep(ctx context.Context) (o observation, err error) {
	l := &lockstep{measurement: m, working: map[*pool.Client]bool{}}
	l.pool = m.crew.only().Pool
	l.pool.Hold = l.hold
	for _, c := range l.pool.Clients {
		c.Ledger.KeepWrites()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		o, err = l.drive(ctx, group)
		return err
	})
	err = group.Wait()
	return o, err
}

type lockstep struct {
	*measurement
	pool    *pool.Pool
	mu      sync.Mutex
	working map[*pool.Client]bool // clients that have started, do not hold, and have not completed their step
	holding []*holder             // in the order of their turns
	ranked  int                   // the number of holders, from the first one, whose order is final
	writes  []string              // of all clients since they were last at rest; only used by rest
	heap    *results.Heap         // nil if the scenario does not ask for it
}

// holder is a client that waits in its hold for its turn.
type holder struct {
	*pool.Client
	turn     chan struct{}   // closed when the holder's turn comes
	asked    <-chan struct{} // closed when another client asks the holder to continue; nil if no client can
	notified int             // the number of notifications that the client had received when it began to hold
}

// cutShort reports whether another client has asked the holder to continue, or the holder's session is lost.
func (h *holder) cutShort() bool { return session.IsClosed(h.asked) || h.Over() }

func (l *lockstep) drive(ctx context.Context, group *errgroup.Group) (observation, error) {
	if l.scenario.Heap { // before any client starts
		var err error
		l.heap = &results.Heap{}
		if l.heap.Before, l.heap.Watches, err = l.readHeaps(ctx); err != nil {
			return observation{}, err
		}
	}
	if err := l.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	l.stream.openWindow()
	if err := l.lineUp(ctx, group); err != nil {
		return observation{}, err
	}
	if err := l.heapsAfter(ctx); err != nil {
		return observation{}, err
	}
	if err := l.serve(ctx, l.first); err != nil {
		return observation{}, err
	}
	if stuck := l.progress(); len(stuck) > 0 {
		return observation{}, stuck[0].client.Explain(fmt.Errorf("it waits although no client holds: %w", ErrStuck))
	}
	l.stream.closeWindow()
	o, err := l.observeAtRest(ctx)
	o.heap = l.heap
	return o, err
}

// lineUp starts the clients one at a time, each when its server has caught up, and waits for rest after each start. Holders that are
// cut short continue before the next client starts.
func (l *lockstep) lineUp(ctx context.Context, group *errgroup.Group) error {
	for _, c := range l.pool.Clients {
		if err := l.catchUp(ctx, c); err != nil {
			return err
		}
		l.start(ctx, group, c)
		if err := l.rest(ctx); err != nil {
			return err
		}
		if err := l.serve(ctx, l.firstCutShort); err != nil {
			return err
		}
	}
	return nil
}

// serve gives holders their turns one at a time. It calls next for each holder, until next returns nil.
func (l *lockstep) serve(ctx context.Context, next func() *holder) error {
	for h := next(); h != nil; h = next() {
		if err := l.letGo(ctx, h); err != nil {
			return err
		}
		if err := l.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rank sorts the holders that began to hold since the last call by their ids. Otherwise their order, and with it the counts, would
// depend on which goroutine was the fastest.
func (l *lockstep) rank() {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.holding[l.ranked:], func(a, b *holder) int { return cmp.Compare(a.ID, b.ID) })
	l.ranked = len(l.holding)
}

func (l *lockstep) start(ctx context.Context, group *errgroup.Group, c *pool.Client) {
	l.mu.Lock()
	l.working[c] = true
	l.mu.Unlock()
	group.Go(func() error {
		err := c.Participant.Step(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.working, c)
		if err == nil {
			l.stepped.Add(1)
		}
		return c.Explain(err)
	})
}

func (l *lockstep) hold(ctx context.Context, c *pool.Client, life *pool.Life, asked <-chan struct{}) error {
	h := &holder{c, make(chan struct{}), asked, c.Ledger.Notified()}
	l.mu.Lock()
	delete(l.working, c)
	l.holding = append(l.holding, h)
	l.mu.Unlock()
	select {
	case <-h.turn:
		return life.Pause(ctx, asked, l.scenario.Hold)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lockstep) letGo(ctx context.Context, h *holder) error {
	if err := l.catchUp(ctx, h.Client); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.holding, h)
	l.holding = slices.Delete(l.holding, i, i+1)
	if i < l.ranked {
		l.ranked--
	}
	l.working[h.Client] = true
	close(h.turn)
	return nil
}

// catchUp returns when a client's server has applied the latest transaction. Otherwise the client's requests depend on how far its server
// lags behind: a client that does not find a znode that another one has just created, for example, asks again.
func (l *lockstep) catchUp(ctx context.Context, c *pool.Client) error {
	if latest := l.pool.Latest(); c.Ledger.LastZxid() < latest {
		return c.Fence(ctx, latest)
	}
	return nil
}

// first returns the holder whose turn is next: the first that is cut short, or else the first; nil if no client holds.
func (l *lockstep) first() *holder {
	return cmp.Or(l.firstCutShort(), l.firstThat(func(*holder) bool { return true }))
}

func (l *lockstep) firstCutShort() *holder { return l.firstThat((*holder).cutShort) }

func (l *lockstep) firstThat(is func(*holder) bool) *holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.holding, is); i >= 0 {
		return l.holding[i]
	}
	return nil
}

// rest returns when the clients that are at work or can be asked to continue are at rest.
//
// A session that has not received the latest zxid is fenced if a write since the last rest may have fired its watch, because the
// notification may still be on its way. A session that has been notified since its last request is fenced too, because the client
// library may not have passed the notification on. Other sessions need no fence, so that a step does not take as many syncs as
// there are clients. After a herd, most sessions need none: each has read something to set its watch again. The clients are at
// rest if none is active after the fences, and none has made progress since before the fences.
func (l *lockstep) rest(ctx context.Context) error {
	for {
		for _, p := range l.progress() {
			if err := l.awaitRest(ctx, p); err != nil {
				return err
			}
		}
		before := l.progress()
		latest := l.pool.Latest()
		for _, c := range l.pool.Clients {
			l.writes = c.Ledger.TakeWrites(l.writes)
		}
		var behind []*pool.Client
		for _, p := range before {
			if ledger := p.client.Ledger; ledger.Disturbed() || ledger.LastZxid() < latest && ledger.MayNotify(l.writes) {
				behind = append(behind, p.client)
			}
		}
		if err := pool.Each(behind, func(c *pool.Client) error { return c.Fence(ctx, latest) }); err != nil {
			return err
		}
		if after := l.progress(); slices.Equal(after, before) && !slices.ContainsFunc(after, progress.active) {
			l.writes = l.writes[:0]
			l.rank()
			return nil
		}
	}
}

// progress says how far a client has come that is at work, or that holds and can be asked to continue. If two values are
// equal, the client has neither received a notification nor begun a wait in between.
type progress struct {
	client        *pool.Client
	held          *holder // nil for a client at work
	waits         int64   // the number of waits for a watch that the client has begun
	notifications int
}

// active reports whether the client still has to act on a reply or a notification. A holder that has received a
// notification during its hold is active until that notification has made another goroutine ask it to continue.
func (p progress) active() bool {
	if p.held == nil {
		return !p.client.AtRest()
	}
	return !p.held.cutShort() && p.client.Ledger.Notified() != p.held.notified
}

func (l *lockstep) progress() []progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	askable := map[*pool.Client]*holder{}
	for _, h := range l.holding {
		if h.asked != nil {
			askable[h.Client] = h
		}
	}
	var all []progress
	for _, c := range l.pool.Clients {
		held := askable[c]
		if l.working[c] || held != nil {
			_, waits := c.Session.Waiting()
			all = append(all, progress{c, held, waits, c.Ledger.Notified()})
		}
	}
	return all
}

func (l *lockstep) atWork(c *pool.Client) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.working[c]
}

// awaitRest returns when a client is no longer active. Its limit grows with the scenario's size, because steps do too.
func (l *lockstep) awaitRest(ctx context.Context, p progress) error {
	patience := l.patience * time.Duration(max(l.scenario.Size, 1))
	deadline := time.Now().Add(patience)
	for p.active() && (p.held != nil || l.atWork(p.client)) {
		if time.Now().After(deadline) {
			return p.client.Explain(fmt.Errorf("it did not come to rest within %s: %w", patience, ErrStuck))
		}
		if err := pool.Sleep(ctx, pool.SettlePoll); err != nil {
			return err
		}
	}
	return nil
}

// heapReadings is how many times the heaps are read in a row. Their differences show how exact a single reading is.
const heapReadings = 3

// heapsAfter measures when all clients have lined up. Meanwhile the servers collect garbage and do not answer requests.
func (l *lockstep) heapsAfter(ctx context.Context) error {
	if l.heap == nil || l.heap.Why != "" {
		return nil
	}
	l.stream.mark(true, func(at time.Duration, _ wire.Counts) { l.stream.recorder.Freeze(at) })
	defer l.stream.mark(true, func(at time.Duration, _ wire.Counts) { l.stream.recorder.Thaw(at) })
	readings, watches, err := l.readHeaps(ctx)
	l.heap.After, l.heap.Watches = readings, watches-l.heap.Watches
	return err
}

// readHeaps reads the heaps several times, and the number of watches. If they cannot be read, the result says why, and the run continues.
func (l *lockstep) readHeaps(ctx context.Context) (readings []int64, watches int64, err error) {
	meter, ok := l.Ensemble.(ensemble.HeapMeter)
	if !ok {
		l.heap.Why = "these servers do not report how much of their heaps is in use"
		return nil, 0, nil
	}
	for range heapReadings {
		used, err := meter.HeapUsed(ctx)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err != nil {
			l.heap.Why = err.Error()
			return nil, 0, nil //nolint:nilerr // the result gives the reason
		}
		readings = append(readings, used)
	}
	for _, server := range l.Ensemble.Servers() {
		counters, err := ensemble.Monitor(ctx, server)
		if err != nil {
			l.heap.Why = err.Error()
			return nil, 0, nil //nolint:nilerr // the result gives the reason
		}
		watches += counters["zk_watch_count"]
	}
	return readings, watches, nil
}
