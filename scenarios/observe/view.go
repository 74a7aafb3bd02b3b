package observe

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/screen"
	"github.com/zkbench/zkbench/results/table"
)

// lineInterval is the time between two lines about an observation under way, where there is no terminal.
const lineInterval = 10 * time.Second

// View shows an observation under way. On a terminal, it redraws a block. Otherwise, it prints a line at intervals, and a line
// for each stuck client as soon as it is found. Make one with [NewView].
type View struct {
	out   *screen.Screen
	lines int
	stuck map[string]bool // the clients that were printed, by session and path
}

// NewView returns a view that has shown nothing yet.
func NewView(out io.Writer) *View { return &View{out: screen.Of(out), stuck: map[string]bool{}} }

// Show shows the report so far. It is called once a second.
func (v *View) Show(r Report) {
	if v.out.Size != nil {
		columns, rows := v.out.Size()
		v.out.Draw(r.block(columns-1, rows))
		return
	}
	for _, w := range r.Stuck {
		v.printStuck(w.Session+w.Path, w.String())
	}
	for _, c := range r.Cycles {
		v.printStuck(c.key(), c.String())
	}
	if due := int(r.Length / lineInterval); due != v.lines {
		v.lines = due
		fmt.Fprintf(v.out, "%s: %s\n", seconds(r.Length), r.summary())
	}
}

func (v *View) printStuck(key, text string) {
	if !v.stuck[key] {
		v.stuck[key] = true
		table.Line(v.out, "stuck: %s", text)
	}
}

// Close removes the block.
func (v *View) Close() { v.out.Clear() }

// block has the window, the last seconds, the stuck clients and the largest herds, as far as there is room.
func (r Report) block(columns, rows int) []string {
	state := ""
	if !r.Open {
		state = " (ended)"
	}
	texts := []string{fmt.Sprintf("%s%s: %s", seconds(r.Length), state, r.summary())}
	if l := r.Recent; l.Length > 0 {
		texts = append(texts, fmt.Sprintf("last %s: %s writes/s, %s failed requests/s, %s notifications/s, largest herd %d", seconds(l.Length),
			table.Count(l.PerSecond(l.Operations)), table.Count(l.PerSecond(l.FailedRequests)),
			table.Count(l.PerSecond(l.Notifications)), l.LargestHerd))
	}
	texts = append(texts, list.Map(r.Stuck, func(w Waiter) string { return "stuck: " + w.String() })...)
	texts = append(texts, list.Map(r.Cycles, func(c Cycle) string { return "stuck: " + c.String() })...)
	texts = append(texts, list.Map(r.Herds, func(k HerdKind) string { return "herd: " + k.String() })...)
	lines := strings.Split(table.Wrap(strings.Join(list.Map(texts, table.Escaped), "\n"), columns), "\n")
	return lines[:min(max(rows-1, 1), len(lines))]
}
