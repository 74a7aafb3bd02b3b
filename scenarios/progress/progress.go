// Package progress shows how much of a run is done, while it runs.
//
// It takes one position: a terminal and a log get the same numbers. A terminal has a line with the remaining time between measurements, and
// a block with the last minute during one. A log has a line for each measurement, and for each minute of a long one.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/screen"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// lineInterval is the time between two lines about a measurement under way, where there is no terminal.
const lineInterval = time.Minute

// Progress shows a run's scenarios, one after the other. Make one with [New]. Its methods must not be called concurrently.
type Progress struct {
	out   *screen.Screen
	name  string
	begun time.Time // the first step; zero before
	done  int       // measurements of total
	total int
	what  string // the measurement
	lines int    // of the measurement, without a terminal
}

// New returns the progress of a run that has not begun, which is shown on out.
func New(out io.Writer) *Progress { return &Progress{out: screen.Of(out)} }

// Begin starts a scenario, or another series of measurements with its own remaining time.
func (p *Progress) Begin(name string) {
	p.Close()
	p.name = name
}

// Step shows that done of total measurements are complete, and which one is next.
func (p *Progress) Step(done, total int, next string) {
	p.done, p.total, p.what, p.lines = done, total, next, 0
	switch {
	case p.out.Size != nil:
		p.drawLine(next)
	case next != "":
		line := fmt.Sprintf("%s %s %s", p.name, p.place(), next)
		if left := remaining(p.elapsed(), done, total); left > 0 {
			line += fmt.Sprintf(", %s left", left)
		}
		fmt.Fprintln(p.out, line)
	}
}

func (p *Progress) place() string { return fmt.Sprintf("[%d/%d]", p.done+1, p.total) }

// Count shows that done of total pieces of work are complete, such as seconds. They are too short for a line each.
func (p *Progress) Count(done, total int, what string) {
	if p.out.Size != nil {
		p.Step(done, total, what)
		return
	}
	elapsed := p.elapsed()
	if due := int(elapsed / lineInterval); due > p.lines {
		p.lines = due
		fmt.Fprintf(p.out, "%d of %d %s, %s left\n", done, total, what, remaining(elapsed, done, total))
	}
}

// elapsed returns the time since the first step, which its first call sets.
func (p *Progress) elapsed() time.Duration {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	return time.Since(p.begun)
}

func (p *Progress) drawLine(what string) {
	columns, _ := p.out.Size()
	p.out.Draw([]string{progressLine(what, p.done, p.total, p.elapsed(), columns-1)})
}

// progressLine shows the current measurement, a bar, and an estimate of the remaining time in at most width columns.
func progressLine(what string, done, total int, elapsed time.Duration, width int) string {
	const room = 24
	filled := room * done / max(total, 1)
	bar := fmt.Sprintf(" %s%s %d/%d", strings.Repeat("█", filled), strings.Repeat("░", room-filled), done, total)
	if done > 0 {
		bar += fmt.Sprintf(", %s left", remaining(elapsed, done, total))
	}
	return screen.Shortened(what, max(width-table.Width(bar), 0)) + bar
}

func remaining(elapsed time.Duration, done, total int) time.Duration {
	return (elapsed * time.Duration(total-done) / time.Duration(max(done, 1))).Round(time.Second)
}

// Show shows the last seconds of a measurement under way.
func (p *Progress) Show(l runner.Live) {
	if l.Length == 0 {
		return
	}
	if p.out.Size != nil {
		columns, rows := p.out.Size()
		lines := liveBlock(p.place()+" "+p.what, l, columns-1)
		p.out.Draw(lines[:min(max(rows-1, 1), len(lines))]) // as many as there is room for
		return
	}
	left, known := l.Remaining()
	if due := int(l.Elapsed / lineInterval); due > p.lines && (!known || left >= time.Second) { // it is not over at once
		p.lines = due
		fmt.Fprintf(p.out, "%s %s %s: in the last %s %s operations/s, %s p99 %s, %s notifications/s, largest herd %d\n",
			p.name, p.place(), timesOf(l), l.Length, table.Count(l.PerSecond(l.Operations)), l.Phase, p99Of(l),
			table.Count(l.PerSecond(l.Notifications)), l.LargestHerd)
	}
}

func timesOf(l runner.Live) string {
	elapsed := l.Elapsed.Round(time.Second)
	if left, _ := l.Remaining(); left == 0 {
		return elapsed.String()
	}
	return elapsed.String() + " of " + l.Planned.Round(time.Second).String()
}

func p99Of(l runner.Live) string {
	if l.P99 == 0 {
		return table.Missing
	}
	return table.Latency(float64(l.P99))
}

// Connecting shows how many sessions of the measurement under way are established.
func (p *Progress) Connecting(done, of int) {
	text := fmt.Sprintf("connect %s of %s sessions", table.Grouped(int64(done)), table.Grouped(int64(of)))
	if p.out.Size != nil {
		p.drawLine(p.what + ": " + text)
		return
	}
	fmt.Fprintf(p.out, "%s %s\n", p.name, text)
}

// Pause clears the screen for other output. The next step or second shows the progress again.
func (p *Progress) Pause() { p.out.Clear() }

// Close removes the drawn lines, and resets the remaining time.
func (p *Progress) Close() {
	p.Pause()
	p.begun = time.Time{}
}

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
	p99 := func(s runner.Second) float64 { return cmp.Or(float64(s.P99), -1) }
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
	if len(l.Workers) > 0 {
		sent := list.Map(l.Workers, func(w runner.LiveWorker) string { return w.Host + " " + table.Grouped(w.Requests) })
		lines = append(lines, screen.Shortened(fmt.Sprintf("%-*s%s", labelColumns+1, "requests", strings.Join(sent, ", ")), columns))
	}
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

// sparkline draws the latest values, one column each, at the right of the room, scaled to the peak. Negative ones were not measured: blank.
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
