// Package plots draws results: a few figures in one style, each kind in a source file of its own.
//
// It takes one position: a picture must not say more than its numbers. Latencies are drawn as whole distributions, and
// medians with the extremes of their repeats. A timeline shows the middle of the middle repeat instead of a selected
// stretch. In every figure naive variants have warm colors and optimized ones have cool colors.
package plots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/zkbench/zkbench/results"
)

// Formats lists the file formats that figures can be written in.
func Formats() []string { return []string{"png", "svg"} }

// figure is one picture, ready to be drawn on any canvas.
type figure struct {
	name          string
	width, height vg.Length
	draw          func(draw.Canvas)
}

// Draw writes every figure that the documents have data for into dir, and returns the files. It never mixes documents of
// different loads, engines, versions or machines in one figure, and leaves out those whose numbers must not be used.
func Draw(docs []*results.Document, dir string, formats []string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	used := map[string]int{}
	swept, others := sweeps(results.WithoutUnfinished(docs))
	for _, set := range slices.Concat(swept, split(others)) {
		// Several sets of one scenario and engine differ in a condition that the file name does not have.
		if used[set.prefix]++; used[set.prefix] > 1 {
			set.prefix = fmt.Sprintf("%s-%d", set.prefix, used[set.prefix])
		}
		figures, err := set.figures()
		if err != nil {
			return files, err
		}
		for _, f := range figures {
			for _, format := range formats {
				path := filepath.Join(dir, f.name+"."+format)
				if err := f.write(path, format); err != nil {
					return files, err
				}
				files = append(files, path)
			}
		}
	}
	return files, nil
}

// resolution of PNG files, in dots per inch, for screens with a doubled pixel density.
const resolution = 144

func (f figure) write(path, format string) error {
	var out bytes.Buffer
	var err error
	switch format {
	case "png":
		canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(resolution))
		f.draw(draw.New(canvas))
		_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(&out)
	case "svg":
		canvas := vgsvg.New(f.width, f.height)
		f.draw(draw.New(canvas))
		_, err = canvas.WriteTo(&out)
	default:
		err = fmt.Errorf("unknown format %q", format)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return renameio.WriteFile(path, out.Bytes(), 0o644)
}

// set is the documents of one scenario under the same conditions.
type set struct {
	docs   []*results.Document
	groups [][]*results.Document // repeats of one variant under one number of clients
	colors palette
	prefix string // begins the names of the set's files
}

func split(docs []*results.Document) []set {
	var sets []set
	for _, d := range docs {
		if !d.Drawable() {
			continue
		}
		i := slices.IndexFunc(sets, func(s set) bool { return s.docs[0].SameConditions(d) })
		if i < 0 {
			sets = append(sets, set{prefix: prefixOf(d)})
			i = len(sets) - 1
		}
		sets[i].docs = append(sets[i].docs, d)
	}
	for i := range sets {
		sets[i].groups, sets[i].colors = results.GroupRepeats(sets[i].docs), newPalette(sets[i].docs)
	}
	return sets
}

// prefixOf returns the beginning of the names of the files of a document's set.
func prefixOf(d *results.Document) string {
	prefix := d.Scenario.Name + "-" + d.Environment.Engine
	if d.Rate > 0 {
		prefix += fmt.Sprintf("-rate%d", d.Rate)
	}
	return prefix
}

// subject returns the end of the titles of a set's figures: the scenario and the servers.
func (s set) subject() string {
	e := s.docs[0].Environment
	where := fmt.Sprintf("ZooKeeper %s, %d %s (%s)", e.ZooKeeper, len(e.Servers), results.Plural(len(e.Servers), "server"), e.Engine)
	if e.Engine == results.Embedded {
		where = "the embedded server"
	}
	text := s.docs[0].Scenario.Name + " on " + where
	if hold := s.docs[0].Scenario.Hold; hold > 0 {
		text += fmt.Sprintf(", hold %s", hold)
	}
	if rate := s.docs[0].Rate; rate > 0 {
		most := ""
		if s.docs[0].IsStaged() {
			most = "up to "
		}
		text += fmt.Sprintf(", %s%d operations/s offered", most, rate)
	}
	return text
}

// newPlot returns an empty plot with a title of one or two lines.
func (s set) newPlot(what, x, y string) *plot.Plot {
	p := newPlot(what+", "+s.subject(), x, y)
	if p.Title.TextStyle.Width(p.Title.Text) > figureWidth-4*figureMargin {
		p.Title.Text = what + "\n" + s.subject()
	}
	return p
}

// clients returns the numbers of clients in the set, ascending.
func (s set) clients() []int {
	var out []int
	for _, g := range s.groups {
		out = append(out, g[0].Clients)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// at returns the groups with n clients, naive ones first.
func (s set) at(n int) [][]*results.Document {
	return slices.DeleteFunc(slices.Clone(s.groups), func(g []*results.Document) bool { return g[0].Clients != n })
}

// variants returns the groups of each variant, ascending by clients and rate; naive variants come first.
func (s set) variants() [][][]*results.Document {
	keys := make([]results.GroupKey, len(s.groups))
	for i, g := range s.groups {
		keys[i] = g[0].Key()
		keys[i].Clients, keys[i].Rate = 0, 0
	}
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, results.GroupKey.Compare)
	sorted = slices.Compact(sorted)
	out := make([][][]*results.Document, len(sorted))
	for i, g := range s.groups {
		v := slices.Index(sorted, keys[i])
		out[v] = append(out[v], g)
	}
	return out
}

// mostPhases is the largest number of phases whose latencies are drawn. Each has a figure for each number of clients.
const mostPhases = 3

// phaseHold is the phase whose length the scenario sets, in all recipes that have it.
const phaseHold = "hold"

// phases returns the recipe's first phases that have a median. The others were not timed, or zkbench set their length.
func (s set) phases() []string {
	measured := func(phase string) bool {
		return slices.ContainsFunc(s.docs, func(d *results.Document) bool {
			_, ok := d.Metrics[phase+"-p50-ns"]
			return ok
		})
	}
	var out []string
	for _, phase := range s.docs[0].Phases {
		if phase != phaseHold && measured(phase) && len(out) < mostPhases {
			out = append(out, phase)
		}
	}
	return out
}

// figures returns the figures that the set has data for.
func (s set) figures() ([]figure, error) {
	if s.docs[0].Rate > 0 && len(s.rates()) > 1 {
		return s.knee(), nil
	}
	figures := slices.Concat(s.throughput(), s.notifications(), s.scalingLaw())
	for _, n := range s.clients() {
		for _, phase := range s.phases() {
			curves, err := s.percentiles(n, phase)
			if err != nil {
				return nil, err
			}
			figures = append(figures, curves...)
		}
		figures = append(figures, s.herdSizes(n)...)
		figures = append(figures, s.timelines(n)...)
		figures = append(figures, s.overTime(n)...)
		figures = append(figures, s.failures(n)...)
	}
	return figures, nil
}
