// Package observe reports how an application uses its ensemble, from the frames that pass a proxy.
//
// It takes one position: an effect is shown with its cause. A notification means little by itself. The transaction that caused
// it, the number of other notifications of that transaction, and the next requests of their receivers explain why an ensemble
// is busy whenever a lock is released. Where the cause is not known, such as before ZooKeeper 3.9, the report says so.
//
// The memory of an [Observer] depends on the sessions and on what is open, and not on how long it observes.
package observe

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/recorder"
)

// Paths whose requests are marks: a request for one of them, such as exists, begins or ends the reported window. The znodes
// need not exist, and a request with a chroot works, too. Marks are not counted.
const (
	BeginMark = "/zkbench-begin"
	EndMark   = "/zkbench-end"
)

// Observer is a [proxy.Observer] that sums up the traffic. Its methods may be called concurrently.
type Observer struct {
	clock func() time.Duration // since the epoch

	mu       sync.Mutex
	sessions map[int64]*session
	free     []int // slots of sessions that are over
	slots    int
	timeout  time.Duration // the longest session timeout that a server has granted
	learned  int64         // sessions that have read the servers' own addresses
	causes   latest[int64, *cause]
	znodes   *znodes
	herds    openHerds
	window   *window
	cycling  map[string]bool // the cycles of the latest report
	next     time.Duration   // when to look again for complete herds
}

// New returns an observer of the servers of an environment. Its first window is open. Times are since the epoch, which must also
// be the proxy's.
func New(epoch time.Time, servers results.Environment) *Observer {
	return newObserver(func() time.Duration { return time.Since(epoch) }, servers)
}

func newObserver(clock func() time.Duration, servers results.Environment) *Observer {
	o := &Observer{clock: clock, sessions: map[int64]*session{}, znodes: newZnodes()}
	o.causes = latest[int64, *cause]{most: mostCauses, by: map[int64]*cause{}}
	o.herds = openHerds{named: servers.NamesTransactions(), open: map[recorder.HerdKey]*herd{}}
	o.begin(clock())
	return o
}

// lock locks the observer and returns the time, which never decreases from one call to the next.
func (o *Observer) lock() time.Duration {
	o.mu.Lock()
	now := o.clock()
	if now >= o.next {
		o.next = now + lookEvery
		o.look(now)
	}
	return now
}

// lookEvery is how often the observer looks for complete herds and for causes that are no longer needed.
const lookEvery = 100 * time.Millisecond

func (o *Observer) look(now time.Duration) {
	o.herds.closeUntil(now-herdSilence, o.closed)
	for len(o.causes.order) > 0 && o.causes.by[o.causes.order[0]].at <= now-causeKept {
		o.causes.dropFirst()
	}
	o.window.tick(now, o.herds.oldest())
}

// closed adds a complete herd to the window, unless a mark has replaced the window in which it began.
func (o *Observer) closed(h *herd) {
	if h.window == nil || h.window != o.window {
		return
	}
	o.window.kinds.add(h, o.causes.by[h.zxid])
	o.window.families.closed(h)
	o.window.passed = max(o.window.passed, h.zxid)
}

// Begin begins a window. Everything seen before is forgotten, except open herds, sessions, and who has made which znode.
func (o *Observer) Begin() {
	now := o.lock()
	defer o.mu.Unlock()
	o.begin(now)
}

// End ends the window. A second call has no effect.
func (o *Observer) End() {
	now := o.lock()
	defer o.mu.Unlock()
	o.end(now)
}

func (o *Observer) begin(now time.Duration) {
	o.herds.closeUntil(never, o.closed)
	o.window = newWindow(now, o.herds.named, o.znodes)
	o.window.MostSessions = len(o.sessions)
	o.free, o.slots, o.cycling = nil, 0, nil
	for _, s := range o.sessions {
		s.slot = o.takeSlot() // so that the slots of a window are below the most sessions in it
		clear(s.woken)
	}
}

func (o *Observer) end(now time.Duration) {
	if o.window.Open {
		o.herds.closeUntil(never, o.closed)
		o.addWaits(&o.window.Report, now)
		o.window.close(now)
	}
}

// Connected implements [wire.Tap].
func (o *Observer) Connected(id int64, _ bool, timeout time.Duration) {
	o.lock()
	defer o.mu.Unlock()
	o.timeout = max(o.timeout, timeout)
	o.session(id)
}

func (o *Observer) session(id int64) *session {
	s := o.sessions[id]
	if s == nil {
		s = &session{id: id, slot: o.takeSlot(), woken: map[*PathReport]bool{}, waits: map[string]time.Duration{}}
		s.knows = latest[string, bool]{most: mostWaits, by: map[string]bool{}}
		o.sessions[id] = s
		if o.window.Open {
			o.window.MostSessions = max(o.window.MostSessions, len(o.sessions))
		}
	}
	return s
}

// takeSlot returns a small number for a session. Numbers of ended sessions are used again.
func (o *Observer) takeSlot() int {
	if n := len(o.free); n > 0 {
		slot := o.free[n-1]
		o.free = o.free[:n-1]
		return slot
	}
	o.slots++
	return o.slots - 1
}

