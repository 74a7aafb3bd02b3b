package faults_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/faults"
)

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		schedule string
		window   time.Duration
		want     string // the index and the time of the first seven occurrences
	}{
		{"kill: leader, at: 2s, for: 3s", 5 * time.Second, "0@2s"},
		{"cut: any, at: 1s, every: 2s; cut: all, every: 3s", 7 * time.Second, "0@1s 0@3s 1@3s 0@5s 1@6s"},
		{"cut: any, at: 4s; cut: all, at: 3s; stop: any, at: 3s", 5 * time.Second, "1@3s 2@3s 0@4s"},
		{"cut: any, at: 5s", 5 * time.Second, ""}, // the end does not belong to the window
		{"cut: any, at: 5s; cut: any, every: 2s", 0, "1@2s 1@4s 0@5s 1@6s 1@8s 1@10s 1@12s"},
	} {
		next, stop := iter.Pull(faults.Plan(schedule(t, tt.schedule), tt.window))
		var got []string
		for o, ok := next(); ok && len(got) < 7; o, ok = next() {
			got = append(got, fmt.Sprintf("%d@%s", o.Index, o.Due))
		}
		stop()
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s in %s: got %s, want %s", tt.schedule, tt.window, text, tt.want)
		}
	}
	for o := range faults.Plan(nil, 0) {
		t.Errorf("an empty schedule has %v", o)
	}
}
