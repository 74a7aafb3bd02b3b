// Package plots draws results: a few kinds of figures in one style. The function kinds lists them.
//
// It takes one position: a picture must answer the question of its scenario, and must not say more than its numbers. The figures of a
// scenario follow its claims and the metrics of its recipe. A figure in which nothing differs is not drawn, and the reader is told.
// Latencies are drawn as whole distributions, and medians with the extremes of their repeats. A timeline shows the middle of the
// middle repeat instead of a selected stretch. A variant looks the same in all figures of its scenario: naive ones have warm colors
// and shapes with corners, optimized ones cool colors and round shapes, and those of libraries grays and crosses. In ratios of two runs,
// colors stand for verdicts instead: warm is worse, and cool is better.
package plots

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results"
)

type kind struct {
	// The name, for files, and the title of the figure. In both, N stands for the largest number of clients, if the figure shows it
	// alone, and VARIANT for the figure's variant.
	name, shows string
	swept       bool // the figure is about open loads at several rates, which have no other figures
	// draw returns figures without a name. Their own titles are added to the kind's.
	draw func(*Set) []Figure
}

// kinds returns the kinds of figures in their order. A new kind is added here, and with its question to docs/plots.md, in the same order.
func kinds() []kind {
	return []kind{
		{name: "costs", shows: "What an operation costs", draw: ofMetrics((*Set).costs)},
		{name: "throughput", shows: "Throughput", draw: ofMetrics((*Set).throughput)},
		{name: "outcomes", shows: "What users get", draw: ofMetrics((*Set).outcomes)},
		{name: "latencies", shows: "How long it takes", draw: ofMetrics((*Set).latencies)},
		{name: "percentiles-nN", shows: "Latency distributions, N clients", draw: (*Set).percentiles},
		{name: "floor", shows: "How far from the floor, the time of a single raw operation", draw: ofMetrics((*Set).floors)},
		{name: "herd-sizes-nN", shows: "Herd sizes, N clients", draw: (*Set).herdSizes},
		{name: "timeline-nN-VARIANT", shows: fmt.Sprintf("Every notification of %s, N clients", timelineShown), draw: (*Set).timelines},
		{name: "series-nN", shows: "Over time, N clients", draw: (*Set).overTime},
		{name: "recovery-nN", shows: "Recovery after each fault, N clients", draw: (*Set).recoveries},
		{name: "failure-nN-VARIANT", shows: "Operations around the first fault, N clients", draw: (*Set).failures},
		{name: "knee", shows: "Response times, N clients", swept: true, draw: (*Set).knee},
	}
}

func (s *Set) draw() {
	s.NotDrawn.Set = s.Name
	n := s.mostClients()
	for _, k := range kinds() {
		if k.swept != (len(s.rates()) > 1) {
			continue
		}
		for _, f := range k.draw(s) {
			fill := strings.NewReplacer("VARIANT", f.variant, "N clients", clientsText(n), "N", strconv.Itoa(n))
			f.Name, f.Shows, f.Subject = s.Name+"-"+fill.Replace(k.name), fill.Replace(k.shows)+f.Shows, s.subject(f)
			s.Figures = append(s.Figures, f)
		}
	}
}

// Figures returns all figures of the documents, scenario by scenario, and a list of the figures that are not drawn.
func Figures(docs []*results.Document) ([]Figure, []NotDrawn) {
	var figures []Figure
	var notDrawn []NotDrawn
	for _, s := range Sets(docs) {
		figures = append(figures, s.Figures...)
		if len(s.NotDrawn.Texts()) > 0 {
			notDrawn = append(notDrawn, s.NotDrawn)
		}
	}
	return append(figures, Overview(docs)...), notDrawn
}

// WriteAll stores figures in a folder, which it creates, in each of the formats. It returns the files, the formats of one figure after each
// other. Figures are drawn in parallel, on all CPUs.
func WriteAll(figures []Figure, dir string, formats []string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	var drawing errgroup.Group
	drawing.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range figures {
		for _, format := range formats {
			path := filepath.Join(dir, f.Name+"."+format)
			files = append(files, path)
			drawing.Go(func() error { return f.Write(path, format) })
		}
	}
	return files, drawing.Wait()
}

// NotDrawn lists the figures that a scenario does not have.
type NotDrawn struct {
	Set    string   // the beginning of the names of the scenario's figures
	Same   []string // metrics in which nothing differs, each with its value
	Others []string // other figures, each with the reason
}

// Texts returns one text for all metrics that are the same, and one for each other figure.
func (n NotDrawn) Texts() []string {
	if len(n.Same) == 0 {
		return n.Others
	}
	return append([]string{"the same everywhere: " + strings.Join(n.Same, ", ")}, n.Others...)
}

// String returns the scenario and everything that is not drawn for it.
func (n NotDrawn) String() string { return n.Set + ": " + strings.Join(n.Texts(), "; ") }

// without notes that a figure is not drawn, and why.
func (s *Set) without(format string, args ...any) {
	s.NotDrawn.Others = append(s.NotDrawn.Others, fmt.Sprintf(format, args...))
}
