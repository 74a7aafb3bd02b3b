// Package report prints measurements: as tables for terminals and pages, as records for scripts, and as sentences about
// results.
//
// It takes one position: a doubt about a number is printed beside it.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// beyond is the cell of a response time of a load beyond the capacity.
const beyond = "beyond"

// WriteTable prints the comparison with one line for each row, in at most width columns. Missing metrics are dashes.
func WriteTable(w io.Writer, rows []summary.Row, width int) {
	for i, rows := range byScenario(rows) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n", table.Escaped(heading(rows)))
		rendered, dropped := tableOf(rows).Text(width)
		fmt.Fprintln(w, rendered)
		writeLegend(w, rendered, rows)
		if len(dropped) > 0 {
			fmt.Fprintln(w, table.Wrap(fmt.Sprintf("(no room for %d %s, such as %s: `zkbench report --format markdown`)",
				len(dropped), table.Plural(len(dropped), "column"), dropped[0]), width))
		}
		if stages := stageTable(rows); stages != nil {
			rendered, _ := stages.Text(width)
			fmt.Fprintf(w, "\nstages, from the beginning of the window\n\n%s\n", rendered)
		}
		for _, line := range notes(rows) {
			fmt.Fprintln(w, table.Wrap(table.Escaped(line), width))
		}
	}
}

// writeLegend explains the marks of doubtful numbers in a table.
func writeLegend(w io.Writer, rendered string, rows []summary.Row) {
	if strings.Contains(rendered, "?") {
		fmt.Fprintln(w, "?: too few samples (a p99 needs 100), starving clients, or zkbench was late")
	}
	if slices.ContainsFunc(rows, warned) {
		fmt.Fprintln(w, "*: measured with a warning, such as a busy CPU: see below the last table")
	}
}

// warned reports whether a row without another mark has warnings that are not about the bystanders' reads, whose cell has a mark.
func warned(r summary.Row) bool {
	return r.Mark == "" && r.Any(func(d *results.Document) bool {
		return len(d.Warnings) > 1 || len(d.Warnings) == 1 && !doubts.SentLate(d)
	})
}

func heading(rows []summary.Row) string {
	size := ""
	if rows[0].Size > 1 {
		size = fmt.Sprintf("size %d, ", rows[0].Size)
	}
	counts := list.Distinct(list.Map(rows, func(r summary.Row) int { return len(r.Repeats) }))
	most := counts[len(counts)-1]
	repeats := fmt.Sprintf("%d %s", most, table.Plural(most, "repeat"))
	if len(counts) > 1 { // the run was interrupted
		repeats = fmt.Sprintf("%d to %s", counts[0], repeats)
	}
	return fmt.Sprintf("%s on %s, %smedian of %s", rows[0].Scenario, serversText(rows[0]), size, repeats)
}

func serversText(r summary.Row) string {
	e := r.Repeats[0].Environment
	text := e.Engine
	if grouping.InMemory(e) {
		text += " with transaction logs in memory"
	}
	var product []string
	if e.Product != "" {
		product = []string{e.Software()}
	}
	if special := e.Access(product...); special != "" {
		text += " (" + special + ")"
	}
	return text
}

func byScenario(rows []summary.Row) [][]summary.Row {
	return list.GroupBy(rows, func(r summary.Row) string {
		s := r.Repeats[0].Scenario
		workers := results.Zones(r.Repeats[0].Workers)
		return fmt.Sprintf("%q %q %d %q %q %q %q", s.Name, serversText(r), s.Size, s.Faults, s.Background, s.Stages, workers)
	})
}

