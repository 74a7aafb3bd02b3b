package results

import (
	"testing"
	"time"
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
		{"all in herds", GroupedByZxid, 0, 6, true},
		{"two in none", GroupedByZxid, 2, 8, true},
		{"two of which no trace is left", GroupedByZxid, 0, 8, false},
		{"two too many", GroupedByZxid, 2, 6, false},
	} {
		d := Document{Counts: Counts{Notified: tt.notified}}
		d.Herd = Herd{Grouping: tt.grouping, Ungrouped: tt.ungrouped, Sizes: []SizeCount{{Size: 3, Count: 2}}}
		var err error
		if d.Herd.Spread, err = NewHistogram(make([]time.Duration, 2)); err != nil {
			t.Fatal(err)
		}
		var p problems
		if d.checkHerd(&p); (len(p) == 0) != tt.valid {
			t.Errorf("%s: %v, want it to be valid: %v", tt.name, p, tt.valid)
		}
	}
}