// Over implements [wire.Tap].
func (o *Observer) Over(id int64, expired bool) {
	now := o.lock()
	defer o.mu.Unlock()
	s := o.sessions[id]
	if s == nil {
		return
	}
	cycle := o.cycleFrom(s, now, map[*session]bool{})
	stuck := len(s.stuck(now)) > 0 || len(cycle) > 0 && cycle[0].Session == sessionName(id)
	delete(o.sessions, id)
	o.free = append(o.free, s.slot)
	o.window.over(id, expired, stuck)
	o.znodes.over(id)
}

// Happened implements [proxy.Observer].
func (o *Observer) Happened(i proxy.Incident) {
	o.lock()
	defer o.mu.Unlock()
	if w := o.window; w.Open {
		w.IncidentCounts[i.Kind]++
		w.Incidents = append(w.Incidents[max(len(w.Incidents)-mostIncidents+1, 0):], i)
	}
}

// Exchanged implements [wire.Tap].
func (o *Observer) Exchanged(id int64, e wire.Exchange) {
	now := o.lock()
	defer o.mu.Unlock()
	switch {
	case strings.HasSuffix(e.Path, BeginMark):
		o.begin(now)
		return
	case strings.HasSuffix(e.Path, EndMark):
		o.end(now)
		return
	}
	s := o.session(id)
	written := e.Op.IsWrite() && e.Code == wire.OK
	if written {
		o.causes.add(e.Zxid, &cause{now, id, e.Op, e.Path, e.Parts, e.MoreParts})
	}
	s.follow(e)
	if e.Op == wire.OpGetData && e.Path == configPath && e.Code == wire.OK && !s.learned {
		s.learned = true
		o.learned++
	}
	for _, operation := range operations(e) {
		if o.window.Open {
			o.window.families.exchanged(id, operation)
		}
		o.changed(s, operation)
	}
	if e.Op != wire.OpCloseSession { // with which Over comes
		s.await(now, e, o.znodes.numbers)
	}
	if o.window.Open && e.Op != wire.OpCloseSession {
		o.window.exchanged(now, s, e)
	}
	if written {
		clear(s.woken)
	}
}

// operations returns an exchange, or those that the parts of a multi would be. Of one that failed, each has its code: NodeExists says
// something about creates, and NoNode about deletes.
func operations(e wire.Exchange) []wire.Exchange {
	if e.Op != wire.OpMulti {
		return []wire.Exchange{e}
	}
	return list.Map(e.Parts, func(p wire.Part) wire.Exchange {
		return wire.Exchange{
			Op: p.Op, Path: p.Path, Code: e.Code, Zxid: e.Zxid, Sequential: p.Sequential, Number: p.Number, Flags: p.Flags,
		}
	})
}

func (o *Observer) changed(s *session, e wire.Exchange) {
	switch {
	case e.Code != wire.OK:
	case e.Op == wire.OpDelete:
		o.renew(e.Path)
		o.znodes.deleted(e.Path, e.Zxid)
		if s.own == e.Path {
			s.own = ""
		}
	case e.Op.Creates():
		o.znodes.created(s.id, e)
		if e.Sequential {
			o.numbered(s, e)
		}
	case e.Armed && (e.Op == wire.OpGetChildren || e.Op == wire.OpGetChildren2):
		o.znodes.listed(s.id, e.Path)
	}
}

func (o *Observer) numbered(s *session, e wire.Exchange) {
	directory, m := parentOf(e.Path), o.znodes.made.by[e.Path]
	if slices.ContainsFunc(o.znodes.numbers[directory], func(b origin) bool { return b.zxid < m.zxid && b.number-m.number >= 0 }) {
		o.renew(directory) // it had given this number, or a later one
	}
	o.znodes.numbers.add(directory, m)
	s.own = e.Path
}

// renew forgets the numbers of a directory that is made anew: they are given again.
func (o *Observer) renew(directory string) {
	if o.znodes.numbers[directory] == nil {
		return
	}
	delete(o.znodes.numbers, directory)
	for _, s := range o.sessions {
		maps.DeleteFunc(s.waits, func(path string, _ time.Duration) bool { return parentOf(path) == directory })
		for path, knows := range s.knows.by {
			s.knows.by[path] = knows && parentOf(path) != directory
		}
	}
}

// configPath is the znode in which servers keep their own addresses. It has this path for clients with a chroot, too.
const configPath = "/zookeeper/config"

// Notified implements [wire.Tap].
func (o *Observer) Notified(id int64, n wire.Notification) {
	now := o.lock()
	defer o.mu.Unlock()
	s := o.session(id)
	delete(s.waits, n.Path) // the watch has fired
	if n.Type == wire.NodeDeleted {
		s.knows.add(n.Path, true)
	}
	if s.watched == n.Path {
		s.watched = ""
	}
	h := o.herds.add(now, s, n)
	if h != nil && o.window.Open {
		h.window = o.window
	}
	s.herd, s.notified = h, n.At
	if o.window.Open {
		o.window.notified(now, s, n)
	}
}
