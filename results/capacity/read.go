package capacity

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// File is the name of the report in the folder of the trials.
const File = "capacity.json"

// ConfirmFolder is the subfolder with the documents of confirmations, which would replace those of the trials before them.
const ConfirmFolder = "confirm"

// Read returns the report in a file; see [Decode].
func Read(path string) (Report, error) {
	text, err := store.ReadFile(path)
	if err != nil {
		return Report{}, err
	}
	r, err := Decode(text)
	if err != nil {
		return r, fmt.Errorf("%s %w", filepath.Clean(path), err)
	}
	return r, nil
}

// Decode returns the report in a text; see [results.DecodeSealed].
func Decode(text []byte) (Report, error) {
	var r Report
	if err := store.DecodeSealed(text, Schema, &r); err != nil {
		return r, fmt.Errorf("is not a report of `zkbench capacity`: it %w", err)
	}
	return r, nil
}

// trialKey identifies the documents that a search keeps of one trial: those of the last trial of a load, and, apart from them, those
// of its last confirmation.
type trialKey struct {
	variant string
	load    int
	confirm bool
}

func (k trialKey) String() string {
	text := fmt.Sprintf("%s at %d", k.variant, k.load)
	if k.confirm {
		text += fmt.Sprintf(" (%s)", Confirm)
	}
	return text
}

// CheckTrials returns an error unless the documents in the report's folder and those of its confirmations are the ones of the
// report's trials. A variant without a capacity may lack documents: its last trial may have been interrupted.
func (r Report) CheckTrials(trials, confirmations []*results.Document) error {
	repeats := map[trialKey]int{} // that must be there at least
	whole := map[string]bool{}    // by variant
	for _, v := range r.Variants {
		whole[v.Variant] = v.Capacity > 0
		for _, t := range v.Trials { // a later trial replaces the documents of an earlier one
			key := trialKey{v.Variant, t.Load, t.Purpose == Confirm}
			if repeats[key] = 1; t.Outcome == Holds {
				repeats[key] = r.Repeats
			}
		}
	}
	all := slices.Concat(trials, confirmations)
	for i, d := range all {
		key := r.keyOf(d, i >= len(trials))
		_, known := repeats[key]
		searched := slices.ContainsFunc(r.Variants, func(c Capacity) bool { return c.Variant == d.Variant })
		interrupted := d.Repeat == 0 || !whole[d.Variant] && searched
		if !r.measured(d) || d.Run != all[0].Run || !known && !interrupted {
			return fmt.Errorf("%s is of no trial in the report: give the results of one search", d.Filename())
		}
		if d.Repeat > 0 {
			repeats[key]--
		}
	}
	for key, missing := range repeats {
		if missing > 0 && whole[key.variant] {
			return fmt.Errorf("%s: %d %s of a trial in the report are missing", key, missing, table.Plural(missing, "repeat"))
		}
	}
	return nil
}

func (r Report) keyOf(d *results.Document, confirm bool) trialKey {
	if r.By == ByRate {
		return trialKey{d.Variant, d.Rate, confirm}
	}
	return trialKey{d.Variant, d.Clients, confirm}
}

// measured reports whether a document is of the report's scenario, engine and kind of load.
func (r Report) measured(d *results.Document) bool {
	sameLoad := r.By == ByRate && d.Clients == r.Clients || r.By == ByClients && d.Rate == 0
	return sameLoad && d.Scenario.Name == r.Scenario && d.Environment.Engine == r.Engine
}
