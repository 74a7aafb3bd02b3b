package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// lineInterval is the time between two lines about a measurement under way, where there is no terminal.
const lineInterval = time.Minute

// progress shows the progress of a run. On a terminal, that is a line with the remaining time between measurements, and a block with
// the last minute during one. Otherwise, it is a line for each measurement, and one for each minute of a long one.
type progress struct {
	out      *screen
	terminal bool
	size     func() (columns, rows int) // of the terminal, which may change
	name     string
	begun    time.Time // the first step; zero before
	done     int       // measurements of total
	total    int
	what     string // the measurement
	lines    int    // of the measurement, without a terminal
}

func newProgress(out io.Writer) *progress {
	s, terminal := onScreen(out)
	return &progress{
		out: s, terminal: terminal,
		size: func() (int, int) { return width(out), height(out) },
	}
}

// newRunner returns what runs scenarios on a target, shows their progress, and exports it unless the exporter is nil.
func newRunner(e target, run string, p *progress, exporter *exporter) *runner.Runner {
	return &runner.Runner{
		Ensemble:    e.Ensemble,
		Recipes:     catalog.Recipes(),
		Environment: runner.DescribeMachine(versionText()),
		Run:         run,
		Temporary:   !e.stays,
		Progress: func(done, total int, next string) {
			p.step(done, total, next)
			exporter.step(done, total)
		},
		Live: func(l runner.Live) {
			p.show(l)
			exporter.show(l)
		},
		Connecting: p.connecting,
	}
}

// begin starts a scenario.
func (p *progress) begin(name string) {
	p.close()
	p.name = name
}

// step shows that done of total measurements are complete, and which one is next.
func (p *progress) step(done, total int, next string) {
	p.done, p.total, p.what, p.lines = done, total, next, 0
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	switch {
	case p.terminal:
		p.drawLine(next)
	case next != "":
		fmt.Fprintf(p.out, "%s %s %s\n", p.name, p.place(), next)
	}
}

// place returns which measurement of the run is under way.
func (p *progress) place() string { return fmt.Sprintf("[%d/%d]", p.done+1, p.total) }

// columns returns how wide the lines of a terminal may be. A full line would move the cursor to the next one.
func (p *progress) columns() (columns, rows int) {
	columns, rows = p.size()
	return columns - 1, rows
}

// drawLine replaces what is drawn by a line about the whole run.
func (p *progress) drawLine(what string) {
	columns, _ := p.columns()
	p.out.draw([]string{progressLine(what, p.done, p.total, time.Since(p.begun), columns)})
}

// progressLine returns what is going on, a bar, and how long the rest takes if it goes on as in the time that has elapsed, in at most
// width columns.
func progressLine(what string, done, total int, elapsed time.Duration, width int) string {
	const room = 24
	filled := room * done / max(total, 1)
	bar := fmt.Sprintf(" %s%s %d/%d", strings.Repeat("█", filled), strings.Repeat("░", room-filled), done, total)
	if done > 0 {
		bar += fmt.Sprintf(", %s left", remaining(elapsed, done, total))
	}
	return shortened(what, max(width-table.Width(bar), 0)) + bar
}

// remaining returns how long the rest takes if it goes on as before.
func remaining(elapsed time.Duration, done, total int) time.Duration {
	return (elapsed * time.Duration(total-done) / time.Duration(max(done, 1))).Round(time.Second)
}

// show shows what a measurement under way has done in the last seconds.
func (p *progress) show(l runner.Live) {
	if l.Length == 0 {
		return
	}
	if p.terminal {
		p.draw(l)
		return
	}
	left, known := l.Remaining()
	if due := int(l.Elapsed / lineInterval); due > p.lines && (!known || left >= liveShortest) {
		p.lines = due
		fmt.Fprintf(p.out, "%s %s %s\n", p.name, p.place(), liveText(l))
	}
}

// liveShortest is how much of a measurement must remain, if that is known, for a line about it where there is no terminal.
const liveShortest = time.Second

// liveText returns the last seconds in words.
func liveText(l runner.Live) string {
	return fmt.Sprintf("%s: in the last %s %s operations/s, %s p99 %s, %s notifications/s, largest herd %d", timesOf(l), l.Length,
		table.Count(l.PerSecond(l.Operations)), l.Phase, p99Of(l), table.Count(l.PerSecond(l.Notifications)), l.LargestHerd)
}

// timesOf returns how long a load has gone on, and how long it takes in all if that is known.
func timesOf(l runner.Live) string {
	elapsed := l.Elapsed.Round(time.Second)
	if left, _ := l.Remaining(); left == 0 {
		return elapsed.String()
	}
	return elapsed.String() + " of " + l.Planned.Round(time.Second).String()
}

// p99Of returns the p99, or a dash if nothing ended.
func p99Of(l runner.Live) string {
	if l.P99 == 0 {
		return table.Missing
	}
	return table.Latency(float64(l.P99))
}

// shortened returns the first columns of an ASCII text, with an ellipsis if it is longer.
func shortened(text string, columns int) string {
	if len(text) <= columns || columns == 0 {
		return text[:min(len(text), columns)]
	}
	return text[:columns-1] + "…"
}

// draw replaces the block of a terminal by as many lines as there is room for.
func (p *progress) draw(l runner.Live) {
	columns, rows := p.columns()
	lines := liveBlock(p.place()+" "+p.what, l, columns)
	p.out.draw(lines[:min(max(rows-1, 1), len(lines))])
}

// connecting shows how many sessions of the measurement under way are established.
func (p *progress) connecting(done, of int) {
	text := fmt.Sprintf("connect %s of %s sessions", table.Grouped(int64(done)), table.Grouped(int64(of)))
	if p.terminal {
		p.drawLine(p.what + ": " + text)
		return
	}
	fmt.Fprintf(p.out, "%s %s\n", p.name, text)
}

// pause clears the screen for other output. The next step or second shows the progress again.
func (p *progress) pause() { p.out.clear() }

// close removes what is drawn, and forgets when the run began.
func (p *progress) close() {
	p.pause()
	p.begun = time.Time{}
}
