package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios/faults"
)

// None is the value of a flag that removes stages, faults or a background.
const None = "none"

// Overrides are the values of flags that replace fields of scenarios, by the names of the fields.
type Overrides map[string][]string

// With returns a copy of the overrides in which others replace values of the same fields.
func (o Overrides) With(others Overrides) Overrides {
	all := maps.Clone(o)
	maps.Copy(all, others)
	return all
}

// Arguments returns the overrides as arguments of `zkbench run`.
func (o Overrides) Arguments() []string {
	var out []string
	for _, field := range FlagFields() {
		for _, text := range o[field.Name] {
			out = append(out, "--"+field.FlagName()+"="+text)
		}
	}
	return out
}

// FlagFields returns the fields of a scenario that have flags.
func FlagFields() []results.Field {
	return list.Where(new(results.Scenario).Fields(), func(f results.Field) bool { return f.Help != "" })
}

// Override replaces fields by the values of their flags. It clears fields that contradict the new values, unless they are
// given, too. It removes the claims if a flag changes the load, as they are about the scenario's own load.
func (s *Scenario) Override(given Overrides) error {
	var errs []error
	for _, f := range s.Fields() {
		if texts := given[f.Name]; texts != nil {
			errs = append(errs, set(f, texts))
			if !f.Series {
				s.Expect = nil
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.replace(given)
	s.Complete()
	return nil
}

func (s *Scenario) replace(given Overrides) {
	by := func(field string, holds bool, replaced ...string) {
		for _, f := range s.Fields() {
			if holds && given[field] != nil && given[f.Name] == nil && slices.Contains(replaced, f.Name) {
				f.Clear()
			}
		}
	}
	by("mode", s.Mode != Open, "rate", "arrivals")
	by("duration", true, "operations", "at-most")
	by("operations", true, "duration")
	by("stages", len(s.Stages) > 0, "duration", "operations", "at-most", "rate")
	by("stages", len(s.Stages) > 0 && s.Mode == Closed, "clients")
	by("faults", true, "quorum-loss")
	by("background", s.overviewUnmeasured(), "overview")
}

func (s *Scenario) overviewUnmeasured() bool {
	pair, err := claim.ParsePair(s.Overview)
	return err == nil && slices.ContainsFunc(pair.Metrics, func(name string) bool {
		return metric.Named(name).Part == metric.BackgroundPart && (s.Background == nil || !metric.MeasuredBy(*s.Background, name))
	})
}

// set parses the values of a flag by the rules for a file.
func set(f results.Field, texts []string) error {
	last := texts[len(texts)-1:]
	switch into := f.Value.(type) {
	case *[]results.StageLoad:
		return setEach(f, into, texts, parseStage)
	case *[]faults.Fault:
		return setEach(f, into, texts, faults.Parse)
	case **results.BackgroundLoad:
		var loads []*results.BackgroundLoad
		err := setEach(f, &loads, last, parseBackground)
		*into = append(loads, nil)[0] // nil for none
		return err
	case *[]int, *[]string, *[]results.Rate:
		return setPlain(f, &yaml.Node{Kind: yaml.SequenceNode, Content: list.Map(strings.Split(strings.Join(texts, ","), ","), word)})
	default:
		return setPlain(f, word(last[0]))
	}
}

func setEach[T any](f results.Field, into *[]T, texts []string, parse func(string) (T, error)) error {
	*into = nil
	if slices.Equal(texts, []string{None}) {
		return nil
	}
	var errs []error
	for _, text := range texts {
		one, err := parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %q: %w", f.FlagName(), text, err))
		}
		*into = append(*into, one)
	}
	return errors.Join(errs...)
}

func setPlain(f results.Field, value *yaml.Node) error {
	flag := "--" + f.FlagName()
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{word(flag), value}}
	mistakes, _ := strict.Mapping(root, "", []strict.Field{{Name: flag, Wants: f.Wants, Value: f.Value}})
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

func word(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text)}
}
