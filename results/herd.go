package results

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// The groupings of herds.
const (
	GroupedByZxid        = "zxid"
	GroupedByPathAndTime = "path and time" // a guess, on servers that do not name the transaction behind a notification
)

// Unnamed says on which servers herds are guessed, because notifications do not name their transaction.
const Unnamed = "before ZooKeeper 3.9, and on ClickHouse Keeper"

// NamesTransactions reports whether the servers are known to name the transaction in each notification, as ZooKeeper does since 3.9.
// Servers of an unknown version, and of another product, may do so or not.
func (e Environment) NamesTransactions() bool {
	var major, minor int
	if _, err := fmt.Sscanf(e.ZooKeeper, "%d.%d", &major, &minor); err != nil || e.Product != "" {
		return false
	}
	return major > 3 || major == 3 && minor >= 9
}

// HerdSizes returns the numbers of herds by their size, the smallest herds first.
func HerdSizes(counts map[int]int64) []SizeCount {
	return list.Map(slices.Sorted(maps.Keys(counts)), func(size int) SizeCount { return SizeCount{size, counts[size]} })
}

// Total returns the number of herds, and the number of notifications in them.
func (h Herd) Total() (herds, members int64) {
	for _, s := range h.Sizes {
		herds += s.Count
		members += int64(s.Size) * s.Count
	}
	return herds, members
}

// Mean returns the average size of the herds, zero without herds.
func (h Herd) Mean() float64 {
	herds, members := h.Total()
	return float64(members) / float64(max(herds, 1))
}

// Quantile returns the smallest size that at least the share q of the herds does not exceed, zero without herds.
func (h Herd) Quantile(q float64) int {
	var seen int64
	herds, _ := h.Total()
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
	return list.Largest(list.Map(h.Sizes, func(s SizeCount) int { return s.Size }))
}

// Herd groups the window's notifications by the transaction that caused them.
type Herd struct {
	// Grouping is "zxid" if notifications name their transaction (ZooKeeper 3.9 and later), or "path and time" if groups are guessed.
	Grouping string `json:"grouping"`
	// Ungrouped is the number of notifications in no herd. A server sends them again after a reconnect, without a transaction.
	Ungrouped int64 `json:"ungrouped,omitempty"`

	Sizes    []SizeCount `json:"sizes"`
	Spread   Histogram   `json:"spread"` // time from the first to the last arrival of each herd
	Peak10ms int         `json:"peak_10ms"`
}

// SizeCount is the number of transactions (Count) that each caused Size notifications.
type SizeCount struct {
	Size  int   `json:"size"`
	Count int64 `json:"count"`
}

// TimelineLength is the largest length of a timeline.
const TimelineLength = time.Second

// Timeline is everything that happened in a stretch of at most one second, for the herd timeline plot.
type Timeline struct {
	Start         time.Duration   `json:"start_ns"`
	End           time.Duration   `json:"end_ns"`
	Notifications []TimelineDot   `json:"notifications"`
	Bystander     []BystanderRead `json:"bystander"`
}

// TimelineDot is one notification in a timeline.
type TimelineDot struct {
	At     time.Duration `json:"at_ns"` // since the timeline's start
	Client int           `json:"client"`
}

// BystanderRead is one read by a bystander, a session that does not take part in the recipe.
type BystanderRead struct {
	At       time.Duration `json:"at_ns"`       // when the read was due
	Service  time.Duration `json:"service_ns"`  // from sending the read to its reply
	Response time.Duration `json:"response_ns"` // from when it was due to its reply
	Server   int           `json:"server"`
}
