package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
)

// excuse is a reason for an invalid measurement that need not be a mistake of zkbench.
type excuse struct {
	reason  string // part of its text
	excused func(*results.Document) bool
}

// excuses returns the excuses. A document has no reasons that the kinds of faults in its schedule explain.
// Any other reason fails a soak: neither a fault nor a busy machine makes counts that the servers' counters contradict, replies
// that belong to no request, or times over an hour.
func excuses() []excuse {
	return []excuse{
		// A fault can take all of a window of some seconds, with the time until a session has run out or a leader is elected.
		{"no operation was completed in the window", somethingFailed},
		// The seed chooses victims that may not exist, and moments so late that a fault takes effect after the window.
		{"no fault happened in the window", func(*results.Document) bool { return true }},
		// A machine that stands still ends connections, sessions and the term of a leader.
		{"sessions were lost", machineStoodStill},
		{"times a session had to reconnect", machineStoodStill},
		{"reads by bystanders failed", machineStoodStill},
		{"the leader changed", machineStoodStill},
		{"restarted", machineStoodStill},
	}
}

func somethingFailed(d *results.Document) bool { return d.Failure != nil && len(d.Failure.Faults) > 0 }

// machineStoodStill reports whether zkbench or a server got no CPU for long enough that a session could lose its connection. The
// client library sends a ping after a third of the session timeout and gives up a connection after two thirds without a reply.
//
// Note: slow operations and reads are not evidence, because a mistake of zkbench could cause them as well.
func machineStoodStill(d *results.Document) bool {
	longest := max(d.Health.LatenessP99, d.Health.SchedulerP99, d.Health.GCPauseMax)
	for _, s := range d.Servers {
		if s.JVMPauses != nil {
			longest = max(longest, longestPause(*s.JVMPauses))
		}
	}
	return longest >= soakTimeout/3
}

// longestPause returns the longest pause of a server's JVM, or an upper bound if it has had a longer one before the measurement.
func longestPause(pauses results.Timing) time.Duration {
	if pauses.Max != nil {
		return *pauses.Max
	}
	return min(pauses.Sum, pauses.MaxSinceStart)
}

// unexcused returns the reasons for which a measurement is invalid and that must not occur in a soak.
func unexcused(d *results.Document) []string {
	return slices.DeleteFunc(slices.Clone(d.Invalid), func(reason string) bool {
		return slices.ContainsFunc(excuses(), func(e excuse) bool { return strings.Contains(reason, e.reason) && e.excused(d) })
	})
}

// errorSpy keeps the errors of a test that must fail.
type errorSpy struct {
	testing.TB
	errors []string
}

func (s *errorSpy) Errorf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

