package results

import (
	"maps"
	"slices"
	"time"
)

// Notification is one watch event that a client received.
type Notification struct {
	At     time.Duration
	Client int
	Zxid   int64  // of the transaction that caused it; -1 from servers before 3.9, and if it was sent again after a reconnect
	Type   string // NodeDeleted, …
	Path   string
}

// The groupings of herds.
const (
	GroupedByZxid        = "zxid"
	GroupedByPathAndTime = "path and time" // a guess, on servers that do not name the transaction behind a notification
)

// HerdSizes returns the numbers of herds by their size, the smallest herds first.
func HerdSizes(counts map[int]int64) []SizeCount {
	return Map(slices.Sorted(maps.Keys(counts)), func(size int) SizeCount { return SizeCount{size, counts[size]} })
}

// total returns the number of herds, and that of the notifications in them.
func (h Herd) total() (herds, members int64) {
	for _, s := range h.Sizes {
		herds += s.Count
		members += int64(s.Size) * s.Count
	}
	return herds, members
}

// Mean returns the average size of the herds, zero without herds.
func (h Herd) Mean() float64 {
	herds, members := h.total()
	if herds == 0 {
		return 0
	}
	return float64(members) / float64(herds)
}

// Quantile returns the smallest size that at least the share q of the herds does not exceed, zero without herds.
func (h Herd) Quantile(q float64) int {
	var seen int64
	herds, _ := h.total()
	for _, s := range h.Sizes {
		seen += s.Count
		if float64(seen) >= q*float64(herds) {
			return s.Size
		}
	}
	return 0
}

// Max returns the size of the largest herd, zero without herds.
func (h Herd) Max() int {
	if len(h.Sizes) == 0 {
		return 0
	}
	return h.Sizes[len(h.Sizes)-1].Size
}
