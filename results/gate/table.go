package gate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// The limits of what a terminal shows. The files have everything.
const (
	mostFailures = 12
	mostNotes    = 5
)

// title returns the subject of a check and its metric or rule.
func (c Check) title() string {
	what := cmp.Or(c.Metric, c.Rule)
	if c.Source == FromScenario || c.Source == FromFile { // their rules name the variant
		c.Variant, what = "", c.Rule
	}
	return strings.TrimSpace(c.subject() + " " + what)
}

// shown returns the checks that a reader must see: those that fail and those that improved.
func (r Report) shown() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return !c.failed() && !c.improved() })
}

// improved reports whether a check passed and is better than the baseline.
func (c Check) improved() bool { return !c.failed() && c.better }

// WriteTable prints the verdict in at most width columns and on about one screen: the checks that fail with their reasons,
// the others as numbers.
func (r Report) WriteTable(w io.Writer, width int) error {
	shown := r.shown()
	if len(shown) > 0 {
		fmt.Fprintln(w, renderChecks(shown[:min(len(shown), mostFailures)], width))
		if more := len(shown) - mostFailures; more > 0 {
			fmt.Fprintf(w, "… and %d more: --json FILE has them all\n", more)
		}
		fmt.Fprintln(w)
	}
	for i, note := range r.Notes {
		if i == mostNotes && len(r.Notes) > mostNotes+1 {
			fmt.Fprintf(w, "… and %d notes more: --json FILE has them all\n", len(r.Notes)-mostNotes)
			break
		}
		fmt.Fprintln(w, table.Wrap("note: "+note, width))
	}
	_, err := fmt.Fprintln(w, table.Wrap(r.Summary(), width))
	return err
}

func renderChecks(checks []Check, width int) string {
	const outcome = 14 // the longest outcome, and the space between columns
	title := (width - outcome) * 2 / 5
	t := table.New(table.Column{Title: "outcome"}, table.Column{Title: "check", Width: title - 2}, table.Column{Title: "why", Width: width - outcome - title - 6})
	for _, c := range checks {
		t.Row(c.label(), c.title(), c.Why)
	}
	return t.String()
}

// label returns the outcome of a check that is shown, as the table shows it.
func (c Check) label() string {
	if c.improved() {
		return "improved"
	}
	return strings.ToUpper(string(c.Outcome))
}

// Summary returns the verdict in one line, with the number of checks of each source that passed.
func (r Report) Summary() string {
	passed, total := map[Source]int{}, map[Source]int{}
	for _, c := range r.Checks {
		total[c.Source]++
		if !c.failed() {
			passed[c.Source]++
		}
	}
	var parts []string
	for _, source := range sortedKeys(total) {
		parts = append(parts, fmt.Sprintf("%d of %d %s", passed[source], total[source], source))
	}
	return fmt.Sprintf("%s: %s checks passed (exit code %d)", strings.ToUpper(string(r.Verdict)), strings.Join(parts, ", "), r.Code)
}
