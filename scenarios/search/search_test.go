package search

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios"
)

// A trial that ends at its first repeat does not leave those of an earlier trial of the same load beside it.
func TestCapacityRemovesEarlierTrials(t *testing.T) {
	dir := t.TempDir()
	d := results.Document{Scenario: results.Scenario{Name: "s"}, Recipe: "lock", Variant: "znode", Clients: 5}
	var kept []string
	for _, rate := range []results.Rate{100, 200} {
		for d.Rate, d.Repeat = rate, 1; d.Repeat <= 3; d.Repeat++ {
			must.Do(t, os.WriteFile(filepath.Join(dir, d.Filename()), nil, 0o644))
			if rate == 200 {
				kept = append(kept, d.Filename())
			}
		}
	}
	s := scenarios.Scenario{Recipe: "lock", Scenario: results.Scenario{Name: "s", Variants: []string{"znode"}, Clients: []int{5}, Mode: scenarios.Open, Rate: []results.Rate{100}, Repeats: 3}}
	must.Get((&Trials{Folder: dir}).folder(s, capacity.Trial{Load: 100}))(t)
	left, err := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, kept) {
		t.Errorf("%v are left (%v), want %v", names, err, kept)
	}
}

// A search by clients tries as many as a check permits, and says so. By rate, there is nothing to lower.
func TestClip(t *testing.T) {
	for _, tt := range []struct {
		name, by                string
		most, permitted         int
		wantMost, wantLargest   int
		wantRefused, wantNotice bool
	}{
		{"enough", capacity.ByClients, 1000, 2000, 1000, 1101, false, false},
		{"fewer", capacity.ByClients, 1000, 1000, 750, 826, false, true},
		{"not even the first", capacity.ByClients, 1000, 10, 100, 111, true, true},
		{"by rate", capacity.ByRate, 50_000, 2000, 50_000, 100, false, false},
		{"too many by rate", capacity.ByRate, 50_000, 20, 50_000, 100, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said strings.Builder
			s := scenarios.Scenario{Scenario: results.Scenario{Clients: []int{100}}}
			trials := &Trials{Scenario: s, By: tt.by, First: 100, Most: tt.most, Log: &said}
			largest, err := trials.Clip(func(s scenarios.Scenario) error {
				if s.Clients[0] > tt.permitted {
					return errors.New("too many")
				}
				return nil
			})
			if trials.Most != tt.wantMost || largest.Clients[0] != tt.wantLargest || (err != nil) != tt.wantRefused || (said.Len() > 0) != tt.wantNotice {
				t.Errorf("tries %d, at most %d clients, %v; said %q", trials.Most, largest.Clients[0], err, said.String())
			}
		})
	}
}

// Of several confirmations of a variant, the documents of the last one count.
func TestConfirmedIsTheLast(t *testing.T) {
	trials := &Trials{}
	for _, c := range []struct{ variant, run string }{{"znode", "a"}, {"children-watch", "b"}, {"znode", "c"}} {
		trials.confirm(c.variant, []*results.Document{{Variant: c.variant, Run: c.run}})
	}
	got := list.Map(trials.Confirmed, func(d *results.Document) string { return d.Variant + " " + d.Run })
	if want := []string{"children-watch b", "znode c"}; !slices.Equal(got, want) {
		t.Errorf("confirmed by %v, want %v", got, want)
	}
}

// A confirmation gets other arrivals than the trial that it confirms, and so does the next confirmation of the same load.
func TestTrialsOfOneLoadHaveSeedsOfTheirOwn(t *testing.T) {
	trials := &Trials{By: capacity.ByRate, Scenario: scenarios.Scenario{Scenario: results.Scenario{Seed: 7}}}
	search := capacity.NewSearch(100, 1000)
	last := map[int]uint64{}
	for trial, more := search.Next(); more; trial, more = search.Next() {
		seed := trials.scenario("znode", trial, search.Times(trial.Load)).Seed
		if want := max(last[trial.Load]+1, 7); seed != want {
			t.Errorf("%s of %d: seed %d, want %d", trial.Purpose, trial.Load, seed, want)
		}
		last[trial.Load] = seed
		trial.Outcome = capacity.Holds
		switch {
		case trial.Load > 120:
			trial.Outcome = capacity.Fails
		case trial.Purpose == capacity.Confirm && search.Times(trial.Load) == 1:
			trial.Outcome = capacity.Unclear // and is repeated
		}
		search.Report(trial)
	}
	if r := search.Result(); last[r.Capacity] != 9 {
		t.Errorf("the seeds end with %v, and the capacity is %d", last, r.Capacity)
	}
}
