package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// column is one column of the comparison table.
type column struct {
	need   int // see [table.Column]
	metric string
}

// header returns the column's head.
func (c column) header() table.Column {
	return table.Column{Title: MetricNamed(c.metric).Head, Right: true, Need: c.need}
}

// columns returns the columns after the number of clients and the variant, from left to right. The first phases of a recipe
// are the most informative, so that their columns are dropped last.
func columns(phases []string) []column {
	out := []column{{0, Finished}, {0, OpsPerSecond}}
	for i, phase := range phases {
		middle, tail := 2*i+1, 2*i+6
		if i > 0 { // the tails of the other phases are more informative than their medians
			middle, tail = tail, 2*i+1
		}
		out = append(out, column{middle, Quantile(phase, 50)})
		if i == 0 {
			out = append(out, column{2, FloorMultiple(phase)}) // dropped before the median to its left
		}
		out = append(out, column{tail, Quantile(phase, 99)})
	}
	for _, s := range shares(phases) { // tableOf drops those that were not measured
		out = append(out, column{0, s.metric()})
	}
	return append(out,
		column{0, HeapPerWatch},
		column{0, NotificationsPerOp},
		column{7, SpuriousWakeupsPerOp},
		column{2, RequestsPerOp},
		column{0, RequestsPerSecond}, // only if a variant polls
		column{4, FailedWritesPerOp},
		column{0, HerdMax},
		column{1, Quantile(BystanderPhase, 99)},
		column{1, BackgroundLatency("read", 50)},
		column{1, BackgroundSlowdown("read", 50)},
		column{5, BackgroundLatency("read", 99)},
		column{4, BackgroundLatency("write", 50)},
		column{5, BackgroundSlowdown("write", 50)}, // dropped before the time to its left
	)
}

// WriteTable prints the comparison with one line for each row, in at most width columns. Missing metrics are dashes.
func (s Summary) WriteTable(w io.Writer, width int) error {
	for i, rows := range s.byScenario() {
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
func heading(rows []Row) string {
	first := rows[0]
	return fmt.Sprintf("%s on %s, %smedian of %s", first.Scenario, first.serversText(), first.sizeText(), repeatsOf(rows))
}

// serversText describes the servers.
func (r Row) serversText() string {
	if r.InMemory {
		return r.Engine + " with transaction logs in memory"
	}
	return r.Engine
}

// sizeText describes the size if it is more than 1.
func (r Row) sizeText() string {
	if r.Size <= 1 {
		return ""
	}
	return fmt.Sprintf("size %d, ", r.Size)
}

// repeatsOf describes the number of repeats. It differs between rows if the run was interrupted.
func repeatsOf(rows []Row) string {
	least, most := rows[0].Repeats, rows[0].Repeats
	for _, r := range rows {
		least, most = min(least, r.Repeats), max(most, r.Repeats)
	}
	if least < most {
		return fmt.Sprintf("%d to %d repeats", least, most)
	}
	return fmt.Sprintf("%d %s", most, Plural(most, "repeat"))
}

// Plural returns the noun in the form that follows the number n.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// byScenario returns the rows of each table.
func (s Summary) byScenario() [][]Row {
	return GroupBy(s.Rows, func(r Row) string {
		stages := Map(r.Stages, func(s StageRow) string { return fmt.Sprint(s.From, s.To, s.Load) })
		return fmt.Sprintf("%q %q %d %q %q %q", r.Scenario, r.serversText(), r.Size, FaultsText(r.Faults), r.Background, stages)
	})
}

// tableOf returns the table of one scenario's rows, without the columns that have no values.
func tableOf(rows []Row) *table.Table {
	all := columns(rows[0].Phases)
	if len(rows[0].Faults) > 0 {
		all = failureFirst(all)
	} else {
		all = append(all, lossColumns()...)
	}
	isOpen := slices.ContainsFunc(rows, func(r Row) bool { return r.Rate > 0 })
	if isOpen {
		all = openFirst(all)
	}
	polls := slices.ContainsFunc(rows, func(r Row) bool { return r.polls })
	present := slices.DeleteFunc(all, func(c column) bool {
		return c.metric == RequestsPerSecond && !polls || !slices.ContainsFunc(rows, func(r Row) bool { _, ok := r.Metrics[c.metric]; return ok })
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
			line = append(line, r.rateText())
		}
		line = append(line, r.label())
		for _, c := range present {
			line = append(line, r.Show(c.metric))
		}
		t.Row(line...)
	}
	return t
}

// rateText returns the rate, or the largest one of a load in stages.
func (r Row) rateText() string {
	if len(r.Stages) > 0 {
		return fmt.Sprintf("≤ %d", r.Rate)
	}
	return fmt.Sprint(r.Rate)
}

// label returns the variant, marked if its numbers must not be used.
func (r Row) label() string { return r.Recipe + "/" + r.Variant + r.mark() }

// Show formats a metric as tables do; a missing one is a dash. Sizes of guessed herds are preceded by ~, and times that may be longer
// by ≥.
func (r Row) Show(metric string) string {
	value, ok := r.Metrics[metric]
	m := MetricNamed(metric)
	text := m.Format(value.Value)
	switch {
	case !ok && r.Beyond && m.Responds():
		return beyond
	case !ok:
		return table.Missing
	case m.OfHerds() && r.Guessed:
		return "~" + text
	case r.AtLeast(metric):
		return "≥" + text
	default:
		return text
	}
}

// mark returns the row's mark as it follows the name of the variant.
func (r Row) mark() string {
	if r.Mark == "" {
		return ""
	}
	return " " + r.Mark
}
