package gate

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/zkbench/zkbench/results"
)

// The most that a screen shows; the files have everything.
const (
	mostFailures = 12
	mostNotes    = 5
)

// title says what a check is about, in a few words.
func (c Check) title() string {
	what := c.Metric
	if what == "" {
		what = c.Rule
	}
	if c.Source == FromScenario || c.Source == FromFile { // which name the variant themselves
		c.Variant, what = "", c.Rule
	}
	return strings.TrimSpace(c.where() + " " + what)
}

// shown returns the checks that a reader must see: those that fail, and those that only a waiver lets through. For one that
// got better, there is something to do, too.
func (r Report) shown() []Check {
	var out []Check
	for _, c := range r.Checks {
		if c.Outcome != Pass || c.improved() {
			out = append(out, c)
		}
	}
	return out
}

// improved tells whether a check passed with advice to keep what was gained.
func (c Check) improved() bool { return c.Outcome == Pass && c.better }

// WriteTable prints the verdict in at most width columns, and about one screen: what fails with its reasons, what passes
// as numbers.
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
		fmt.Fprintln(w, results.Wrap("note: "+note, width))
	}
	_, err := fmt.Fprintln(w, results.Wrap(r.Summary(), width))
	return err
}

func renderChecks(checks []Check, width int) string {
	const outcome = 14 // the longest one, and what stands between columns
	title := (width - outcome) * 2 / 5
	t := results.NewTable()
	t.AppendHeader(table.Row{"outcome", "check", "why"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, WidthMax: title - 2, WidthMaxEnforcer: text.WrapSoft},
		{Number: 3, WidthMax: width - outcome - title - 6, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, c := range checks {
		t.AppendRow(table.Row{c.label(), c.title(), c.Why})
	}
	return t.Render()
}

// label is the outcome as people should read it.
func (c Check) label() string {
	if c.improved() {
		return "improved"
	}
	if c.failed() {
		return strings.ToUpper(string(c.Outcome))
	}
	return string(c.Outcome)
}

// Summary says the verdict in one line, with how many checks of each source passed.
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
