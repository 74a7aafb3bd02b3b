package capacity

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// File is the name of the report in the folder of the trials.
const File = "capacity.json"

// ConfirmFolder is the subfolder with the documents of confirmations, which would replace those of the trials before them.
const ConfirmFolder = "confirm"

// Read returns the report in a file; see [Decode].
func Read(path string) (Report, error) {
	text, err := results.ReadFile(path)
	if err != nil {
		return Report{}, err
	}
	r, err := Decode(text)
	if err != nil {
		return r, fmt.Errorf("%s %w", filepath.Clean(path), err)
	}
	return r, nil
}

// Decode returns the report in a text. It runs the search again with the outcomes of the trials, and returns an error if the search
// asks for other trials or finds something else.
func Decode(text []byte) (Report, error) {
	var r Report
	if err := results.DecodeStrict(text, &r); err != nil {
		return r, fmt.Errorf("is no whole report of `zkbench capacity`: %w", err)
	}
	if r.Schema != Schema {
		return r, fmt.Errorf("has schema %d, this zkbench reads %d: measure the capacity again", r.Schema, Schema)
	}
	if err := r.validate(); err != nil {
		return r, fmt.Errorf("contradicts itself: %w", err)
	}
	return r, nil
}

func (r Report) validate() error {
	objective, err := ParseObjective(r.Objective)
	if err == nil {
		err = objective.Check(r.By)
	}
	switch {
	case err != nil:
		return fmt.Errorf("objective: %w", err)
	case objective.String() != r.Objective:
		return fmt.Errorf("objective is %q, which zkbench writes as %q", r.Objective, objective)
	case r.By != ByRate && r.By != ByClients:
		return fmt.Errorf("by is %q, neither %s nor %s", r.By, ByRate, ByClients)
	case (r.By == ByRate) != (r.Clients > 0):
		return fmt.Errorf("clients is %d, and by %s", r.Clients, r.By)
	case r.First < 1 || r.Most < r.First:
		return fmt.Errorf("first is %d, and most %d", r.First, r.Most)
	case r.Scenario == "" || r.Repeats < 1 || len(r.Variants) == 0:
		return fmt.Errorf("scenario is %q, with %d repeats and %d variants", r.Scenario, r.Repeats, len(r.Variants))
	case !slices.Contains([]string{"container", "process", "external", results.Embedded}, r.Engine):
		return fmt.Errorf("engine is %q", r.Engine)
	}
	return r.validateVariants()
}

func (r Report) validateVariants() error {
	seen := map[string]bool{}
	for _, v := range r.Variants {
		if v.Variant == "" || seen[v.Variant] {
			return fmt.Errorf("variants has %q twice, or without a name", v.Variant)
		}
		seen[v.Variant] = true
		if err := v.replay(r.First, r.Most); err != nil {
			return fmt.Errorf("%s: %w", v.Variant, err)
		}
	}
	return nil
}

// replay returns an error unless a search that sees the same outcomes asks for the same trials and finds the same.
func (c Capacity) replay(first, most int) error {
	s := NewSearch(first, most)
	for i, t := range c.Trials {
		want, more := s.Next()
		switch {
		case !more:
			return fmt.Errorf("trial %d comes after the end of the search", i+1)
		case t.Load != want.Load || t.Purpose != want.Purpose:
			return fmt.Errorf("trial %d is of load %d (%s), and the trials before it ask for %d (%s)", i+1, t.Load, t.Purpose, want.Load, want.Purpose)
		case !slices.Contains([]Outcome{Holds, Fails, Unclear}, t.Outcome):
			return fmt.Errorf("trial %d has the outcome %q", i+1, t.Outcome)
		}
		s.Report(t)
	}
	if found := s.Result(); found != c.Result {
		return fmt.Errorf("its trials show %s, and the report has %s", found, c.Result)
	}
	return nil
}

// String returns the result for messages.
func (r Result) String() string {
	if r.Capacity == 0 {
		return fmt.Sprintf("no capacity (%s)", r.Why)
	}
	return fmt.Sprintf("a capacity of %d, refuted at %d%s", r.Capacity, r.Refuted, r.Why)
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
// report's trials, and show the outcomes that it has. A variant without a capacity may lack documents: its last trial may have been
// interrupted.
func (r Report) CheckTrials(trials, confirmations []*results.Document) error {
	objective, err := ParseObjective(r.Objective)
	if err != nil {
		return err
	}
	kept := map[trialKey]Trial{}
	for _, v := range r.Variants {
		for _, t := range v.Trials {
			kept[trialKey{v.Variant, t.Load, t.Purpose == Confirm}] = t
		}
	}
	docs := map[trialKey][]*results.Document{}
	all := slices.Concat(trials, confirmations)
	for i, d := range all {
		key := r.keyOf(d, i >= len(trials))
		_, known := kept[key]
		if sound := r.measured(d) && d.Run == all[0].Run; sound && (d.Repeat == 0 || r.unfinished(d.Variant)) {
			continue // a rehearsal, or possibly a trial that was interrupted
		} else if !sound || !known {
			return fmt.Errorf("%s is of no trial in the report: give the results of one search", d.Filename())
		}
		docs[key] = append(docs[key], d)
	}
	for _, v := range r.Variants {
		for _, t := range v.Trials {
			key := trialKey{v.Variant, t.Load, t.Purpose == Confirm}
			if v.Capacity == 0 || kept[key] != t { // a later trial replaced its documents
				continue
			}
			if err := r.compare(key, t, objective, docs[key]); err != nil {
				return err
			}
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

// unfinished reports whether the search of a variant has no capacity, possibly because it was interrupted.
func (r Report) unfinished(variant string) bool {
	return slices.ContainsFunc(r.Variants, func(c Capacity) bool { return c.Variant == variant && c.Capacity == 0 })
}

// measured reports whether a document is of the report's scenario, engine and kind of load.
func (r Report) measured(d *results.Document) bool {
	sameLoad := r.By == ByRate && d.Clients == r.Clients || r.By == ByClients && d.Rate == 0
	return sameLoad && d.Scenario.Name == r.Scenario && d.Environment.Engine == r.Engine
}

// compare returns an error if the documents of a trial do not show its outcome.
func (r Report) compare(key trialKey, t Trial, o Objective, docs []*results.Document) error {
	slices.SortFunc(docs, func(a, b *results.Document) int { return cmp.Compare(a.Repeat, b.Repeat) })
	docs = slices.DeleteFunc(docs, func(d *results.Document) bool { return d.Repeat == 0 }) // a rehearsal
	for i, d := range docs {
		outcome, why := o.Judge(d, t.Purpose)
		if d.Repeat == i+1 && outcome == Holds {
			continue
		}
		if d.Repeat != i+1 || i+1 < len(docs) || outcome != t.Outcome {
			return fmt.Errorf("%s: %s shows that it %s (%s), and the report that it %s", key, d.Filename(), outcome, why, t.Outcome)
		}
		return nil
	}
	if t.Outcome != Holds || len(docs) != r.Repeats {
		return fmt.Errorf("%s: it %s in %d of %d repeats, and the report says that it %s", key, Holds, len(docs), r.Repeats, t.Outcome)
	}
	return nil
}
