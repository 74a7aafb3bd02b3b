package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// herdGrace is the silence after which a herd is complete although not every session has passed its transaction: twice
// the session timeout that zkbench asks for. A session that has sent nothing for so long no longer exists.
const herdGrace = time.Minute

// GuessGap is the silence that ends a herd where the server does not name transactions. Notifications of one path to
// different clients that follow each other more closely are taken for one herd. The document says that this is a guess.
const GuessGap = 5 * time.Millisecond

// peakWindow is the length of the window whose largest content is the notification peak.
const peakWindow = 10 * time.Millisecond

// NamesTransactions reports whether servers of a version say which transaction caused a notification. An unknown version
// may be any.
func NamesTransactions(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 3 || major == 3 && minor >= 9
}

// causeKnown reports whether a notification names the transaction that caused it.
func causeKnown(n results.Notification) bool { return n.Zxid > 0 }

// herd is the notifications set off by one transaction, as far as they have arrived.
type herd struct {
	size        int
	first, last time.Duration
}

func (h *herd) add(at time.Duration) {
	if h.size == 0 {
		h.first = at
	}
	h.size++
	h.last = at
}

// herds collects complete herds. Those outside the window enter the series only.
type herds struct {
	window   *window
	sizes    map[int]int64
	spread   results.LiveHistogram
	series   *series
	grouping grouping

	largest int     // size of the largest herd in the window, complete or not
	leader  *herd   // the first herd that reached this size
	around  excerpt // one second around it
}

// grown records that a herd has a further member. The first of the largest herds in the window is the leader.
func (h *herds) grown(one *herd, r *recent) {
	if !h.window.isOpen() || one.size <= h.largest {
		return
	}
	h.largest = one.size
	if one != h.leader {
		h.leader = one
		h.around = r.excerptAround(one.first, one.last)
	}
}

// complete records the final size of a herd.
func (h *herds) complete(one *herd) {
	h.series.herd(h.grouping, one.first, one.size)
	if h.window.isOpen() {
		h.sizes[one.size]++
		h.spread.Add(one.last - one.first)
		h.window.record(one.first, func(s *stage) { s.largest[h.grouping] = max(s.largest[h.grouping], one.size) })
	}
}

// document returns the herds as a document keeps them.
func (h *herds) document() (out results.Herd, err error) {
	out.Sizes = make([]results.SizeCount, 0, len(h.sizes))
	for size, count := range h.sizes {
		out.Sizes = append(out.Sizes, results.SizeCount{Size: size, Count: count})
	}
	slices.SortFunc(out.Sizes, func(a, b results.SizeCount) int { return cmp.Compare(a.Size, b.Size) })
	out.Spread, err = h.spread.Encode()
	return out, err
}

// zxidHerds groups notifications by the transaction that they name. A transaction may notify of several paths.
type zxidHerds struct {
	herds
	open map[int64]*herd
}

func newZxidHerds(w *window, s *series) *zxidHerds {
	return &zxidHerds{herds: herds{window: w, sizes: map[int]int64{}, series: s, grouping: exact}, open: map[int64]*herd{}}
}

// add puts a notification into its herd, and returns how large that is by now. A notification without a transaction is in no herd.
func (z *zxidHerds) add(n results.Notification, r *recent) (size int) {
	if !causeKnown(n) {
		return 0
	}
	one := z.open[n.Zxid]
	if one == nil {
		one = &herd{}
		z.open[n.Zxid] = one
	}
	one.add(n.At)
	z.grown(one, r)
	return one.size
}

// passed completes the herds of all transactions up to a zxid.
func (z *zxidHerds) passed(zxid int64) {
	z.completeIf(func(of int64, _ *herd) bool { return of <= zxid })
}

// sweep completes the herds that have been silent for longer than the grace.
func (z *zxidHerds) sweep(now time.Duration) {
	z.completeIf(func(_ int64, one *herd) bool { return now-one.last > herdGrace })
}

func (z *zxidHerds) completeIf(done func(zxid int64, one *herd) bool) {
	for zxid, one := range z.open {
		if done(zxid, one) {
			z.complete(one)
			delete(z.open, zxid)
		}
	}
}

// pathHerds guesses which notifications belong together, from their paths and times.
type pathHerds struct {
	herds
	open map[string]*guess
}

// guess is a guessed herd. A watch fires once, so that no client is in a herd twice.
type guess struct {
	herd
	clients map[int]bool
}

func newPathHerds(w *window, s *series) *pathHerds {
	return &pathHerds{herds: herds{window: w, sizes: map[int]int64{}, series: s, grouping: guessed}, open: map[string]*guess{}}
}

// add puts a notification into the open herd of its path, or begins a new one, and returns how large that is by now.
func (p *pathHerds) add(n results.Notification, r *recent) (size int) {
	one := p.open[n.Path]
	if one != nil && (n.At-one.last > GuessGap || one.clients[n.Client]) {
		p.complete(&one.herd)
		one = nil
	}
	if one == nil {
		one = &guess{clients: map[int]bool{}}
		p.open[n.Path] = one
	}
	one.add(n.At)
	one.clients[n.Client] = true
	p.grown(&one.herd, r)
	return one.size
}

// sweep completes the herds whose silence exceeds the gap.
func (p *pathHerds) sweep(now time.Duration) {
	p.completeIf(func(one *guess) bool { return now-one.last > GuessGap })
}

// completeAll completes every herd.
func (p *pathHerds) completeAll() { p.completeIf(func(*guess) bool { return true }) }

func (p *pathHerds) completeIf(done func(*guess) bool) {
	for path, one := range p.open {
		if done(one) {
			p.complete(&one.herd)
			delete(p.open, path)
		}
	}
}

// peak finds the largest number of notifications in any 10 ms.
type peak struct {
	last queue[time.Duration]
	most int
}

func (p *peak) add(at time.Duration) {
	p.last.dropWhile(func(t time.Duration) bool { return at-t >= peakWindow })
	p.last.push(at)
	p.most = max(p.most, len(p.last.all()))
}
