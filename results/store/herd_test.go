package store

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// What is in no herd was received all the same: both together are what the document counts.
func TestUngroupedNotificationsAreAccountedFor(t *testing.T) {
	for _, tt := range []struct {
		name      string
		grouping  string
		ungrouped int64
		notified  int64
		valid     bool
	}{
		{"all in herds", results.GroupedByZxid, 0, 6, true},
		{"two in none", results.GroupedByZxid, 2, 8, true},
		{"two of which no trace is left", results.GroupedByZxid, 0, 8, false},
		{"two too many", results.GroupedByZxid, 2, 6, false},
	} {
		d := results.Document{Counts: results.Counts{Notifications: map[string]int64{"NodeDeleted": tt.notified}}}
		d.Herd = results.Herd{Grouping: tt.grouping, Ungrouped: tt.ungrouped, Sizes: []results.SizeCount{{Size: 3, Count: 2}}}
		var err error
		if d.Herd.Spread, err = results.NewHistogram(make([]time.Duration, 2)); err != nil {
			t.Fatal(err)
		}
		var p problems
		if checkHerd(&d, &p); (len(p) == 0) != tt.valid {
			t.Errorf("%s: %v, want it to be valid: %v", tt.name, p, tt.valid)
		}
	}
}
