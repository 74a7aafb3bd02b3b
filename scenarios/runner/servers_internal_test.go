package runner

import (
	"testing"
	"time"
)

// A server that was young before the measurement may be older after it, and still have restarted meanwhile.
func TestRestarted(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name      string
		was, is   int64         // uptime in milliseconds
		elapsed   time.Duration // from the first answer to the second question
		restarted bool
	}{
		{"it ran all the time", 6000, 66_000, 60 * time.Second, false},
		{"it was asked slowly", 6000, 96_000, 60 * time.Second, false},
		{"its clock is slow", 6000, 65_900, 60 * time.Second, false},
		{"whole milliseconds", 6000, 6000, time.Millisecond, false},
		{"an old server restarted", 1_000_000, 59_000, 60 * time.Second, true},
		{"a young server restarted", 6000, 59_000, 60 * time.Second, true},
		{"a young server restarted at once", 2000, 59_900, 60 * time.Second, true},
	} {
		before := serverReading{answered: start, counters: map[string]int64{"zk_uptime": tt.was}}
		after := serverReading{asked: start.Add(tt.elapsed), counters: map[string]int64{"zk_uptime": tt.is}}
		if got := restarted(before, after); got != tt.restarted {
			t.Errorf("%s: restarted = %t, want %t", tt.name, got, tt.restarted)
		}
	}
}
