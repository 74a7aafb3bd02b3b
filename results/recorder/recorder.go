// Package recorder turns the events of one measurement into a [results.Document] while the measurement runs.
//
// Its memory does not depend on how long the measurement lasts. A [Recorder] keeps distributions, counts, herds that may still grow, long
// gaps between two completed operations, and short excerpts for the timelines. It keeps no list of all operations, notifications or reads.
//
// Moments are time.Durations since the start of the measurement. A stretch is the time from one moment to another.
package recorder

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// MaxViolations is the largest number of violations that a document lists; others are only counted.
const MaxViolations = 100

// Config describes a measurement before its first event.
type Config struct {
	Phase        string          // the recipe's first phase, which the series has over time
	Operation    string          // the phase whose end completes an operation
	Waiting      []string        // the phases in which a client waits for notifications
	Collective   bool            // all clients complete an operation together
	Series       bool            // a step has several operations, which begin one after another before the first one ends
	Named        bool            // the servers are known to name the transaction in each notification
	Workers      int             // how many processes have the clients, each with a clock of its own
	Clients      int             // how many clients are expected; higher ids are allowed
	WindowLength time.Duration   // as planned: the window may end earlier; 0 if it is not known in advance
	Stages       []time.Duration // how long the stages of the window last; none if the load does not change
	Open         bool            // operations arrive at a rate

	Faulty bool     // the scenario has faults
	Losses []string // that the recipe can have
}

// never is a time before every event.
const never = time.Duration(math.MinInt64)

// Recorder takes the events of one measurement in order of time: a span at its end, a notification at its arrival, and
// a read at its completion. All methods must be called from one goroutine. The last call is Close or CloseFailed.
type Recorder struct {
	config Config
	window window
	frozen []stretch // in which zkbench paused the servers

	warmUp, measured map[string]*results.LiveHistogram // by phase
	clients          []clientState                     // by id
	clocks           map[string]*clocks                // by phase; unused with one worker
	useful           int64                             // notifications that let a client proceed
	unfinished       []wait                            // waits that outlasted the window

	notified  map[string]int64 // in the window, by type
	unnamed   int64            // the number of notifications in the window that named no transaction
	herds     []*herds         // by grouping; without guessed ones on servers that are known to name transactions
	nextSweep time.Duration
	peak      peak

	reads    serverReads // of the window
	stalls   stalls
	recent   recent
	timeline middle
	series   series
	seconds  seconds
	traffic  *Traffic // of the latest call of Traffic; nil before it
	failures failures
	open     open

	violations     []results.Violation
	moreViolations int64
}

type clientState struct {
	notified, earlier time.Duration // the arrivals of the latest notification and of the one before it; never without one
}

// clocks has the spans of one phase in the window by whether both ends are on one clock.
type clocks struct {
	results.Across // without Within
	within         results.LiveHistogram
}

// New returns a Recorder for one measurement. The warm-up lasts until OpenWindow is called.
func New(c Config) *Recorder {
	r := &Recorder{
		config: c, nextSweep: never, violations: []results.Violation{}, notified: map[string]int64{},
		warmUp: map[string]*results.LiveHistogram{}, measured: map[string]*results.LiveHistogram{}, clocks: map[string]*clocks{},
		window: window{
			stretch: stretch{ahead, ahead},
			stages:  list.Map(c.Stages, func(planned time.Duration) stage { return stage{planned: planned, end: ahead} }),
		},
	}
	r.stalls = stalls{
		arriving: c.Open, uneven: c.Collective || len(c.Stages) > 0, window: &r.window, gaps: lengths(3), begun: never, fault: never,
	}
	r.failures = newFailures(c, &r.window)
	r.herds = []*herds{newHerds(exact, herdGrace, &r.window, &r.series)}
	if !c.Named {
		r.herds = append(r.herds, newHerds(guessed, GuessGap, &r.window, &r.series))
	}
	r.client(max(c.Clients, 1) - 1)
	return r
}