func tableOf(rows []summary.Row) *table.Table {
	first := rows[0].Repeats[0]
	all := columns(first.Phases)
	if first.Scenario.Faulty() {
		all = failureFirst(all)
	} else {
		all = append(all, lossColumns()...)
	}
	isOpen := slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Rate > 0 })
	if isOpen {
		all = openFirst(all)
	}
	all = keepAsked(all, first.Scenario.Asks)
	measured, polling := Metrics(rows), slices.ContainsFunc(rows, polls)
	present := list.Where(all, func(c column) bool {
		return slices.Contains(measured, c.metric) && (polling || c.metric != metric.RequestsPerSecond)
	})
	header := table.Right("clients")
	if isOpen {
		header = append(header, table.Right("rate")...)
	}
	t := table.New(slices.Concat(header, table.Left("variant"), list.Map(present, column.header))...)
	for i, r := range rows {
		if i > 0 && (rows[i-1].Clients != r.Clients || rows[i-1].Rate != r.Rate) {
			t.Rule()
		}
		line := []any{r.Clients}
		switch {
		case isOpen && len(r.Stages) > 0: // the rate is the largest one
			line = append(line, fmt.Sprintf("≤ %s", r.Rate))
		case isOpen:
			line = append(line, fmt.Sprint(r.Rate))
		}
		name := label(r)
		if warned(r) {
			name += " *"
		}
		t.Row(slices.Concat(line, []any{name}, cells(r, present))...)
	}
	return t
}

// polls reports whether the variant states costs but no bound of its requests, as polling variants do: their rate is more
// informative than their number per operation.
func polls(r summary.Row) bool {
	costs := r.Repeats[0].Expected.Costs
	_, bounded := costs[metric.RequestsPerOp]
	return len(costs) > 0 && !bounded
}

func label(r summary.Row) string { return strings.TrimSpace(r.Name() + " " + r.Mark) }

// Show formats a metric as tables do; a missing one is a dash. Sizes of guessed herds are preceded by ~, and times that may be
// longer by ≥. Percentiles that [metric.Rough] or [doubts.SentLate] doubts are followed by ?, and those that the clocks of workers make
// uncertain by ± and how much that may be.
func Show(r summary.Row, name string) string {
	value, ok := r.Metrics[name]
	m := metric.Named(name)
	text := m.Format(value.Value)
	switch {
	case !ok && m.Responds() && r.Any((*results.Document).BeyondCapacity):
		return beyond
	case !ok:
		return table.Missing
	case r.Any(func(d *results.Document) bool { return metric.Guessed(d, name) }):
		return "~" + text
	case r.AtLeast(name):
		return "≥" + text
	case r.Any(func(d *results.Document) bool {
		return metric.Rough(d, name) || m.Phase == results.BystanderPhase && doubts.SentLate(d)
	}):
		return text + "?"
	default:
		return text + clockText(r, name)
	}
}

// clockText returns by how much the clocks of the workers may make a percentile wrong, as in " ±24 µs"; empty if that is little.
func clockText(r summary.Row, name string) string {
	m, largest := metric.Named(name), 0.0
	for _, d := range r.Repeats {
		value := d.Metrics[name].Value
		if m.Kind == metric.KindTime && value > 0 && metric.ClockError(d, m.Phase, value) > metric.SmallClockError {
			largest = max(largest, d.ClockError())
		}
	}
	if largest == 0 {
		return ""
	}
	return " ±" + table.Latency(largest)
}

func notes(rows []summary.Row) []string {
	s := rows[0].Repeats[0].Scenario
	workers := list.Map(rows, func(r summary.Row) string { return Workers(r.Repeats[0]) }) // of repeats, the first
	lines := list.Where(list.AppendNew(nil, append(workers, floorLine(rows))...), func(line string) bool { return line != "" })
	if slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Any((*results.Document).BeyondCapacity) }) {
		lines = append(lines, beyond+": the rate is beyond the capacity of so many clients. Arrivals waited for a client during the whole "+
			"second half of the window, or were not served within its length after it, so that their response times grow with its length.")
	}
	if s.Background != nil {
		lines = append(lines, fmt.Sprintf("background (bg): %s; ×alone: in multiples of the same before the load", s.Background))
	}
	if s.Faulty() {
		text := fmt.Sprintf("faults: %s; counts contain recoveries, so that they are not compared with formulas", results.FaultsText(s.Faults))
		if slices.ContainsFunc(rows, func(r summary.Row) bool { return r.AtLeast(metric.RecoveryMax) }) {
			text += "; ≥: the load ended before a recovery"
		}
		lines = append(lines, text)
	}
	return lines
}