// soakErrors returns the errors that a soak reports about a measurement of a lock.
func soakErrors(t *testing.T, d *results.Document) string {
	t.Helper()
	spy := &errorSpy{TB: t}
	s := soak{broken: map[string]int{}, caused: map[string]int{}}
	s.add(spy, faulty(d.Recipe, 4, d.Scenario.Faults), d)
	return strings.Join(spy.errors, "\n")
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// A measurement that is invalid fails the soak, unless its faults, the seed or a machine that stood still explain each reason.
func TestSoakReasons(t *testing.T) {
	const stall = 2 * time.Second
	stalled, short := stall, time.Millisecond
	fault := results.Fault{Kind: "deaf", Target: "any"}
	unexplained := func(d *results.Document) {
		d.Health = results.Health{SessionsLost: 1, Reconnects: 2, BystanderErrors: 3, LeaderChanged: true}
		d.Servers = []results.ServerReport{{Server: 1, Name: "zoo1", Restarted: true}}
	}
	paused := func(pauses results.Timing) func(*results.Document) {
		return func(d *results.Document) {
			d.Health.SessionsLost, d.Servers = 1, []results.ServerReport{{Server: 1, Name: "zoo1", JVMPauses: &pauses}}
		}
	}
	var occurred []string
	for _, tt := range []struct {
		name    string
		facts   func(*results.Document)
		invalid int      // reasons
		want    []string // parts of the reasons that fail the soak
	}{
		{"valid", func(*results.Document) {}, 0, nil},
		{"the servers sent fewer notifications", func(d *results.Document) {
			d.Oracle = results.Oracle{Checked: true, ClientNotifications: 1}
		}, 1, []string{"1 notifications"}},
		{"the servers made fewer transactions", func(d *results.Document) {
			d.Oracle = results.Oracle{Checked: true, ClientWrites: 1}
		}, 1, []string{"1 writes"}},
		{"a reply to no request", func(d *results.Document) { d.Health.UnmatchedReplies = 1 }, 1, []string{"could not match"}},
		{"a latency of hours", func(d *results.Document) {
			d.Histograms["acquire"] = results.Histogram{Dropped: 1}
		}, 1, []string{"over an hour"}},
		{"a fault stops all", func(d *results.Document) { d.Window.Operations = 0 }, 1, nil},
		{"nothing stops all", func(d *results.Document) { d.Window.Operations, d.Failure.Faults = 0, nil }, 2, []string{"no operation"}},
		{"a fault met no victim", func(d *results.Document) { d.Failure.Faults, d.Failure.Missed = nil, 1 }, 1, nil},
		{"outages without a fault that causes them", unexplained, 5,
			[]string{"1 sessions", "3 reads", "the leader changed", "2 times", "zoo1 restarted"}},
		{"a fault explains the outages", func(d *results.Document) {
			unexplained(d)
			d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "any", At: time.Second}}
		}, 0, nil},
		{"a server's JVM stood still", paused(results.Timing{Sum: stall, Max: &stalled, MaxSinceStart: stall}), 1, nil},
		{"it may have stood still", paused(results.Timing{Sum: stall, MaxSinceStart: time.Minute}), 1, nil},
		{"it stood still before", paused(results.Timing{Sum: short, MaxSinceStart: time.Minute}), 1, []string{"1 sessions"}},
		{"it was slow throughout", paused(results.Timing{Sum: time.Minute, Max: &short, MaxSinceStart: short}), 1, []string{"1 sessions"}},
		{"zkbench stood still", func(d *results.Document) { unexplained(d); d.Health.LatenessP99 = stall }, 5, nil},
		{"operations stood still", func(d *results.Document) {
			d.Health.SessionsLost, d.Stalls = 1, []results.Stall{{Length: stall}}
		}, 1, []string{"1 sessions"}},
		{"a stall does not excuse counts", func(d *results.Document) {
			d.Health.LatenessP99, d.Oracle = stall, results.Oracle{Checked: true, ClientWrites: 1}
		}, 1, []string{"1 writes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &results.Document{
				Recipe: "lock", Variant: "znode", Scenario: results.Scenario{Faults: []results.FaultLoad{{Kind: "deaf", Whom: "any", At: time.Second}}},
				Window: results.Window{Operations: 10}, Failure: &results.Failure{Faults: []results.Fault{fault}},
				Histograms: map[string]results.Histogram{},
			}
			tt.facts(d)
			d.Invalid = append(d.Invalid, doubts.Invalid(d)...)
			d.Warnings = append(d.Warnings, doubts.Warnings(d)...)
			occurred = append(occurred, d.Invalid...)
			if blamed := unexcused(d); len(d.Invalid) != tt.invalid || len(blamed) != len(tt.want) {
				t.Errorf("invalid %q, of these unexcused %q, want %d and %d", d.Invalid, blamed, tt.invalid, len(tt.want))
			}
			want := tt.want
			if len(want) > 0 {
				want = append(want, "zkbench run lock-")
			}
			if said := soakErrors(t, d); (said == "") != (len(want) == 0) || !containsAll(said, want) {
				t.Errorf("reported %q, want all of %q", said, want)
			}
		})
	}
	for _, e := range excuses() {
		if !slices.ContainsFunc(occurred, func(reason string) bool { return strings.Contains(reason, e.reason) }) {
			t.Errorf("no document gives the reason %q", e.reason)
		}
	}
}