func (r *Recorder) client(id int) *clientState {
	for id >= len(r.clients) {
		r.clients = append(r.clients, clientState{never, never})
	}
	return &r.clients[id]
}

// Span records one phase of one client, after the phase has ended. It allocates for a new phase or client, and for a
// wait that outlasts the window, but not for each span.
func (r *Recorder) Span(phase string, id int, start, end time.Duration) {
	r.span(phase, id, start, end)
	if r.config.Workers > 1 && r.window.contains(end) {
		c := live(r.clocks, phase)
		c.Sum += end - start
		c.within.Add(end - start)
	}
}

// SpanAcross is Span for a phase whose beginning and end were recorded by different workers. By their clocks, it may end before it
// begins: it then has no length, except in the mean.
func (r *Recorder) SpanAcross(phase string, id int, start, end time.Duration) {
	r.span(phase, id, min(start, end), end)
	if r.window.contains(end) {
		c := live(r.clocks, phase)
		c.Spans, c.Sum = c.Spans+1, c.Sum+end-start
	}
}

func (r *Recorder) span(phase string, id int, start, end time.Duration) {
	r.advance(end)
	c := r.client(id)
	if phase == r.config.Operation {
		r.completed(id, stretch{start, end})
	}
	if phase == r.config.Phase {
		bin := r.series.at(end)
		bin.samples, bin.time = bin.samples+1, bin.time+end-start
		r.seconds.sample(stretch{start, end})
	}
	waiting := slices.Contains(r.config.Waiting, phase)
	if waiting && r.config.Series && r.window.contains(end) {
		r.stalls.endGap(end) // the client makes progress, although it has not completed an operation yet
	}
	r.addTime(phase, end, end-start)
	switch {
	case r.window.contains(end):
		if phase == r.config.Phase && !r.config.Open {
			r.window.record(end, func(s *stage) { s.latency.Add(end - start) })
		}
		if waiting && r.wokenUsefully(c, stretch{start, end}) {
			r.useful++
		}
	case waiting && start <= r.window.end && r.window.end < end:
		r.unfinished = append(r.unfinished, wait{phase, r.window.end - start})
	}
}

func (r *Recorder) completed(id int, s stretch) {
	r.series.at(s.end).operations++
	r.seconds.totals.Operations++
	r.seconds.at(s.end).Operations++
	r.failures.operation(id, s)
	if r.window.contains(s.end) {
		r.window.operations++
		r.window.record(s.end, func(s *stage) { s.operations++ })
	}
	if r.window.contains(s.end) || r.window.precedes(s.end) {
		r.stalls.endGap(s.end)
	}
}

// wokenUsefully reports whether the last notification before the end of a wait arrived during the wait and in the
// window. The recorder assumes that this notification let the client proceed.
func (r *Recorder) wokenUsefully(c *clientState, s stretch) bool {
	last := c.notified
	if last >= s.end {
		last = c.earlier
	}
	return last > s.start && r.window.contains(last)
}

func live[T any](phases map[string]*T, phase string) *T {
	if phases[phase] == nil {
		phases[phase] = new(T)
	}
	return phases[phase]
}

// Notification records a watch event that a client received.
func (r *Recorder) Notification(n Notification) {
	r.advance(n.At)
	r.series.at(n.At).notifications++
	if c := r.client(n.Client); n.At > c.notified {
		c.notified, c.earlier = n.At, c.notified
	}
	if r.window.isOpen() { // also at the time at which it ends, until it has
		r.countNotification(n)
	}
	size := 0
	for _, h := range r.herds {
		size = cmp.Or(size, h.add(n, &r.recent))
	}
	second := r.seconds.at(n.At)
	second.Notifications, second.LargestHerd = second.Notifications+1, max(second.LargestHerd, size)
	r.seconds.totals.Notifications++
}

func (r *Recorder) countNotification(n Notification) {
	r.notified[n.Type]++
	r.window.record(n.At, func(s *stage) { s.notifications++ })
	r.peak.add(n.At)
	if !causeKnown(n) {
		r.unnamed++
	}
	dot := results.TimelineDot{At: n.At, Client: n.Client}
	r.recent.notification(dot)
	r.eachExcerpt(func(e *excerpt) { e.notification(dot) })
}

