package scenarios

import (
	"fmt"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
)

// block is a field that has fields of its own. They are read one by one like those of a scenario, so that each mistake is
// reported in the line in which it stands.
type block interface {
	read(value *yaml.Node) []mistake
}

const publishedField = "published"

// publishedBlock is what somebody else has measured; a scenario without it has none.
type publishedBlock struct{ to **results.Published }

func (b publishedBlock) read(value *yaml.Node) []mistake {
	p := &results.Published{}
	*b.to = p
	if value.Kind != yaml.MappingNode {
		return []mistake{{value.Line, publishedField, "published: wants `field: value` lines of its own, such as source: a sentence"}}
	}
	mistakes, _ := readFields(value, []field{
		{"source", "a sentence", &p.Source},
		{"differs", "a sentence", &p.Differs},
		{"unit", "what is counted, such as barrier operations", &p.Unit},
		{"units-per-operation", "a number", &p.UnitsPerOperation},
		{"rows", "", publishedRows{&p.Rows}},
	}, publishedField)
	return mistakes
}

// publishedRows are the runs that were published.
type publishedRows struct{ to *[]results.PublishedRow }

func (b publishedRows) read(value *yaml.Node) []mistake {
	if value.Kind != yaml.SequenceNode {
		return []mistake{{value.Line, publishedField, "published.rows: wants a list of runs, each with name, operations and seconds"}}
	}
	var mistakes []mistake
	rows := make([]results.PublishedRow, len(value.Content))
	for i, node := range value.Content {
		if node.Kind != yaml.MappingNode {
			mistakes = append(mistakes, mistake{node.Line, publishedField, "published.rows: wants name, operations and seconds of each run"})
			continue
		}
		wrong, _ := readFields(node, []field{
			{"name", "some words, such as 200 barriers", &rows[i].Name},
			{"operations", "a number", &rows[i].Operations},
			{"seconds", "seconds by the number of clients, such as {50: 9.4, 100: 19.8}", &rows[i].Seconds},
		}, publishedField)
		mistakes = append(mistakes, wrong...)
	}
	*b.to = rows
	return mistakes
}

func (s *Scenario) validatePublished() []Problem {
	p := s.Published
	if p == nil {
		return nil
	}
	var problems []Problem
	add := func(format string, args ...any) {
		problems = append(problems, Problem{publishedField, fmt.Sprintf(format, args...)})
	}
	if s.Mode == Drain {
		add("means nothing in a drain, whose pace zkbench sets")
	}
	for _, f := range []struct{ name, value, question string }{
		{"source", p.Source, "who published this, and where?"},
		{"differs", p.Differs, "in what does their setup differ from ours?"},
		{"unit", p.Unit, "what do they count, such as barrier operations?"},
	} {
		if f.value == "" {
			add("%s is missing: %s", f.name, f.question)
		}
	}
	if !positive(p.UnitsPerOperation) {
		add("units-per-operation wants a number above 0, not %g: how many of theirs is one operation of ours?", p.UnitsPerOperation)
	}
	if len(p.Rows) == 0 {
		add("rows is missing: what has been published?")
	}
	for i, r := range p.Rows {
		if slices.ContainsFunc(p.Rows[:i], func(o results.PublishedRow) bool { return o.Name == r.Name }) {
			add("rows has %q twice", r.Name)
		}
		for _, text := range problemsOfRow(r) {
			add("row %d: %s", i+1, text)
		}
	}
	return problems
}

func problemsOfRow(r results.PublishedRow) []string {
	var problems []string
	if r.Name == "" {
		problems = append(problems, "name is missing")
	}
	if !positive(r.Operations) {
		problems = append(problems, fmt.Sprintf("operations wants a number above 0, not %g", r.Operations))
	}
	if len(r.Seconds) == 0 {
		problems = append(problems, "seconds is missing: how long did it take, by the number of clients?")
	}
	for _, clients := range clientsOf(r) {
		if seconds := r.Seconds[clients]; clients < 1 || !positive(seconds) {
			problems = append(problems, fmt.Sprintf("seconds wants numbers above 0, not %g for %d clients", seconds, clients))
		}
	}
	return problems
}

func clientsOf(r results.PublishedRow) []int {
	var clients []int
	for n := range r.Seconds {
		clients = append(clients, n)
	}
	slices.Sort(clients)
	return clients
}

func positive(f float64) bool { return f > 0 && !math.IsInf(f, 0) }