// Workers describes the workers of a measurement, as in "clients of 3 workers (2 in a, 1 in b) on h1, h2, h3, with clocks that differ by
// up to 24 µs"; empty if all clients were in the process that measured.
func Workers(d *results.Document) string {
	n := len(d.Workers)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("clients of %d %s", n, table.Plural(n, "worker"))
	if zones := results.Zones(d.Workers); zones != fmt.Sprint(n) {
		text += " (" + zones + ")"
	}
	text += " on " + strings.Join(list.Distinct(list.Map(d.Workers, func(w results.Worker) string { return w.Host })), ", ")
	if n > 1 {
		text += ", with clocks that differ by " + metric.ClockLimit(d)
	}
	return text
}

// spreadMark is the ratio between the extremes of a table's floors beyond which the table shows the extremes.
const spreadMark = 1.5

// floorLine describes the floor of a table's measurements, such as "floor, on the idle ensemble: write 1.10 ms, handoff
// 1.30 ms (1.10 ms to 3.40 ms)"; it is empty if no measurement has a floor.
func floorLine(rows []summary.Row) string {
	var parts []string
	for _, operation := range metric.FloorOperations() {
		if text := floorOf(rows, metric.Floor(operation)); text != "" {
			parts = append(parts, operation+" "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "floor, on the idle ensemble: " + strings.Join(parts, ", ")
}

// floorOf returns the median of the rows' floors, with the extremes if these are far apart.
func floorOf(rows []summary.Row, metric string) string {
	var medians, all []float64
	for _, r := range rows {
		if m, measured := r.Metrics[metric]; measured {
			medians = append(medians, m.Value)
			all = append(all, m.Min, m.Max)
		}
	}
	if len(medians) == 0 {
		return ""
	}
	slices.Sort(medians)
	text, least, most := table.Latency(paired.Median(medians)), slices.Min(all), slices.Max(all)
	if most > spreadMark*least {
		text += fmt.Sprintf(" (%s to %s)", table.Latency(least), table.Latency(most))
	}
	return text
}

func stageTable(rows []summary.Row) *table.Table {
	if !slices.ContainsFunc(rows, func(r summary.Row) bool { return len(r.Stages) > 0 }) {
		return nil
	}
	columns := stageColumns(rows[0])
	header := table.Left("variant", "stage", "load")
	oneCount := !slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Clients != rows[0].Clients })
	if !oneCount {
		header = append(table.Right("clients"), header...)
	}
	t := table.New(append(header, list.Map(columns, column.header)...)...)
	for i, r := range rows {
		if i > 0 {
			t.Rule()
		}
		label := strings.TrimSpace(r.Variant + " " + r.Mark)
		var from time.Duration
		var before results.StageLoad
		for stage, load := range r.Repeats[0].Scenario.Stages {
			line := []any{label, fmt.Sprintf("%s to %s", from, from+load.For), loadText(load, before)}
			if !oneCount {
				line = append([]any{r.Clients}, line...)
			}
			r.Metrics = r.Stages[stage]
			t.Row(append(line, cells(r, columns)...)...)
			from, before = from+load.For, load
		}
	}
	return t
}

// loadText names the load of a stage that follows another one: "100/s", or "6/min to 400/s" for a ramp.
func loadText(l, before results.StageLoad) string {
	text, from := l.Rate.Of(""), before.Rate.Of("")
	if l.Clients > 0 {
		text, from = fmt.Sprintf("%d %s", l.Clients, table.Plural(l.Clients, "client")), fmt.Sprint(before.Clients)
	}
	if l.Ramp {
		return from + " to " + text
	}
	return text
}

func stageColumns(r summary.Row) []column {
	phase, backlog := r.Repeats[0].Phases[0], []column(nil)
	if r.Rate > 0 {
		phase, backlog = results.ResponsePhase, []column{{1, metric.BacklogMax}}
	}
	return slices.Concat(
		[]column{{0, metric.OpsPerSecond}, {2, metric.Quantile(phase, 50)}, {0, metric.Quantile(phase, 99)}}, backlog,
		[]column{{3, metric.NotificationsPerOp}, {4, metric.HerdMax}})
}