// Read records a bystander's read, after the read has completed. A read belongs to the window if it was due in the
// window, even if it completes later. Reads that were due while zkbench paused the servers are left out.
func (r *Recorder) Read(b results.BystanderRead) {
	r.advance(b.At + b.Response)
	if slices.ContainsFunc(r.frozen, func(s stretch) bool { return s.contains(b.At) }) {
		return
	}
	bin := r.series.at(b.At)
	bin.slowest = max(bin.slowest, b.Response)
	r.stalls.read(b)
	if r.window.contains(b.At) {
		r.reads.add(b)
		r.recent.read(b)
		r.eachExcerpt(func(e *excerpt) { e.read(b) })
	}
	r.addTime(results.BystanderPhase, b.At, b.Response)
	r.addTime(results.BystanderService, b.At, b.Service)
}

// addTime counts a time that belongs to a moment of the warm-up or of the window, and none of a later moment.
func (r *Recorder) addTime(phase string, of, took time.Duration) {
	switch {
	case r.window.precedes(of):
		live(r.warmUp, phase).Add(took)
	case r.window.contains(of):
		live(r.measured, phase).Add(took)
	}
}

// Memory records how many bytes of the zkbench process are in memory.
func (r *Recorder) Memory(at time.Duration, resident int64) {
	r.advance(at)
	bin := r.series.at(at)
	bin.memory = max(bin.memory, resident)
}

// Passed completes the herds of all transactions up to a zxid, of which all notifications to every session have been recorded.
func (r *Recorder) Passed(zxid int64) { r.herds[exact].passed(zxid) }

// Violation records a breach of the recipe's promise. The document lists the first MaxViolations breaches, and the number of further ones.
func (r *Recorder) Violation(v results.Violation) {
	if len(r.violations) == MaxViolations {
		r.moreViolations++
		return
	}
	r.violations = append(r.violations, v)
}

// Broken reports whether there has been a violation.
func (r *Recorder) Broken() bool { return len(r.violations) > 0 }

// OpenWindow ends the warm-up and begins the window. All events so far must be earlier.
func (r *Recorder) OpenWindow(at time.Duration) {
	r.advance(at)
	r.closeHerds()
	r.stalls.endGap(at)
	r.window.open(at)
	r.timeline.open(at, r.config.WindowLength)
	r.failures.completed = at
}

// CloseWindow ends the window. All events so far must be earlier. Later events enter the series only. There are two
// exceptions: waits that began before the end of the window, and reads that were due in the window.
func (r *Recorder) CloseWindow(at time.Duration) {
	r.advance(at)
	r.closeHerds()
	r.failures.unavailableUntil(at)
	r.stalls.endGap(at)
	r.window.end = at
}

// Freeze begins a stretch in which zkbench pauses the servers to measure their heaps. Reads that are due in this
// stretch are left out, and gaps between operations that overlap it do not count as stalls.
func (r *Recorder) Freeze(at time.Duration) {
	r.frozen = append(r.frozen, stretch{at, math.MaxInt64})
}

// Thaw ends the stretch that the last call of Freeze began.
func (r *Recorder) Thaw(at time.Duration) {
	if n := len(r.frozen); n > 0 {
		r.frozen[n-1].end = at
	}
}

func (r *Recorder) advance(now time.Duration) {
	r.series.at(now)
	r.failures.last = max(r.failures.last, now)
	if r.window.contains(now) {
		r.timeline.advance(now)
	}
	if now < r.nextSweep {
		return
	}
	r.nextSweep = now + time.Second
	for _, h := range r.herds {
		h.completeIf(func(_ HerdKey, one *herd) bool { return now-one.last > h.silence })
	}
}

// closeHerds completes all herds at an edge of the window. Later notifications of the same transactions form other
// herds, so that herds are cut at the edges like the counts.
func (r *Recorder) closeHerds() {
	for _, h := range r.herds {
		h.passed(math.MaxInt64)
	}
}
