package recorder

import (
	"time"

	"github.com/zkbench/zkbench/results"
)

// Notification is one watch event that a client received.
type Notification struct {
	At     time.Duration
	Client int
	Zxid   int64  // of the transaction that caused it; -1 if the server does not name it, and if it was sent again after a reconnect
	Type   string // NodeDeleted, …
	Path   string
}

// herdGrace is the silence after which a herd is complete although not every session has passed its transaction: twice
// the session timeout that zkbench asks for. A session that has sent nothing for so long no longer exists.
const herdGrace = time.Minute

// GuessGap is the silence that ends a herd where the server does not name transactions. Notifications of one path to
// different clients that follow each other more closely are taken for one herd. The document says that this is a guess.
const GuessGap = 5 * time.Millisecond

// peakWindow is the length of the window whose largest content is the notification peak.
const peakWindow = 10 * time.Millisecond

func causeKnown(n Notification) bool { return n.Zxid > 0 }

// HerdKey names a herd that may still grow: by its transaction, which may notify of several paths, or by the path if the herd is guessed.
type HerdKey struct {
	Zxid int64
	Path string
}

// HerdKeyOf returns the key of the herd of a notification.
func HerdKeyOf(zxid int64, path string, isGuess bool) HerdKey {
	if isGuess {
		return HerdKey{Path: path}
	}
	return HerdKey{Zxid: zxid}
}

type herd struct {
	size        int
	first, last time.Duration
	clients     map[int]bool // of a guess; nil otherwise. A watch fires once, so that no client is in a herd twice
}

// herds collects the herds of a grouping. Herds outside the window are recorded in the series only.
type herds struct {
	window   *window
	sizes    map[int]int64
	spread   results.LiveHistogram
	series   *series
	grouping grouping
	silence  time.Duration     // after which a herd is complete
	open     map[HerdKey]*herd // those that may still grow

	leader *herd   // the first of the largest herds in the window, complete or not; nil before any
	around excerpt // one second around it
}

func (h *herds) complete(one *herd) {
	largest := &h.series.at(one.first).largest[h.grouping]
	*largest = max(*largest, one.size)
	if h.window.isOpen() {
		h.sizes[one.size]++
		h.spread.Add(one.last - one.first)
		h.window.record(one.first, func(s *stage) { s.largest[h.grouping] = max(s.largest[h.grouping], one.size) })
	}
}

func newHerds(g grouping, silence time.Duration, w *window, s *series) *herds {
	return &herds{grouping: g, silence: silence, window: w, series: s, sizes: map[int]int64{}, open: map[HerdKey]*herd{}}
}

// add puts a notification into its herd, and returns the size of that herd. A notification without a transaction does not
// belong to an exact herd. The open herd of a path ends with the silence that separates guessed herds.
func (h *herds) add(n Notification, r *recent) (size int) {
	if h.grouping == exact && !causeKnown(n) {
		return 0
	}
	key := HerdKeyOf(n.Zxid, n.Path, h.grouping == guessed)
	one := h.open[key]
	if one != nil && h.grouping == guessed && (n.At-one.last > h.silence || one.clients[n.Client]) {
		h.complete(one)
		one = nil
	}
	if one == nil {
		one = &herd{first: n.At}
		if h.grouping == guessed {
			one.clients = map[int]bool{}
		}
		h.open[key] = one
	}
	one.size, one.last = one.size+1, n.At
	if h.grouping == guessed {
		one.clients[n.Client] = true
	}
	if h.window.isOpen() && (h.leader == nil || one.size > h.leader.size) {
		h.leader = one
		h.around = r.excerptAround(one.first, one.last)
	}
	return one.size
}

// passed completes the herds of all transactions up to a zxid. Guessed herds have zxid 0.
func (h *herds) passed(zxid int64) {
	h.completeIf(func(key HerdKey, _ *herd) bool { return key.Zxid <= zxid })
}

func (h *herds) completeIf(done func(HerdKey, *herd) bool) {
	for key, one := range h.open {
		if done(key, one) {
			h.complete(one)
			delete(h.open, key)
		}
	}
}

// peak finds the largest number of notifications in any 10 ms.
type peak struct {
	last queue[time.Duration]
	most int
}

func (p *peak) add(at time.Duration) {
	p.last.push(at, func(old time.Duration) bool { return at-old >= peakWindow })
	p.most = max(p.most, len(p.last.all()))
}
