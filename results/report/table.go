// Package report prints measurements: as tables for terminals and pages, as records for scripts, and as sentences about what they show.
//
// It takes one position: what speaks against a number stands beside it.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// beyond stands in tables for response times of a load beyond the capacity.
const beyond = "beyond"

// WriteTable prints the comparison with one line for each row, in at most width columns. Missing metrics are dashes.
func WriteTable(w io.Writer, rows []summary.Row, width int) error {
	for i, rows := range byScenario(rows) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n", heading(rows))
		rendered, dropped := tableOf(rows).Text(width)
		if _, err := fmt.Fprintln(w, rendered); err != nil {
			return err
		}
		if len(dropped) > 0 {
			fmt.Fprintln(w, table.Wrap("(no room for: "+strings.Join(dropped, ", ")+")", width))
		}
		if stages := stageTable(rows); stages != nil {
			rendered, _ := stages.Text(width)
			fmt.Fprintf(w, "\nstages, from the beginning of the window\n\n%s\n", rendered)
		}
		for _, line := range []string{floorLine(rows), beyondLine(rows), backgroundLine(rows), faultsLine(rows)} {
			if line != "" {
				fmt.Fprintln(w, table.Wrap(line, width))
			}
		}
	}
	return nil
}

// heading returns the line above the table of one scenario's rows.
func heading(rows []summary.Row) string {
	first := rows[0]
	return fmt.Sprintf("%s on %s, %smedian of %s", first.Scenario, serversText(first), sizeText(first), repeatsOf(rows))
}

// serversText describes the servers.
func serversText(r summary.Row) string {
	if r.InMemory {
		return r.Engine + " with transaction logs in memory"
	}
	return r.Engine
}

// sizeText describes the size if it is more than 1.
func sizeText(r summary.Row) string {
	if r.Size <= 1 {
		return ""
	}
	return fmt.Sprintf("size %d, ", r.Size)
}

// repeatsOf describes the number of repeats. It differs between rows if the run was interrupted.
func repeatsOf(rows []summary.Row) string {
	least, most := rows[0].Repeats, rows[0].Repeats
	for _, r := range rows {
		least, most = min(least, r.Repeats), max(most, r.Repeats)
	}
	if least < most {
		return fmt.Sprintf("%d to %d repeats", least, most)
	}
	return fmt.Sprintf("%d %s", most, table.Plural(most, "repeat"))
}

// byScenario returns the rows of each table.
func byScenario(rows []summary.Row) [][]summary.Row {
	return list.GroupBy(rows, func(r summary.Row) string {
		stages := list.Map(r.Stages, func(s summary.StageRow) string { return fmt.Sprint(s.From, s.To, s.Load) })
		return fmt.Sprintf("%q %q %d %q %q %q", r.Scenario, serversText(r), r.Size, results.FaultsText(r.Faults), r.Background, stages)
	})
}

// tableOf returns the table of one scenario's rows, without the columns that have no values.
func tableOf(rows []summary.Row) *table.Table {
	all := columns(rows[0].Phases)
	if len(rows[0].Faults) > 0 {
		all = failureFirst(all)
	} else {
		all = append(all, lossColumns()...)
	}
	isOpen := slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Rate > 0 })
	if isOpen {
		all = openFirst(all)
	}
	polls := slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Polls })
	present := slices.DeleteFunc(all, func(c column) bool {
		return c.metric == metric.RequestsPerSecond && !polls || !slices.ContainsFunc(rows, func(r summary.Row) bool { _, ok := r.Metrics[c.metric]; return ok })
	})
	header := table.Right("clients")
	if isOpen {
		header = append(header, table.Right("rate")...)
	}
	header = append(header, table.Left("variant")...)
	for _, c := range present {
		header = append(header, c.header())
	}
	t := table.New(header...)
	for i, r := range rows {
		if i > 0 && (rows[i-1].Clients != r.Clients || rows[i-1].Rate != r.Rate) {
			t.Rule()
		}
		line := []any{r.Clients}
		if isOpen {
			line = append(line, rateText(r))
		}
		line = append(line, label(r))
		for _, c := range present {
			line = append(line, Show(r, c.metric))
		}
		t.Row(line...)
	}
	return t
}

// rateText returns the rate, or the largest one of a load in stages.
func rateText(r summary.Row) string {
	if len(r.Stages) > 0 {
		return fmt.Sprintf("≤ %d", r.Rate)
	}
	return fmt.Sprint(r.Rate)
}

// label returns the variant, marked if its numbers must not be used.
func label(r summary.Row) string { return r.Recipe + "/" + r.Variant + mark(r) }

// Show formats a metric as tables do; a missing one is a dash. Sizes of guessed herds are preceded by ~, and times that may be longer
// by ≥.
func Show(r summary.Row, name string) string {
	value, ok := r.Metrics[name]
	m := metric.Named(name)
	text := m.Format(value.Value)
	switch {
	case !ok && r.Beyond && m.Responds():
		return beyond
	case !ok:
		return table.Missing
	case m.OfHerds() && r.Guessed:
		return "~" + text
	case r.AtLeast(name):
		return "≥" + text
	default:
		return text
	}
}

// mark returns the row's mark as it follows the name of the variant.
func mark(r summary.Row) string {
	if r.Mark == "" {
		return ""
	}
	return " " + r.Mark
}
