package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// loadFlags are the texts of the flags that override the fields of scenarios, by the names of the fields. They are read once a scenario is
// loaded.
type loadFlags map[string][]string

// bindLoad declares the flags that change a scenario's load.
func bindLoad(cmd *cobra.Command) loadFlags {
	f := loadFlags{}
	f.bind(cmd, func(field results.Field) bool { return !field.Series })
	return f
}

// bindSeries declares the flags that say how often and in which order a load is measured.
func (f loadFlags) bindSeries(cmd *cobra.Command) {
	f.bind(cmd, func(field results.Field) bool { return field.Series })
}

func (f loadFlags) bind(cmd *cobra.Command, which func(results.Field) bool) {
	for _, field := range loadFields() {
		if !which(field) {
			continue
		}
		flag := cmd.Flags().VarPF(fieldFlag{field, f}, field.FlagName(), "", field.Help)
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		if offered := completions(field.Name); offered != nil {
			if err := cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)); err != nil {
				panic(err) // the flag is bound above
			}
		}
	}
}

// loadFields returns the fields of a scenario that have flags.
func loadFields() []results.Field {
	return list.Where(new(results.Scenario).Fields(), func(f results.Field) bool { return f.Help != "" })
}

// loadFlagNames returns the names of the flags that change a scenario's load.
func loadFlagNames() []string {
	load := list.Where(loadFields(), func(f results.Field) bool { return !f.Series })
	return list.Map(load, results.Field.FlagName)
}

// completions returns texts of a field that has fields of its own.
func completions(field string) []cobra.Completion {
	switch field {
	case "stages":
		return []cobra.Completion{scenarios.None, "for: 10s, rate: 100, ramp: true", "for: 10s, clients: 10, ramp: true"}
	case "background":
		return []cobra.Completion{scenarios.None, "reads: 500, writes: 100, bytes: 1024, znodes: 1000"}
	case "faults":
		out := []cobra.Completion{scenarios.None}
		for _, k := range faults.Kinds() {
			for _, whom := range faults.Whom(k, nil) {
				out = append(out, fmt.Sprintf("%s: %s, at: 1s", k, whom))
			}
		}
		return out
	default:
		return nil
	}
}

// fieldFlag is the flag of one field.
type fieldFlag struct {
	field results.Field
	flags loadFlags
}

// Set implements pflag.Value.
func (f fieldFlag) Set(text string) error {
	f.flags[f.field.Name] = append(f.flags[f.field.Name], text)
	return nil
}

// String implements pflag.Value.
func (f fieldFlag) String() string { return strings.Join(f.flags[f.field.Name], ",") }

// Type returns the name of the value in a help text.
func (f fieldFlag) Type() string {
	switch of := reflect.TypeOf(f.field.Value).Elem(); {
	case of.Kind() == reflect.Slice:
		return of.Elem().Kind().String() + "s"
	case of.Name() == "Duration":
		return "duration"
	default:
		return of.Kind().String()
	}
}

// arguments returns the flags that were given.
func (f loadFlags) arguments() []string {
	var out []string
	for _, field := range loadFields() {
		for _, text := range f[field.Name] {
			out = append(out, "--"+field.FlagName()+"="+text)
		}
	}
	return out
}

// with returns the flags with others in the place of some.
func (f loadFlags) with(others loadFlags) loadFlags {
	all := maps.Clone(f)
	maps.Copy(all, others)
	return all
}

// scenario loads a scenario and overrides its fields with the flags that were given.
func (f loadFlags) scenario(name string, recipes []variants.Recipe) (scenarios.Scenario, error) {
	s, err := scenarios.Load(name, recipes)
	if err != nil {
		return s, err
	}
	return f.override(s, recipes)
}

// override changes a scenario by the flags that were given, and checks the result.
func (f loadFlags) override(s scenarios.Scenario, recipes []variants.Recipe) (scenarios.Scenario, error) {
	if err := s.Override(f); err != nil {
		return s, err
	}
	return s, checked(s, recipes)
}

// checked returns every mistake in a scenario, by the flags that change its fields.
func checked(s scenarios.Scenario, recipes []variants.Recipe) error {
	flags := map[string]string{}
	for _, field := range s.Fields() {
		flags[field.Name] = field.FlagName()
	}
	return errors.Join(list.Map(s.Validate(recipes), func(p scenarios.Problem) error {
		return fmt.Errorf("%s, --%s: %s", s.Name, flags[p.Field], p.Text)
	})...)
}
