package capacity_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/capacity"
)

// find searches with trials that an ensemble answers.
func find(t *testing.T, first, most int, answer func(load int) capacity.Outcome) *capacity.Search {
	t.Helper()
	s := capacity.NewSearch(first, most)
	for trial, ok := s.Next(); ok; trial, ok = s.Next() {
		if trial.Load < 1 || trial.Load > most && trial.Purpose != capacity.Refute {
			t.Fatalf("trial of load %d", trial.Load)
		}
		trial.Outcome, trial.Why = answer(trial.Load), "as measured"
		s.Report(trial)
		if len(s.Trials) > 100 {
			t.Fatalf("the search does not end: %+v", s.Trials[90:])
		}
	}
	return s
}

// A capacity is found within 5 % from any first load, and a load 10 % above it was seen to fail.
func TestCapacityIsFound(t *testing.T) {
	for _, knee := range []int{1, 2, 3, 7, 19, 50, 99, 100, 101, 777, 5000, 99_000} {
		for _, first := range []int{1, 10, 100, 10_000, 100_000} {
			s := find(t, first, 100_000, func(load int) capacity.Outcome {
				if load <= knee {
					return capacity.Holds
				}
				return capacity.Fails
			})
			r := s.Result()
			if r.Capacity > knee || float64(r.Capacity) < float64(knee)/1.05-1e-9 || r.Refuted <= knee {
				t.Errorf("knee %d, first load %d: %+v", knee, first, r)
			}
		}
	}
}

// The load that must fail is a tenth larger, rounded up to a whole number.
func TestRefutedLoadIsATenthLarger(t *testing.T) {
	for knee, want := range map[int]int{1: 2, 9: 10, 10: 11, 11: 13, 100: 110, 101: 112, 1000: 1100, 5000: 5500} {
		r := find(t, knee, 100_000, func(load int) capacity.Outcome {
			if load <= knee {
				return capacity.Holds
			}
			return capacity.Fails
		}).Result()
		if r.Capacity != knee || r.Refuted != want {
			t.Errorf("first load %d: %+v, want it to be refuted at %d", knee, r, want)
		}
	}
}

// If no load holds, or every load does, there is a reason instead of a capacity.
func TestObjectiveThatNothingDecides(t *testing.T) {
	for _, tt := range []struct {
		outcome capacity.Outcome
		why     string
	}{
		{capacity.Holds, "holds at the largest load that is tried, 1000"},
		{capacity.Fails, "fails at the smallest load"},
		{capacity.Unclear, "must not be used"},
	} {
		r := find(t, 50, 1000, func(int) capacity.Outcome { return tt.outcome }).Result()
		if r.Capacity != 0 || !strings.Contains(r.Why, tt.why) {
			t.Errorf("%s everywhere: %+v, want no capacity, as the objective %q", tt.outcome, r, tt.why)
		}
	}
}

// A load that held by chance is not the capacity, and neither is a load if a larger one holds, too.
func TestContradictionsAreResolvedOrReported(t *testing.T) {
	once := map[int]bool{}
	r := find(t, 100, 10_000, func(load int) capacity.Outcome {
		lucky := load <= 130 && !once[load] // each load up to 130 holds once, and up to 100 always
		once[load] = true
		if load <= 100 || lucky {
			return capacity.Holds
		}
		return capacity.Fails
	}).Result()
	if r.Capacity > 100 || r.Capacity != 0 && r.Capacity < 95 {
		t.Errorf("%+v, want 95 to 100, or none", r)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		s := find(t, 100, 10_000, func(int) capacity.Outcome {
			return []capacity.Outcome{capacity.Holds, capacity.Fails, capacity.Unclear}[random.IntN(3)]
		})
		r := s.Result()
		if (r.Capacity == 0) != (r.Why != "") {
			t.Fatalf("%+v", r)
		}
		if r.Capacity > 0 && !confirmedAndRefuted(s, r) {
			t.Fatalf("%+v without a confirmation and a refutation: %+v", r, s.Trials)
		}
	}
}

func confirmedAndRefuted(s *capacity.Search, r capacity.Result) bool {
	confirmed, refuted := false, false
	for _, trial := range s.Trials {
		switch {
		case trial.Purpose == capacity.Confirm && trial.Load == r.Capacity && trial.Outcome == capacity.Holds:
			confirmed = true
		case trial.Purpose == capacity.Refute && trial.Load == r.Refuted && trial.Outcome == capacity.Fails:
			refuted = true
		}
	}
	return confirmed && refuted
}
