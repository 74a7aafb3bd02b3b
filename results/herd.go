package results

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Notification is one watch event that a participant received.
type Notification struct {
	At     time.Duration
	Client int
	Zxid   int64  // of the transaction that caused it; -1 from servers before 3.9, and from all if it was sent again after a reconnect
	Type   string // NodeDeleted, …
	Path   string
}

// How a herd's members were recognized.
const (
	GroupedByZxid = "zxid"
	byPathAndTime = "path and time"
)

// guessGap is the silence that ends a herd where the server does not say what belongs together: notifications of one
// path to different clients that follow each other more closely are taken for one herd. That is a guess, and the result
// says so.
const guessGap = 5 * time.Millisecond

// peakWindow is the length of the window whose largest content is the notification peak.
const peakWindow = 10 * time.Millisecond

// herd is the notifications set off by one transaction.
type herd struct {
	size        int
	first, last time.Duration
	clients     map[int]bool // only where herds are guessed
}

func (h *herd) add(n Notification) {
	if h.size == 0 {
		h.first = n.At
	}
	h.size++
	h.last = n.At
	if h.clients != nil {
		h.clients[n.Client] = true
	}
}

// couldInclude tells whether, by the looks of it, a notification belongs to a herd. A watch fires once, so that no client
// is in a herd twice.
func (h *herd) couldInclude(n Notification) bool {
	return n.At-h.last <= guessGap && !h.clients[n.Client]
}

// namesTransactions reports whether servers of a version say which transaction caused a notification. An unknown version
// may be any.
func namesTransactions(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 3 || major == 3 && minor >= 9
}

// causeKnown reports whether a notification names the transaction that caused it.
func (n Notification) causeKnown() bool { return n.Zxid > 0 }

// groupHerds returns the herds among notifications that are sorted by time, and how many notifications are in none. Servers
// that name transactions do not do so when they send a notification again, after a client has reconnected: such a one is
// left out, and does not turn all others into guesses.
func groupHerds(sorted []Notification, version string) (herds []*herd, grouping string, ungrouped int64) {
	if len(sorted) > 0 && !namesTransactions(version) && !slices.ContainsFunc(sorted, Notification.causeKnown) {
		return guessHerds(sorted), byPathAndTime, 0
	}
	open := map[int64]*herd{} // a multi may notify of several paths in one transaction
	for _, n := range sorted {
		if !n.causeKnown() {
			ungrouped++
			continue
		}
		if open[n.Zxid] == nil {
			open[n.Zxid] = &herd{}
			herds = append(herds, open[n.Zxid])
		}
		open[n.Zxid].add(n)
	}
	return herds, GroupedByZxid, ungrouped
}

// guessHerds groups notifications by path and time.
func guessHerds(sorted []Notification) []*herd {
	var herds []*herd
	open := map[string]*herd{}
	for _, n := range sorted {
		if h := open[n.Path]; h == nil || !h.couldInclude(n) {
			open[n.Path] = &herd{clients: map[int]bool{}}
			herds = append(herds, open[n.Path])
		}
		open[n.Path].add(n)
	}
	return herds
}

// newHerd summarizes the notifications of a window, from servers of a version.
func newHerd(notifications []Notification, version string) (Herd, error) {
	sorted := slices.Clone(notifications)
	slices.SortFunc(sorted, func(a, b Notification) int { return cmp.Compare(a.At, b.At) })
	herds, grouping, ungrouped := groupHerds(sorted, version)
	out := Herd{Grouping: grouping, Ungrouped: ungrouped, Sizes: []SizeCount{}, Peak10ms: peak(sorted, peakWindow)}
	counts := map[int]int64{}
	spreads := make([]time.Duration, 0, len(herds))
	for _, h := range herds {
		counts[h.size]++
		spreads = append(spreads, h.last-h.first)
	}
	for size, count := range counts {
		out.Sizes = append(out.Sizes, SizeCount{size, count})
	}
	slices.SortFunc(out.Sizes, func(a, b SizeCount) int { return cmp.Compare(a.Size, b.Size) })
	var err error
	out.Spread, err = NewHistogram(spreads)
	return out, err
}

// peak returns the largest number of notifications that any window of the given length holds.
func peak(sorted []Notification, length time.Duration) int {
	most, start := 0, 0
	for end, n := range sorted {
		for n.At-sorted[start].At >= length {
			start++
		}
		most = max(most, end-start+1)
	}
	return most
}

// Mean returns the average size of the herds that were not empty, zero if there was none.
func (h Herd) Mean() float64 {
	var herds, members int64
	for _, s := range h.Sizes {
		herds += s.Count
		members += int64(s.Size) * s.Count
	}
	if herds == 0 {
		return 0
	}
	return float64(members) / float64(herds)
}

// Quantile returns the smallest size that at least the share q of the herds does not exceed, zero if there was none.
func (h Herd) Quantile(q float64) int {
	var herds, seen int64
	for _, s := range h.Sizes {
		herds += s.Count
	}
	for _, s := range h.Sizes {
		seen += s.Count
		if float64(seen) >= q*float64(herds) {
			return s.Size
		}
	}
	return 0
}

// Max returns the size of the largest herd, zero if there was none.
func (h Herd) Max() int {
	if len(h.Sizes) == 0 {
		return 0
	}
	return h.Sizes[len(h.Sizes)-1].Size
}
