package progress

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/screen"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// The columns of a live block. The sparkline uses the rest, and the peak if the terminal is wide enough.
const (
	labelColumns = 8
	valueColumns = 9
	peakColumns  = 14
	minute       = 60 // seconds, each of which has a column
)

// track is a quantity of a live block. The sparkline is scaled to its own peak.
type track struct {
	label string
	now   string                      // of the last seconds
	of    func(runner.Second) float64 // negative if it was not measured
	show  func(float64) string
}

func tracks(l runner.Live) []track {
	p99 := func(s runner.Second) float64 {
		if s.P99 > 0 {
			return float64(s.P99)
		}
		return -1
	}
	return []track{
		{"ops/s", table.Count(l.PerSecond(l.Operations)), func(s runner.Second) float64 { return float64(s.Operations) }, table.Count},
		{"p99", p99Of(l), p99, table.Latency},
		{"notif/s", table.Count(l.PerSecond(l.Notifications)), func(s runner.Second) float64 { return float64(s.Notifications) }, table.Count},
		{"herd", fmt.Sprint(l.LargestHerd), func(s runner.Second) float64 { return float64(s.LargestHerd) }, table.Whole},
		{"failed/s", table.Count(l.PerSecond(l.FailedRequests)), func(s runner.Second) float64 { return float64(s.FailedRequests) }, table.Count},
	}
}

// liveBlock returns lines of at most that many columns: the measurement, and a sparkline of the last minute for each quantity.
func liveBlock(what string, l runner.Live, columns int) []string {
	times := " " + timesOf(l)
	if l.WarmUp {
		times += ", warm-up"
	}
	lines := []string{screen.Shortened(what, max(columns-table.Width(times), 0)) + times}
	lines = append(lines, list.Map(tracks(l), func(t track) string { return t.line(l.Minute, columns) })...)
	next := "next: " + l.Next
	if l.Next == "" {
		next = "the last measurement of its scenario"
	}
	return append(lines, screen.Shortened(next, columns))
}

func (t track) line(seconds []runner.Second, columns int) string {
	room := max(min(columns-labelColumns-valueColumns-2, minute), 0)
	values := list.Map(seconds, t.of)
	peak := list.Largest(values)
	line := fmt.Sprintf("%-*s%*s  %s", labelColumns, t.label, valueColumns, t.now, sparkline(values, peak, room))
	if columns >= labelColumns+valueColumns+2+minute+peakColumns {
		line += fmt.Sprintf("  max %s", t.show(peak))
	}
	return line
}

// sparkline draws the latest values, one column each, at the right of the room. The peak has the highest bar. A negative value
// was not measured, and is blank.
func sparkline(values []float64, peak float64, room int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	values = values[max(len(values)-room, 0):]
	var line strings.Builder
	line.WriteString(strings.Repeat(" ", room-len(values)))
	for _, v := range values {
		switch {
		case v < 0:
			line.WriteByte(' ')
		case peak == 0:
			line.WriteRune(bars[0])
		default:
			line.WriteRune(bars[int(v/peak*float64(len(bars)-1)+0.5)])
		}
	}
	return line.String()
}
