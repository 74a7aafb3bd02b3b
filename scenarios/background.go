package scenarios

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
)

// The limits of a background, against typing errors. A rate that the ensemble cannot answer is found before the load begins.
const (
	maxBackgroundBytes    = 1_000_000   // of a znode; a request of jute.maxbuffer, 1 MB, also has a path and headers
	maxBackgroundZnodes   = 100_000     // created before the first measurement, and removed after the last one
	maxBackgroundTree     = 200_000_000 // bytes of all znodes together, which every server keeps in memory
	maxBackgroundSessions = 1000
)

func parseBackground(text string) (*results.BackgroundLoad, error) {
	return strict.ReadLine(text, "reads: 500, writes: 100", readBackground)
}

func backgroundFields(l *results.BackgroundLoad) []strict.Field {
	return []strict.Field{
		{Name: "reads", Wants: "a whole number of reads per second", Value: &l.Reads},
		{Name: "writes", Wants: "a whole number of writes per second", Value: &l.Writes},
		{Name: "bytes", Wants: "a whole number of bytes of each znode", Value: &l.Bytes},
		{Name: "znodes", Wants: "a whole number of znodes", Value: &l.Znodes},
		{Name: "sessions", Wants: "a whole number of sessions", Value: &l.Sessions},
	}
}

// readBackground reads the block of a file. Mistakes have their lines.
func readBackground(value *yaml.Node, name string) (*results.BackgroundLoad, strict.Mistakes) {
	load := results.BackgroundLoad{Bytes: 1024, Znodes: 1000} // the defaults
	mistakes, lines := strict.Mapping(value, name, backgroundFields(&load))
	if len(mistakes) > 0 {
		return &load, mistakes
	}
	for _, p := range backgroundProblems(load, lines["sessions"] > 0) {
		path := strings.Trim(name+"."+p.Field, ".")
		mistakes = append(mistakes, strict.Mistake{
			Line: cmp.Or(lines[p.Field], value.Line),
			Text: strings.TrimPrefix(path+": "+p.Text, ": "),
		})
	}
	return &load, mistakes
}

// backgroundProblems returns the mistakes in a background. Their Field is a field of the block. sessions reports whether the
// number of sessions is given: 0 is then a mistake.
func backgroundProblems(l results.BackgroundLoad, sessions bool) (p problems) {
	fewest := 0
	if sessions {
		fewest = 1
	}
	for _, f := range []struct {
		name               string
		value, least, most int
		wants, why         string
	}{
		{"reads", l.Reads, 0, results.MaxBackgroundRate, "0 to %d per second", ""},
		{"writes", l.Writes, 0, results.MaxBackgroundRate, "0 to %d per second", ""},
		{"bytes", l.Bytes, 1, maxBackgroundBytes, "1 to %d", ": servers refuse requests of more than 1 MB"},
		{"znodes", l.Znodes, 1, maxBackgroundZnodes, "1 to %d", ""},
		{"sessions", l.Sessions, fewest, maxBackgroundSessions, "1 to %d", "; without the field, each server has one"},
	} {
		if f.value < f.least || f.value > f.most {
			p.add(f.name, "wants "+f.wants+", not %d%s", f.most, f.value, f.why)
		}
	}
	if l.Reads == 0 && l.Writes == 0 {
		p.add("", "wants reads or writes per second, such as `reads: 500, writes: 100`")
	}
	if l.Znodes > 0 && l.Bytes > maxBackgroundTree/l.Znodes && len(p) == 0 {
		p.add("znodes", "wants at most %d of %d bytes, not %d: every server keeps them in memory", maxBackgroundTree/l.Bytes, l.Bytes, l.Znodes)
	}
	return p
}

func (s *Scenario) validateBackground(p *problems) {
	if s.Background == nil {
		return
	}
	for _, problem := range backgroundProblems(*s.Background, false) {
		p.add("background", "%s", strings.TrimPrefix(problem.Field+" "+problem.Text, " "))
	}
	if s.Heap {
		p.add("heap", "cannot be measured beside a background, whose garbage it would contain")
	}
}
