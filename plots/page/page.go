// Package page writes a report of runs as one self-contained HTML page, for readers without zkbench.
//
// It takes one position: the page must be readable where nothing can be fetched and no script runs. Tables are tables, figures are
// inline SVG with the value of each point as its title, and texts are escaped wherever they come from. The script only adds
// conveniences: it sorts tables, shows values at once, and zooms.
package page

import (
	"crypto/sha256"
	_ "embed" // of the style sheet, the script and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed page.gohtml
var layout string

// Report is the content of a page.
type Report struct {
	Sides      []compare.Side      // one run, or several to compare, the base first
	Comparison *compare.Comparison // nil for a single run
	// Explain returns the explanation of a variant, as text in lines, or an empty string. It may be nil.
	Explain func(recipe, variant string) string
}

// Write writes the page. It has all figures of [plots.Figures], and for several runs also [plots.Compared].
func Write(w io.Writer, r Report) error {
	inline := func(f plots.Figure) template.HTML { return template.HTML(f.Inline()) } // Inline escapes all texts, which a test checks
	t, err := template.New("page").Funcs(template.FuncMap{"inline": inline}).Parse(layout)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	return t.Execute(w, r.view())
}

type view struct {
	Title    string
	Policy   string // the content security policy
	Style    template.CSS
	Script   template.JS
	Facts    []fact
	Doubts   []string // about the whole page
	Overview *grid
	Pairs    []plots.Figure // of all scenarios
	Compared *compared
	Sections []section
	Variants []variant // all of them
}

type fact struct{ Name, Value string }

func (r Report) view() view {
	css := style + plots.InlineStyle()
	v := view{
		Title:  r.title(),
		Policy: policy(css, script),
		Style:  template.CSS(css), Script: template.JS(script),
		Facts: r.facts(), Doubts: r.doubts(), Compared: r.compared(),
	}
	for i, side := range r.Sides {
		v.Sections = append(v.Sections, r.sections(i, side)...)
		v.Pairs = append(v.Pairs, plots.Overview(side.Docs)...)
	}
	v.Overview = overviewTable(r.docs())
	v.Variants = variantsOf(r.docs())
	for i, known := range v.Variants {
		if r.Explain != nil {
			v.Variants[i].Text = r.Explain(known.Recipe, known.Variant)
		}
	}
	return v
}

// title returns the scenario, or how many there are, the pair of variants of a single one, and the dates.
func (r Report) title() string {
	parts := list.Distinct(list.Map(r.docs(), func(d *results.Document) string { return d.Scenario.Name }))
	if pairings := report.Pairings(summary.Of(r.docs())); len(parts) > 1 {
		parts = []string{fmt.Sprintf("%d scenarios", len(parts))}
	} else if len(pairings) > 0 {
		parts[0] += fmt.Sprintf(": %s against %s", pairings[0].Optimized.Variant, pairings[0].Naive.Variant)
	}
	dates := list.Distinct(list.Map(r.docs(), func(d *results.Document) string { return d.Started.Format("2006-01-02") }))
	return strings.Join(append(parts, dates...), ", ")
}

func policy(css, js string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s", hash(css), hash(js))
}

func (r Report) docs() []*results.Document {
	return slices.Concat(list.Map(r.Sides, func(s compare.Side) []*results.Document { return s.Docs })...)
}

// facts returns the places, times and settings of the measurements. Facts that differ between documents have several values.
func (r Report) facts() []fact {
	all := func(of func(*results.Document) string) string {
		values := list.AppendNew(nil, list.Map(r.docs(), of)...)
		return strings.Join(list.Where(values, func(v string) bool { return v != "" }), "; ")
	}
	facts := []fact{
		{"Runs", all(func(d *results.Document) string { return d.Run })},
		{"Date", all(func(d *results.Document) string { return d.Started.Format("2006-01-02") })},
		{"Servers", all(serversOf)},
		{"Machine", all(machineOf)},
		{"zkbench", all(func(d *results.Document) string { return d.Environment.Zkbench })},
		{"Measurements", fmt.Sprint(len(r.docs()))},
		{"Tags", results.TagsText(r.docs())},
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

func serversOf(d *results.Document) string {
	e := d.Environment
	return fmt.Sprintf("%d × %s (%s)", len(e.Servers), e.Software(), e.Access(e.Engine))
}

func machineOf(d *results.Document) string {
	e := d.Environment
	return fmt.Sprintf("%d × %s, %.1f GiB, %s, kernel %s", e.CPUs, e.CPU, float64(e.Memory)/(1<<30), e.OS, e.Kernel)
}

// doubts warns of measurements that must not be used: how many there are, and why.
func (r Report) doubts() []string {
	count := func(text string, is func(*results.Document) bool) string {
		if n := len(list.Where(r.docs(), is)); n > 0 {
			return fmt.Sprintf("%d of %d measurements %s", n, len(r.docs()), text)
		}
		return ""
	}
	out := []string{
		count("broke their recipe's promise: a fast variant that breaks it is broken, not fast", (*results.Document).Broken),
		count("are invalid: their numbers must not be used", func(d *results.Document) bool { return len(d.Invalid) > 0 }),
		count("were interrupted", func(d *results.Document) bool { return d.Partial }),
		count("were ended before their load was done", func(d *results.Document) bool { return d.Unfinished != nil }),
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
