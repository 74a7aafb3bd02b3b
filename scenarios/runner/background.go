package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/variants"
)

// The background before the load.
const (
	// aloneLength is how long the background runs alone. Its latencies in this time are what its slowdown is a multiple of.
	aloneLength = 2 * time.Second
	// aloneTries is how often it runs alone until it keeps up. A pause of a server delays it once, and a rate that is too high
	// delays it more and more.
	aloneTries = 3
	// alonePoll is the time between two such moments.
	alonePoll = 10 * time.Millisecond
)

// maxOutstanding bounds the requests of all sessions that are sent and not answered, and with them the memory. Further requests
// stay due, and are sent as soon as earlier ones are answered.
const maxOutstanding = 2000

// errSaturated is the error of a load that was not applied, because the background alone saturates the ensemble.
var errSaturated = errors.New("the background alone saturates the ensemble")

// kind is a kind of request of the background.
type kind int

const (
	backgroundRead kind = iota
	backgroundWrite
	kinds // their number
)

// The stretches of a measurement whose requests are reported.
const (
	aloneStretch  = iota // before the load
	windowStretch        // the window
	stretches            // their number
)

// background is the load of sessions that take no part in the recipe. They read and write znodes of their own at fixed rates. Each
// request is sent when it is due, even if earlier ones are unanswered: no request is left out. They set no watches, so that the
// recipe's notifications stay exact.
//
// It is on between the two snapshots at rest: start begins it after the first one, and drain ends it before the last one. A nil
// background does nothing.
type background struct {
	load   results.BackgroundLoad
	epoch  time.Time
	znodes []string
	data   []byte        // of each write
	alone  time.Duration // see aloneLength

	each     []*backgroundSession
	plans    [kinds]schedule
	until    atomic.Int64  // requests that are due from then on are not sent
	stopping chan struct{} // closed when until has been set
	halt     context.CancelFunc
	wait     sync.WaitGroup

	mu         sync.Mutex // guards what follows
	started    bool
	drained    bool
	done       [kinds]int64                  // answered or failed
	stretches  [stretches]*backgroundStretch // nil before they begin
	current    *backgroundStretch            // nil between two stretches
	saturation bool
}

// backgroundSession is one session of the background.
type backgroundSession struct {
	conn   *zk.Conn
	ledger *wire.Ledger
	slots  chan struct{} // holds one element for each outstanding request; its capacity is their bound
}

// backgroundStretch is a part of the measurement whose requests are reported.
type backgroundStretch struct {
	start, end time.Duration // the end is the largest number while it lasts
	backlogMax int64
	kinds      [kinds]struct {
		answered, failed  int64
		response, service results.LiveHistogram
	}
}

// newBackground returns the background of a measurement; nil if the scenario has none.
func newBackground(load *results.BackgroundLoad, znodes []string, alone time.Duration) *background {
	if load == nil {
		return nil
	}
	return &background{load: *load, znodes: znodes, data: make([]byte, load.Bytes), alone: alone, stopping: make(chan struct{})}
}

// open opens the sessions, on the servers in turn.
func (b *background) open(ctx context.Context, epoch time.Time, servers []ensemble.Server) error {
	if b == nil {
		return nil
	}
	b.epoch = epoch
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	bound := max(maxOutstanding/b.load.Sessions, 1)
	for i := range b.load.Sessions {
		s := &backgroundSession{ledger: wire.NewLedger(epoch), slots: make(chan struct{}, bound)}
		var err error
		if s.conn, err = ensemble.Connect(ctx, servers[i%len(servers)], s.ledger, nil); err != nil {
			b.closeSessions()
			return fmt.Errorf("session %d of the background: %w", i, err)
		}
		b.each = append(b.each, s)
	}
	return nil
}

// start begins to send, and returns when the background has run alone for long enough. The error is errSaturated if the ensemble
// does not keep up with it.
func (b *background) start(ctx context.Context) error {
	if b == nil {
		return nil
	}
	b.begin(context.WithoutCancel(ctx)) // until close
	defer b.leave()
	for range aloneTries {
		b.enter(aloneStretch) // a trial in which it did not keep up, such as because of a pause, is not reported
		if kept, err := b.runAlone(ctx); kept || err != nil {
			return err
		}
	}
	b.saturation = true
	return errSaturated
}

// runAlone lets the background run alone once, and reports whether it keeps up at some moment of the second half.
//
// Note: at the end alone, a machine that is short of CPU may just have been delayed. Between delays it keeps up, and a background that
// is too much for the servers never does.
func (b *background) runAlone(ctx context.Context) (kept bool, err error) {
	before, start := b.progress(), time.Now()
	if err := sleep(ctx, b.alone/2); err != nil {
		return false, err
	}
	for {
		kept = kept || b.progress().keepsUp(before)
		left := b.alone - time.Since(start)
		if left <= 0 {
			return kept, nil
		}
		if err := sleep(ctx, min(alonePoll, left)); err != nil {
			return false, err
		}
	}
}

