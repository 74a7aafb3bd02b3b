package capacity

import (
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
)

// Schema is the version of a report's JSON.
const Schema = 1

// Report is the capacities of a scenario's variants.
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

// Capacity is what a search has found for one variant.
type Capacity struct {
	Variant string `json:"variant"`
	Result
	Trials []Trial `json:"trials"`
}

// Add adds what a search has found.
func (r *Report) Add(variant string, s *Search) {
	r.Variants = append(r.Variants, Capacity{Variant: variant, Result: s.Result(), Trials: append([]Trial{}, s.Trials...)})
}

// Outcome returns [outcome.Inconclusive] if the capacity of a variant is not known.
func (r Report) Outcome() outcome.Outcome {
	for _, v := range r.Variants {
		if v.Capacity == 0 {
			return outcome.Inconclusive
		}
	}
	return outcome.Pass
}

// longestWhy is the width of the column with the reasons, beyond which they are wrapped.
const longestWhy = 20

// Write prints the capacities as a table of at most width columns, and below it why some are not known.
func (r Report) Write(w io.Writer, width int) error {
	unit, at := "/s", fmt.Sprintf("%d clients, ", r.Clients)
	if r.By == ByClients {
		unit, at = " clients", ""
	}
	plural := table.Plural(r.Repeats, "repeat")
	heading := fmt.Sprintf("%s on %s: the largest load at which %s, %s%d %s of each trial", r.Scenario, r.Engine, r.Objective, at, r.Repeats, plural)
	fmt.Fprintf(w, "%s\n\n", table.Wrap(heading, width))
	metric, _, _ := strings.Cut(r.Objective, " ")
	columns := append(table.Left("variant"), table.Right("capacity", "worst "+metric, "fails at", "why", "trials")...)
	columns[4].Width = longestWhy
	t := table.New(columns...)
	for _, v := range r.Variants {
		if v.Capacity == 0 {
			t.Row(v.Variant, table.Missing, table.Missing, table.Missing, table.Missing, len(v.Trials))
			continue
		}
		t.Row(v.Variant, fmt.Sprint(v.Capacity, unit), v.why(Confirm), fmt.Sprint(v.Refuted, unit), v.why(Refute), len(v.Trials))
	}
	rendered, _ := t.Text(width)
	if _, err := fmt.Fprintln(w, rendered); err != nil {
		return err
	}
	for _, v := range r.Variants {
		if v.Capacity == 0 {
			fmt.Fprintln(w, table.Wrap(fmt.Sprintf("%s: no capacity: %s", v.Variant, v.Why), width))
		}
	}
	return nil
}

// why returns what the last trial for a purpose measured.
func (c Capacity) why(p Purpose) string {
	for i := len(c.Trials) - 1; i >= 0; i-- {
		if c.Trials[i].Purpose == p {
			return c.Trials[i].Why
		}
	}
	return table.Missing
}
