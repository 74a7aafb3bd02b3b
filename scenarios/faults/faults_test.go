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

func TestWords(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"kill: leader, at: 2s, for: 3s", "the leader is killed at 2s, for 3s"},
		{"kill: zoo2, at: 2s", "zoo2 is killed at 2s, to the end"},
		{"pause: follower, every: 5s, for: 1s", "a follower is paused every 5s, for 1s"},
		{"partition: any, at: 1s, every: 5s, for: 1s", "a server is cut off from the other servers at 1s and then every 5s, for 1s"},
		{"expire: holder, at: 1s", "the session of a holder expires at 1s"},
		{"expire: all, at: 1s", "the sessions of all clients expire at 1s"},
		{"cut: any, at: 1s", "the connection of a client is cut at 1s"},
		{"cut: all, before: create, at: 1s", "the connections of all clients are cut before the next create is sent, at 1s"},
		{"cut: client 3, after: multi, every: 1s", "the connection of client 3 is cut after the next multi is sent and before its reply, every 1s"},
		{"stop: idle, at: 1s", "an idle client stops dead at 1s"},
		{"stop: writer, after: setData, at: 1s", "a writer stops dead after the next setData is sent and before its reply at 1s"},
		{"stop: owner, at: 1s", "an owner stops dead at 1s"},
		{"stop: master, at: 1s, every: 1s", "a master stops dead every 1s"},
		{"deaf: any, at: 1s, for: 2s", "a client ignores requests of other clients at 1s, for 2s"},
	} {
		if got := faults.Words(schedule(t, tt.fault)[0]); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.fault, got, tt.want)
		}
	}
}
