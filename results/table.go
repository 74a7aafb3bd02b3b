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
	title  string
	need   int // see [table.Column]
	metric string
	format func(float64) string
}

// columns returns the columns after the number of clients and the variant, from left to right. The first phases of a recipe
// are the most informative, so that their columns are dropped last.
func columns(phases []string) []column {
	out := []column{{"finished", 0, Finished, table.Percentage}, {"ops/s", 0, OpsPerSecond, table.Count}}
	for i, phase := range phases {
		middle, tail := 2*i+1, 2*i+6
		if i > 0 { // the tails of the other phases are more informative than their medians
			middle, tail = tail, 2*i+1
		}
		out = append(out, column{phase + " p50", middle, phase + "-p50-ns", table.Latency})
		if i == 0 {
			out = append(out, column{"×floor", 2, FloorMultiple(phase), table.Multiple}) // dropped before the median to its left
		}
		out = append(out, column{phase + " p99", tail, phase + "-p99-ns", table.Latency})
	}
	for _, s := range shares(phases) { // tableOf drops those that were not measured
		out = append(out, column{s.metric(), 0, s.metric(), table.Percentage})
	}
	return append(out,
		column{"heap/watch", 0, HeapPerWatch, table.Bytes},
		column{"notif/op", 0, NotificationsPerOp, table.Count},
		column{"spurious/op", 7, SpuriousWakeupsPerOp, table.Count},
		column{"req/op", 2, RequestsPerOp, table.Count},
		column{"req/s", 0, RequestsPerSecond, table.Count}, // only if a variant polls
		column{"failed/op", 4, FailedWritesPerOp, table.Count},
		column{"herd max", 0, HerdMax, table.Whole},
		column{"bystander p99", 1, BystanderPhase + "-p99-ns", table.Latency},
		column{"bg read p50", 1, BackgroundLatency("read", 50), table.Latency},
		column{"bg read ×alone", 1, BackgroundSlowdown("read", 50), table.Multiple},
		column{"bg read p99", 5, BackgroundLatency("read", 99), table.Latency},
		column{"bg write p50", 4, BackgroundLatency("write", 50), table.Latency},
		column{"bg write ×alone", 5, BackgroundSlowdown("write", 50), table.Multiple}, // dropped before the time to its left
	)
}

// FormatMetric formats a metric as in tables. The unit depends on the name and the value.
func FormatMetric(name string, value float64) string {
	switch {
	case strings.HasSuffix(name, "-ns"):
		return table.Latency(value)
	case name == HeapPerWatch, name == BytesPeak:
		return table.Bytes(value)
	case slices.Contains([]string{HerdMax, HerdP99, NotificationPeak10ms, RequestsPeak, BacklogMax, backgroundPrefix + backlogMax, alonePrefix + backlogMax}, name), addsUp(name):
		return table.Whole(value)
	case IsShare(name), name == Finished:
		return table.Percentage(value)
	case IsFloorMultiple(name), isSlowdown(name):
		return table.Multiple(value)
	default:
		return table.Count(value)
	}
}

// WriteTable prints the comparison with one line for each row, in at most width columns. Missing metrics are dashes.
func (s Summary) WriteTable(w io.Writer, width int) error {
	for i, rows := range s.byScenario() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		first := rows[0]
		fmt.Fprintf(w, "%s on %s, %smedian of %s\n\n", first.Scenario, first.serversText(), first.sizeText(), repeatsOf(rows))
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
	return GroupBy(s.Rows, func(a, b Row) bool {
		return a.Scenario == b.Scenario && a.serversText() == b.serversText() && a.Size == b.Size &&
			slices.Equal(a.Faults, b.Faults) && a.Background == b.Background && slices.EqualFunc(a.Stages, b.Stages, StageRow.sameLoad)
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
		header = append(header, table.Column{Title: c.title, Right: true, Need: c.need})
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
			line = append(line, r.show(c.metric, c.format))
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

// show formats a metric. Sizes of guessed herds are preceded by ~, and times that may be longer by ≥.
func (r Row) show(metric string, format func(float64) string) string {
	m, ok := r.Metrics[metric]
	switch {
	case !ok && r.Beyond && isResponse(metric):
		return beyond
	case !ok:
		return table.Missing
	case metric == HerdMax && r.Guessed:
		return "~" + format(m.Value)
	case r.AtLeast(metric):
		return "≥" + format(m.Value)
	default:
		return format(m.Value)
	}
}

// Show formats a metric as tables do; a missing one is a dash.
func (r Row) Show(metric string) string {
	return r.show(metric, func(v float64) string { return FormatMetric(metric, v) })
}

// mark returns the row's mark as it follows the name of the variant.
func (r Row) mark() string {
	if r.Mark == "" {
		return ""
	}
	return " " + r.Mark
}
