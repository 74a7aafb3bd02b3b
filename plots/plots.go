// Package plots is how results are shown: a few figures, each in a file of its own, in one style.
//
// It takes one position: a picture must not say more than the numbers behind it. Latencies are drawn as whole
// distributions, medians with the extremes of their repeats, and a timeline shows the middle of the middle repeat, not
// the most telling stretch. Naive variants are warm and optimized ones cool in every figure.
package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// Draw writes every figure that the documents have data for into dir, and returns the files. Documents of different
// loads, engines, versions or machines are never mixed in one figure, and those whose numbers must not be used are left
// out.
func Draw(docs []*results.Document, dir string, formats []string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	used := map[string]int{}
	for _, set := range split(docs) {
		// Several sets of one scenario and engine differ in something that a file name does not say.
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

// resolution is for screens that show two pixels where there used to be one.
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

// set is the documents of one scenario on one engine.
type set struct {
	docs   []*results.Document
	groups [][]*results.Document // repeats of one variant under one number of clients
	colors palette
	prefix string // begins the names of the set's files
}

func split(docs []*results.Document) []set {
	var sets []set
	for _, d := range docs {
		if !d.Sound() {
			continue
		}
		i := slices.IndexFunc(sets, func(s set) bool { return s.docs[0].SameConditions(d) })
		if i < 0 {
			sets = append(sets, set{prefix: d.Scenario.Name + "-" + d.Environment.Engine})
			i = len(sets) - 1
		}
		sets[i].docs = append(sets[i].docs, d)
	}
	for i := range sets {
		sets[i].groups, sets[i].colors = results.GroupRepeats(sets[i].docs), newPalette(sets[i].docs)
	}
	return sets
}

// subject ends the titles of a set's figures: what was measured on.
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
	return text
}

// newPlot returns an empty plot whose title says what it shows of the set, on two lines if one is too short for it.
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
		if n := g[0].Clients; !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// at returns the groups with n clients, naive ones first.
func (s set) at(n int) [][]*results.Document {
	return slices.DeleteFunc(slices.Clone(s.groups), func(g []*results.Document) bool { return g[0].Clients != n })
}

// variants returns the groups of each variant, ascending by clients; naive variants come first.
func (s set) variants() [][][]*results.Document {
	var out [][][]*results.Document
	for _, g := range s.groups {
		i := slices.IndexFunc(out, func(v [][]*results.Document) bool { return v[0][0].Variant == g[0].Variant })
		if i < 0 {
			out = append(out, [][]*results.Document{g})
			continue
		}
		out[i] = append(out[i], g)
	}
	slices.SortStableFunc(out, func(a, b [][]*results.Document) int {
		return cmp.Or(strings.Compare(a[0][0].Kind, b[0][0].Kind), strings.Compare(a[0][0].Variant, b[0][0].Variant))
	})
	return out
}

// mostPhases is the number of phases whose latencies are drawn: with a figure for each under each number of clients, more would
// hide the telling ones.
const mostPhases = 3

// phaseHold is the phase whose length the scenario says, in all recipes that have it.
const phaseHold = "hold"

// phases returns the most telling phases of the recipe, of those with a median: the others were not timed, or zkbench set
// their length.
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

// figures returns everything that the set has data for.
func (s set) figures() ([]figure, error) {
	figures := slices.Concat(s.throughput(), s.notifications())
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
	}
	return figures, nil
}