// begin starts a goroutine for the reads and one for the writes of each session.
func (b *background) begin(ctx context.Context) {
	ctx, b.halt = context.WithCancel(ctx)
	b.until.Store(math.MaxInt64)
	start := time.Since(b.epoch)
	b.started = true
	for k, rate := range b.rates() {
		if rate == 0 {
			continue
		}
		b.plans[k] = newSchedule(start, rate, float64(k)/float64(kinds))
		for i := range b.each {
			b.wait.Go(func() { b.send(ctx, kind(k), i) })
		}
	}
}

// rates returns the requests per second of each kind.
func (b *background) rates() [kinds]int {
	return [kinds]int{backgroundRead: b.load.Reads, backgroundWrite: b.load.Writes}
}

// send sends the requests of a kind that are a session's turn, each when it is due.
func (b *background) send(ctx context.Context, k kind, session int) {
	s := b.each[session]
	for i := session; ; i += len(b.each) {
		due := b.plans[k].due(i)
		err := variants.WaitFor(ctx, due-time.Since(b.epoch), b.stopping, nil)
		if err != nil || due >= time.Duration(b.until.Load()) {
			return
		}
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		path := b.znodes[i%len(b.znodes)]
		b.wait.Go(func() {
			defer func() { <-s.slots }()
			sent := time.Since(b.epoch)
			err := b.request(s.conn, k, path)
			if ctx.Err() == nil {
				b.record(k, due, sent, err)
			}
		})
	}
}

func (b *background) request(conn *zk.Conn, k kind, path string) error {
	if k == backgroundRead {
		_, _, err := conn.Get(path)
		return err
	}
	_, err := conn.Set(path, b.data, -1)
	return err
}

// record counts a request that has been answered or has failed. The time is taken under the mutex, so that it belongs to the
// current stretch.
func (b *background) record(k kind, due, sent time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.epoch)
	b.measureBacklog(now)
	b.done[k]++
	if b.current != nil && err == nil {
		b.current.kinds[k].answered++
	}
	for _, s := range b.stretches {
		if s == nil || due < s.start || due >= s.end {
			continue
		}
		if err != nil {
			s.kinds[k].failed++
			continue
		}
		s.kinds[k].response.Add(now - due)
		s.kinds[k].service.Add(now - sent)
	}
}

// due returns how many requests of a kind are due before a time.
func (b *background) due(k kind, before time.Duration) int64 {
	plan := b.plans[k]
	before = min(before, time.Duration(b.until.Load()))
	if plan.interval == 0 || before <= plan.start {
		return 0
	}
	return int64((before-plan.start-1)/plan.interval) + 1
}

// measureBacklog updates the largest backlog of the current stretch. The mutex is locked.
func (b *background) measureBacklog(now time.Duration) {
	if b.current == nil {
		return
	}
	var backlog int64
	for k := range kinds {
		backlog += b.due(k, now) - b.done[k]
	}
	b.current.backlogMax = max(b.current.backlogMax, backlog)
}

// backgroundProgress is how far the background has come at a time.
type backgroundProgress struct{ due, done [kinds]int64 }

func (b *background) progress() backgroundProgress {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := backgroundProgress{done: b.done}
	now := time.Since(b.epoch)
	for k := range kinds {
		p.due[k] = b.due(k, now)
	}
	return p
}

// keepsUp reports whether since an earlier time nearly as many requests of each kind were answered as were due, or the backlog has
// not grown.
func (p backgroundProgress) keepsUp(before backgroundProgress) bool {
	for k := range kinds {
		offered, achieved := p.due[k]-before.due[k], p.done[k]-before.done[k]
		if float64(achieved) < doubts.KeptUp*float64(offered) && p.due[k]-p.done[k] > before.due[k]-before.done[k] {
			return false
		}
	}
	return true
}

// enter begins a stretch.
func (b *background) enter(which int) {
	if b == nil || !b.started {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = &backgroundStretch{start: time.Since(b.epoch), end: math.MaxInt64}
	b.stretches[which] = b.current
}

// leave ends the current stretch.
func (b *background) leave() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current == nil {
		return
	}
	b.current.end = time.Since(b.epoch)
	b.measureBacklog(b.current.end)
	b.current = nil
}

// counts returns the sum of all sessions' counts.
func (b *background) counts() wire.Counts {
	var total wire.Counts
	if b != nil {
		for _, s := range b.each {
			total.Add(s.ledger.Counts())
		}
	}
	return total
}

// close ends what is left of the background, and its sessions.
func (b *background) close() {
	if b == nil {
		return
	}
	if b.halt != nil {
		b.halt()
	}
	b.closeSessions() // ends the requests under way
	b.wait.Wait()
}

func (b *background) closeSessions() {
	var closing sync.WaitGroup
	for _, s := range b.each {
		closing.Go(s.conn.Close)
	}
	closing.Wait()
}

// saturates reports whether the ensemble did not keep up with the background alone.
func (b *background) saturates() bool { return b != nil && b.saturation }
