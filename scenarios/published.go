package scenarios

import (
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
)

const publishedField = "published"

// readPublished reads the block of published measurements. A scenario without the block has none.
func (s *Scenario) readPublished(value *yaml.Node, name string) strict.Mistakes {
	p := &results.Published{}
	s.Published = p
	mistakes, _ := strict.Mapping(value, name, []strict.Field{
		{Name: "source", Wants: "a sentence", Value: &p.Source},
		{Name: "differs", Wants: "a sentence", Value: &p.Differs},
		{Name: "unit", Wants: "what is counted, such as barrier operations", Value: &p.Unit},
		{Name: "units-per-operation", Wants: "a number", Value: &p.UnitsPerOperation},
		{Name: "rows", Value: strict.Nested(s.readPublishedRows)},
	})
	return mistakes
}

func (s *Scenario) readPublishedRows(value *yaml.Node, name string) strict.Mistakes {
	var rows []*results.PublishedRow
	mistakes := strict.List(value, name, func() ([]strict.Field, func() []string) {
		row := &results.PublishedRow{}
		rows = append(rows, row)
		return []strict.Field{
			{Name: "name", Wants: "some words, such as 200 barriers", Value: &row.Name},
			{Name: "operations", Wants: "a number", Value: &row.Operations},
			{Name: "seconds", Wants: "seconds by the number of clients, such as {50: 9.4, 100: 19.8}", Value: &row.Seconds},
		}, nil
	})
	for _, row := range rows {
		s.Published.Rows = append(s.Published.Rows, *row)
	}
	return mistakes
}

func (s *Scenario) validatePublished(all *problems) {
	p := s.Published
	if p == nil {
		return
	}
	add := func(format string, args ...any) { all.add(publishedField, format, args...) }
	for _, f := range []struct{ name, value, question string }{
		{"source", p.Source, "who published this, and where?"},
		{"differs", p.Differs, "how does their setup differ from ours?"},
		{"unit", p.Unit, "what do they count, such as barrier operations?"},
	} {
		if f.value == "" {
			add("%s is missing: %s", f.name, f.question)
		}
	}
	if !positive(p.UnitsPerOperation) {
		add("units-per-operation wants a number above 0, not %g: how many of their units are one operation of ours?", p.UnitsPerOperation)
	}
	if len(p.Rows) == 0 {
		add("rows is missing: what has been published?")
	}
	for i, r := range p.Rows {
		if slices.ContainsFunc(p.Rows[:i], func(o results.PublishedRow) bool { return o.Name == r.Name }) {
			add("rows has %q twice", r.Name)
		}
		validateRow(r, func(format string, args ...any) { add("row %d: "+format, append([]any{i + 1}, args...)...) })
	}
}

func validateRow(r results.PublishedRow, add func(format string, args ...any)) {
	if r.Name == "" {
		add("name is missing")
	}
	if !positive(r.Operations) {
		add("operations wants a number above 0, not %g", r.Operations)
	}
	if len(r.Seconds) == 0 {
		add("seconds is missing: how long did it take, by the number of clients?")
	}
	for _, clients := range slices.Sorted(maps.Keys(r.Seconds)) {
		if seconds := r.Seconds[clients]; clients < 1 || !positive(seconds) {
			add("seconds wants numbers above 0, not %g for %d clients", seconds, clients)
		}
	}
}

func positive(f float64) bool { return f > 0 && !math.IsInf(f, 0) }
