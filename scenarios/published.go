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
		{Name: "metric", Wants: "a metric, such as requests/op", Value: &p.Metric},
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
			{Name: "values", Wants: "values of the metric by the number of clients, such as {50: 9.4, 100: 19.8}", Value: &row.Values},
		}, nil
	})
	for _, row := range rows {
		s.Published.Rows = append(s.Published.Rows, *row)
	}
	return mistakes
}

// adder adds a problem with a part of the block.
type adder func(format string, args ...any)

func (s *Scenario) validatePublished(all *problems) {
	p := s.Published
	if p == nil {
		return
	}
	add := func(format string, args ...any) { all.add(publishedField, format, args...) }
	question, validateRow := "what do they count, such as barrier operations?", validateTimes
	if holdsValues(p) {
		question, validateRow = "what are the values, such as reads per second?", validateValues
	}
	for _, f := range []struct{ name, value, question string }{
		{"source", p.Source, "who published this, and where?"},
		{"differs", p.Differs, "how does their setup differ from ours?"},
		{"unit", p.Unit, question},
	} {
		if f.value == "" {
			add("%s is missing: %s", f.name, f.question)
		}
	}
	validateForm(p, add)
	if len(p.Rows) == 0 {
		add("rows is missing: what has been published?")
	}
	for i, r := range p.Rows {
		if slices.ContainsFunc(p.Rows[:i], func(o results.PublishedRow) bool { return o.Name == r.Name }) {
			add("rows has %q twice", r.Name)
		}
		addRow := func(format string, args ...any) { add("row %d: "+format, append([]any{i + 1}, args...)...) }
		if r.Name == "" {
			addRow("name is missing")
		}
		validateRow(r, addRow)
	}
}

// holdsValues reports whether a block is meant to hold values of a metric, and not times. It may lack the metric by mistake.
func holdsValues(p *results.Published) bool {
	return p.Metric != "" || slices.ContainsFunc(p.Rows, func(r results.PublishedRow) bool { return len(r.Values) > 0 })
}

// validateForm checks the fields that one form of a block has and the other has not. The metric's name is checked with those of
// claims.
func validateForm(p *results.Published, add adder) {
	values := holdsValues(p)
	if values && p.Metric == "" {
		add("metric is missing: which metric are the rows' values of?")
	}
	if values && p.UnitsPerOperation != 0 {
		add("units-per-operation means nothing to values of a metric, which are not converted")
	}
	if !values && !positive(p.UnitsPerOperation) {
		add("units-per-operation wants a number above 0, not %g: how many of their units are one operation of ours?", p.UnitsPerOperation)
	}
}

func validateTimes(r results.PublishedRow, add adder) {
	if !positive(r.Operations) {
		add("operations wants a number above 0, not %g", r.Operations)
	}
	if len(r.Seconds) == 0 {
		add("seconds is missing: how long did it take, by the number of clients?")
	}
	validateByClients("seconds", r.Seconds, add)
}

func validateValues(r results.PublishedRow, add adder) {
	if r.Operations != 0 || len(r.Seconds) > 0 {
		add("operations and seconds mean nothing beside values of a metric")
	}
	if len(r.Values) == 0 {
		add("values is missing: what was published, by the number of clients?")
	}
	validateByClients("values", r.Values, add)
}

func validateByClients(field string, numbers map[int]float64, add adder) {
	for _, clients := range slices.Sorted(maps.Keys(numbers)) {
		if number := numbers[clients]; clients < 1 || !positive(number) {
			add("%s wants numbers above 0, not %g for %d clients", field, number, clients)
		}
	}
}

func positive(f float64) bool { return f > 0 && !math.IsInf(f, 0) }
