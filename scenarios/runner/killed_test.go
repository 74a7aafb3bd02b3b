package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// unplanned is a server that is killed during a load although no schedule says so.
type unplanned struct {
	name   string
	load   func(*scenarios.Scenario)
	victim func(index int, role ensemble.Role) bool
	faults []string
}

// unplannedFaults returns one load of each mode, and one in which another server fails by a schedule.
func unplannedFaults() []unplanned {
	forDuration := func(s *scenarios.Scenario) { s.Duration = 5 * time.Second }
	operations := func(s *scenarios.Scenario) { s.Duration, s.Operations = 0, 100_000 }
	lockstep := func(s *scenarios.Scenario) {
		s.Mode, s.Duration, s.Hold, s.Clients = scenarios.Lockstep, 0, 0, []int{30}
	}
	leader := func(_ int, role ensemble.Role) bool { return role == ensemble.Leader }
	owner := func(index int, _ ensemble.Role) bool { return index == 0 } // the server of the run's own session
	return []unplanned{
		{"lockstep", lockstep, owner, nil},
		{"duration", forDuration, leader, nil},
		{"operations", operations, owner, nil},
		{"beside a schedule", forDuration, leader, []string{"kill: follower, at: 1s, for: 2s"}},
	}
}

// hangs is longer than any of these runs takes, several times over.
const hangs = 2 * time.Minute

// A run whose server is killed ends by itself, and says which server is not running.
func TestUnplannedFaults(t *testing.T) {
	for _, tt := range unplannedFaults() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubbleOn(t, trio, func(t *testing.T, e *embedded.Ensemble) { tt.run(t, e) })
		})
	}
}

func (u unplanned) run(t *testing.T, e ensemble.Breaker) {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	server := u.server(t, e)
	var broke time.Time
	recipes := struckLock(func() {
		broke = time.Now()
		if err := e.Break(ctx, server, ensemble.Kill); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { heal(t, e, server) })
	s := faulty("lock", 6, schedule(t, u.faults...))
	s.Variants, s.Repeats, s.SessionTimeout = []string{"predecessor-watch"}, 3, 4*time.Second
	u.load(&s)
	for _, p := range s.Validate(recipes) {
		t.Fatal(p)
	}
	err := measure(ctx, t, e, s, recipes, func(*results.Document) {})
	want := server.Name + " is not running"
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), want) || errors.As(err, new(*pool.LeftError)) {
		t.Errorf("the run ended with %v, want %q and nothing left", err, want)
	}
	t.Logf("%s after the fault: %v", time.Since(broke).Round(100*time.Millisecond), err)
}

// server returns the first server that is to fail.
func (u unplanned) server(t *testing.T, e ensemble.Ensemble) ensemble.Server {
	t.Helper()
	for i, s := range e.Servers() {
		status, err := ensemble.Srvr(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if u.victim(i, status.Role) {
			return s
		}
	}
	t.Fatal("no server fits")
	return ensemble.Server{}
}

// struckLock returns recipes with a lock that calls happen during the load, after the rehearsal.
func struckLock(happen func()) []variants.Recipe {
	const early = 20
	var joined, steps atomic.Int64
	return sabotage("predecessor-watch", func(v *variants.Variant) {
		surround(v, func(env variants.Env, p variants.Participant) variants.Participant {
			if joined.Add(1) <= int64(env.Clients) {
				return p
			}
			return &interrupted{Participant: p, before: func(context.Context, int) error {
				if steps.Add(1) == early+1 { // a sync.Once would stop the clock on which happen waits
					happen()
				}
				return nil
			}}
		})
	})
}

// heal restores a server, and returns when all have a quorum.
func heal(t *testing.T, e ensemble.Breaker, s ensemble.Server) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := e.Restore(ctx, s); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(ctx, hangs)
	defer cancel()
	if err := ensemble.AwaitQuorum(ctx, e.Servers(), nil); err != nil {
		t.Error(err)
	}
}

// diagnosed is an ensemble whose server is found to be killed.
type diagnosed struct{ *embedded.Ensemble }

func (d diagnosed) Faults(context.Context) (map[string]ensemble.ServerFault, error) {
	return map[string]ensemble.ServerFault{d.Servers()[0].Name: ensemble.Kill}, nil
}

// The error of a run names the servers that have faults, unless the run was interrupted.
func TestFaultsAreDiagnosed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, server *embedded.Ensemble) {
		e := diagnosed{server}
		errDead := errors.New("the participant is dead")
		s := closedOf("lock", 2, "predecessor-watch")
		s.Operations = 5
		run := func(ctx context.Context, fail func(context.Context) error) error {
			return measure(ctx, t, e, s, doomedLock(2, 2, false, fail), func(*results.Document) {})
		}
		err := run(t.Context(), func(context.Context) error { return errDead })
		if want := e.Servers()[0].Name + " is not running"; !errors.Is(err, errDead) || !strings.Contains(err.Error(), want) {
			t.Errorf("the run ended with %v, want %v and %q", err, errDead, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = run(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if err == nil || errors.As(err, new(*ensemble.FaultyError)) {
			t.Errorf("an interrupted run ended with %v", err)
		}
	})
}
