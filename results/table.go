package results

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// column is one column of the comparison table. Where the terminal is too narrow for all, the least needed go first.
type column struct {
	title  string
	need   int // 0 is indispensable
	metric string
	format func(float64) string
}

// columns is the table from left to right, after the number of clients and the variant. Of the recipe's phases, the more
// telling ones are needed more.
func columns(phases []string) []column {
	out := []column{{"ops/s", 0, OpsPerSecond, count}}
	for i, phase := range phases {
		middle, tail := 2*i+1, 2*i+6
		if i > 0 { // how long most wait for something else is the least telling
			middle, tail = tail, 2*i+1
		}
		out = append(out, column{phase + " p50", middle, phase + "-p50-ns", latency})
		if i == 0 {
			out = append(out, column{"×floor", 2, FloorMultiple(phase), multiple}) // a multiple of the median to its left, so it is dropped first
		}
		out = append(out, column{phase + " p99", tail, phase + "-p99-ns", latency})
	}
	for _, s := range shares(phases) { // what is not measured is left out later
		out = append(out, column{s.metric(), 0, s.metric(), percentage})
	}
	return append(out,
		column{"heap/watch", 0, HeapPerWatch, heap},
		column{"notif/op", 0, NotificationsPerOp, count},
		column{"useless/op", 7, UselessWakeupsPerOp, count},
		column{"req/op", 2, RequestsPerOp, count},
		column{"failed/op", 4, FailedWritesPerOp, count},
		column{"herd max", 0, HerdMax, whole},
		column{"bystander p99", 1, BystanderPhase + "-p99-ns", latency},
	)
}

// dash stands for what was not measured.
const dash = "–"

// count shows a number with about three digits.
func count(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// percentage shows a share, however small.
func percentage(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

// FormatMetric shows a metric's value as tables do, in a unit that its name and size suggest.
func FormatMetric(name string, value float64) string {
	switch {
	case strings.HasSuffix(name, "-ns"):
		return latency(value)
	case name == HeapPerWatch:
		return heap(value)
	case slices.Contains([]string{HerdMax, HerdP99, NotificationPeak10ms, Violations}, name):
		return whole(value)
	case IsShare(name):
		return percentage(value)
	case IsFloorMultiple(name):
		return multiple(value)
	default:
		return count(value)
	}
}

// multiple shows how many times something fits.
func multiple(times float64) string { return count(times) + "×" }

// heap shows how many bytes something takes.
func heap(bytes float64) string { return fmt.Sprintf("%.0f B", bytes) }

func latency(ns float64) string {
	switch d := time.Duration(ns); {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
}

// WriteTable prints the comparison, one line per variant and number of clients, in at most width columns. A metric that
// a measurement does not have shows as a dash.
func (s Summary) WriteTable(w io.Writer, width int) error {
	for i, rows := range s.byScenario() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		first := rows[0]
		fmt.Fprintf(w, "%s on %s, %smedian of %s\n\n", first.Scenario, first.serversText(), first.sizeText(), repeatsOf(rows))
		rendered, dropped := fit(rows, width)
		if _, err := fmt.Fprintln(w, rendered); err != nil {
			return err
		}
		if len(dropped) > 0 {
			fmt.Fprintln(w, Wrap("(no room for: "+strings.Join(dropped, ", ")+")", width))
		}
		if floor := floorLine(rows); floor != "" {
			fmt.Fprintln(w, Wrap(floor, width))
		}
	}
	return nil
}

// serversText says what was measured on.
func (r Row) serversText() string {
	if r.InMemory {
		return r.Engine + " with transaction logs in memory"
	}
	return r.Engine
}

// sizeText says the size where a scenario asked for one.
func (r Row) sizeText() string {
	if r.Size <= 1 {
		return ""
	}
	return fmt.Sprintf("size %d, ", r.Size)
}

// repeatsOf says how many repeats the rows have; after an interrupt some have more than others.
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

// Plural returns the noun as it stands after a number of that many.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func (s Summary) byScenario() [][]Row {
	var groups [][]Row
	for _, r := range s.Rows {
		if n := len(groups); n > 0 && groups[n-1][0].Scenario == r.Scenario && groups[n-1][0].serversText() == r.serversText() && groups[n-1][0].Size == r.Size {
			groups[n-1] = append(groups[n-1], r)
			continue
		}
		groups = append(groups, []Row{r})
	}
	return groups
}

// Fit renders a table with as many columns as fit, leaving out the most dispensable one at a time; those with a need of 0
// stay at any width. It returns what was left out, too, for a line that says so.
func Fit[C any](columns []C, width int, need func(C) int, render func([]C) string) (rendered string, dropped []C) {
	kept := slices.Clone(columns)
	for {
		rendered = render(kept)
		most := 0
		for i, c := range kept {
			if need(c) > need(kept[most]) {
				most = i
			}
		}
		if text.LongestLineLen(rendered) <= width || need(kept[most]) == 0 {
			return rendered, dropped
		}
		dropped = append(dropped, kept[most])
		kept = slices.Delete(kept, most, most+1)
	}
}

// fit renders the rows with as many columns as have values and fit, and returns the titles of those that do not.
func fit(rows []Row, width int) (rendered string, dropped []string) {
	present := slices.DeleteFunc(columns(rows[0].Phases), func(c column) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { _, ok := r.Metrics[c.metric]; return ok })
	})
	need := func(c column) int { return c.need }
	rendered, left := Fit(present, width, need, func(kept []column) string { return render(rows, kept) })
	for _, c := range left {
		dropped = append(dropped, c.title)
	}
	return rendered, dropped
}

func render(rows []Row, columns []column) string {
	t := NewTable()
	header := table.Row{"clients", "variant"}
	align := []table.ColumnConfig{{Number: 1, Align: text.AlignRight}}
	for i, c := range columns {
		header = append(header, c.title)
		align = append(align, table.ColumnConfig{Number: i + 3, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(align)
	for i, r := range rows {
		if i > 0 && rows[i-1].Clients != r.Clients {
			t.AppendSeparator()
		}
		line := table.Row{r.Clients, r.label()}
		for _, c := range columns {
			line = append(line, r.show(c.metric, c.format))
		}
		t.AppendRow(line)
	}
	return t.Render()
}

// label names the variant, and says if its numbers must not be used.
func (r Row) label() string { return r.Recipe + "/" + r.Variant + r.mark() }

// show formats a metric.
func (r Row) show(metric string, format func(float64) string) string {
	m, ok := r.Metrics[metric]
	switch {
	case !ok:
		return dash
	case metric == HerdMax && r.Guessed:
		return "~" + format(m.Value)
	default:
		return format(m.Value)
	}
}

// mark stands beside a variant whose numbers must not be used.
func (r Row) mark() string {
	mark := Mark(r.Metrics[Violations].Value > 0, r.Invalid)
	if mark == "" {
		return ""
	}
	return " " + mark
}

// Mark is the word for numbers that must not be used, the worse one if both apply: every table shows it beside them.
func Mark(broken, invalid bool) string {
	switch {
	case broken:
		return "BROKEN"
	case invalid:
		return "INVALID"
	default:
		return ""
	}
}

// Wrap breaks each of several lines between words, so that it fits into width columns.
func Wrap(lines string, width int) string {
	var out []string
	for line := range strings.Lines(lines) {
		for part := range strings.Lines(text.WrapSoft(strings.TrimRight(line, "\n"), width)) {
			out = append(out, strings.TrimRight(part, " \n"))
		}
	}
	return strings.Join(out, "\n")
}

// NewTable returns an empty table in the style of all of zkbench's tables.
func NewTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true, SeparateRows: false}
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}
