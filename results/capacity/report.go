package capacity

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// Schema is the version of a report's JSON.
const Schema = 1

// Report lists the capacities of a scenario's variants.
type Report struct {
	Schema    int        `json:"schema"`
	Scenario  string     `json:"scenario"`
	Engine    string     `json:"engine"`
	By        string     `json:"by"`                // [ByRate] or [ByClients]
	Clients   int        `json:"clients,omitempty"` // of all trials by rate
	Objective string     `json:"objective"`
	Repeats   int        `json:"repeats"`  // of each trial
	First     int        `json:"first"`    // the load of the first trial
	Most      int        `json:"most"`     // the largest load to try
	Breaches  int64      `json:"breaches"` // of the recipe's promise, in all trials, replaced ones included
	Variants  []Capacity `json:"variants"`
}

// Capacity is the result of the search for one variant.
type Capacity struct {
	Variant string `json:"variant"`
	Result
	Trials []Trial `json:"trials"`
}

// Add appends the result of a variant's search, with its trials.
func (r *Report) Add(variant string, s *Search) {
	r.Variants = append(r.Variants, Capacity{Variant: variant, Result: s.Result(), Trials: append([]Trial{}, s.Trials...)})
}

// Unknown says why the capacity is not known; empty if it is known.
func (c Capacity) Unknown() string {
	if c.Capacity > 0 {
		return ""
	}
	return fmt.Sprintf("%s has no capacity: %s", c.Variant, c.Why)
}

// Unknown says for each variant without a capacity why it is not known.
func (r Report) Unknown() []string {
	return list.Where(list.Map(r.Variants, Capacity.Unknown), func(why string) bool { return why != "" })
}

// Write prints the capacities as a table of at most width columns, and below it why some are not known.
func (r Report) Write(w io.Writer, width int) {
	unit, at := "/s", fmt.Sprintf("%d clients, ", r.Clients)
	if r.By == ByClients {
		unit, at = " clients", ""
	}
	heading := fmt.Sprintf("%s on %s: the largest load at which %s, %s%d %s of each trial",
		r.Scenario, r.Engine, r.Objective, at, r.Repeats, table.Plural(r.Repeats, "repeat"))
	fmt.Fprintf(w, "%s\n\n", table.Wrap(table.Escaped(heading), width))
	metric, _, _ := strings.Cut(r.Objective, " ")
	columns := append(table.Left("variant"), table.Right("capacity", "worst "+metric, "fails at", "why", "trials")...)
	columns[4].Width, columns[5].Need = 20, 1 // reasons are wrapped, and a narrow terminal has no room for the number of trials
	t := table.New(columns...)
	for _, v := range r.Variants {
		if v.Capacity == 0 {
			t.Row(v.Variant, table.Missing, table.Missing, table.Missing, table.Missing, len(v.Trials))
			continue
		}
		t.Row(v.Variant, fmt.Sprint(v.Capacity, unit), v.why(Confirm), fmt.Sprint(v.Refuted, unit), v.why(Refute), len(v.Trials))
	}
	rendered, _ := t.Text(width)
	fmt.Fprintln(w, rendered)
	for _, why := range r.Unknown() {
		fmt.Fprintln(w, table.Wrap(table.Escaped(why), width))
	}
}

func (c Capacity) why(p Purpose) string {
	trials := list.Where(c.Trials, func(t Trial) bool { return t.Purpose == p })
	if len(trials) == 0 {
		return table.Missing
	}
	return trials[len(trials)-1].Why
}

// File is the name of the report in the folder of the trials.
const File = "capacity.json"

// ConfirmFolder is the subfolder for the documents of confirmations, which would replace those of earlier trials.
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

// Decode returns the report in a text; see [store.DecodeSealed].
func Decode(text []byte) (Report, error) {
	var r Report
	if err := store.DecodeSealed(text, Schema, &r); err != nil {
		return r, fmt.Errorf("is not a report of `zkbench capacity`: it %w", err)
	}
	return r, nil
}

// trial names the documents that a search keeps: of the last trial of a load, and separately of the last confirmation.
func trial(variant string, load int, confirms bool) string {
	if confirms {
		return fmt.Sprintf("%s at %d (%s)", variant, load, Confirm)
	}
	return fmt.Sprintf("%s at %d", variant, load)
}

// CheckTrials returns an error unless the documents in the report's folder and its confirmations belong to the report's
// trials. A variant without a capacity may lack documents, because its last trial may have been interrupted.
func (r Report) CheckTrials(trials, confirmations []*results.Document) error {
	missing := map[string]int{} // by trial, the number of repeats that must be there at least
	for _, v := range r.Variants {
		for _, t := range v.Trials { // a later trial replaces the documents of an earlier one
			name := trial(v.Variant, t.Load, t.Purpose == Confirm)
			missing[name] = 1
			switch {
			case v.Capacity == 0:
				missing[name] = 0
			case t.Outcome == Holds:
				missing[name] = r.Repeats
			}
		}
	}
	all := slices.Concat(trials, confirmations)
	for i, d := range all {
		load, sameLoad := d.Clients, d.Rate == 0
		if r.By == ByRate {
			load = int(d.Rate)
			sameLoad = d.Clients == r.Clients && d.Rate == results.Rate(load) // a search tries whole numbers per second
		}
		name := trial(d.Variant, load, i >= len(trials))
		_, known := missing[name]
		cut := func(c Capacity) bool { return c.Variant == d.Variant && c.Capacity == 0 }
		known = known || d.Repeat == 0 || slices.ContainsFunc(r.Variants, cut)
		if !known || !sameLoad || d.Scenario.Name != r.Scenario || d.Environment.Engine != r.Engine || d.Run != all[0].Run {
			return fmt.Errorf("%s is of no trial in the report: give the results of one search", table.Escaped(d.Filename()))
		}
		if d.Repeat > 0 {
			missing[name]--
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if n := missing[name]; n > 0 {
			return fmt.Errorf("%s: %d %s of a trial in the report are missing", name, n, table.Plural(n, "repeat"))
		}
	}
	return nil
}
