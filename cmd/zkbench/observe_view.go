package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/observe"
)

// observeLines is the time between two lines about an observation under way, where there is no terminal.
const observeLines = 10 * time.Second

// observeView shows an observation under way. On a terminal, that is a block that is redrawn. Otherwise, it is a line now and then, and a
// line for each stuck client as soon as it is found.
type observeView struct {
	out      *screen
	terminal bool
	lines    int
	stuck    map[string]bool // those that were printed, by session and path
}

func newObserveView(out io.Writer) *observeView {
	s, terminal := onScreen(out)
	return &observeView{out: s, terminal: terminal, stuck: map[string]bool{}}
}

// show shows the report so far.
func (v *observeView) show(r observe.Report) {
	if v.terminal {
		v.out.draw(observeBlock(r, width(v.out)-1, height(v.out)))
		return
	}
	for _, w := range r.Stuck {
		if key := w.Session + w.Path; !v.stuck[key] {
			v.stuck[key] = true
			fmt.Fprintln(v.out, "stuck: "+waiterText(w))
		}
	}
	if due := int(r.Length / observeLines); due != v.lines {
		v.lines = due
		fmt.Fprintf(v.out, "%s: %s\n", seconds(r.Length), observeSummary(r))
	}
}

// close removes the block.
func (v *observeView) close() { v.out.clear() }

// observeBlock returns the lines about an observation under way: the window, the last seconds, the stuck clients and the largest herds, as
// far as there is room.
func observeBlock(r observe.Report, columns, rows int) []string {
	state := ""
	if !r.Open {
		state = " (ended)"
	}
	texts := []string{fmt.Sprintf("%s%s: %s", seconds(r.Length), state, observeSummary(r))}
	if l := r.Recent; l.Length > 0 {
		texts = append(texts, fmt.Sprintf("last %s: %s writes/s, %s failed requests/s, %s notifications/s, largest herd %d", seconds(l.Length),
			table.Count(l.PerSecond(l.Operations)), table.Count(l.PerSecond(l.FailedRequests)),
			table.Count(l.PerSecond(l.Notifications)), l.LargestHerd))
	}
	for _, w := range r.Stuck {
		texts = append(texts, "stuck: "+waiterText(w))
	}
	for _, k := range r.Herds {
		texts = append(texts, "herd: "+herdText(k))
	}
	lines := strings.Split(table.Wrap(strings.Join(texts, "\n"), columns), "\n")
	lines = lines[:min(max(rows-1, 1), len(lines))]
	for i, line := range lines { // a path may be longer than a line
		lines[i] = shortened(line, columns)
	}
	return lines
}
