package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// bindLoad declares the flags that change a scenario's load. They are read once a scenario is loaded. series adds the flags for the
// number and the order of the measurements.
func bindLoad(cmd *cobra.Command, series bool) scenarios.Overrides {
	given := scenarios.Overrides{}
	for _, field := range scenarios.FlagFields() {
		if field.Series && !series {
			continue
		}
		flag := cmd.Flags().VarPF(fieldFlag{field, given}, field.FlagName(), "", field.Help)
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	return given
}

func takeScenarios(cmd *cobra.Command, most int, groups ...string) {
	names := slices.Concat(groups, scenarios.Names())
	cmd.Args = arguments(1, most, "which scenario? there are: "+strings.Join(names, ", ")+"; or name a YAML file")
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveDefault)
}

type fieldFlag struct {
	field results.Field
	given scenarios.Overrides
}

// Set implements pflag.Value.
func (f fieldFlag) Set(text string) error {
	f.given[f.field.Name] = append(f.given[f.field.Name], text)
	return nil
}

// GetSlice returns the values as they were given.
func (f fieldFlag) GetSlice() []string { return f.given[f.field.Name] }

// String implements pflag.Value.
func (f fieldFlag) String() string { return strings.Join(f.given[f.field.Name], ",") }

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

func override(s *scenarios.Scenario, given scenarios.Overrides, recipes []variants.Recipe) error {
	if err := s.Override(given); err != nil {
		return err
	}
	return checked(*s, recipes)
}

func checked(s scenarios.Scenario, recipes []variants.Recipe) error {
	flags := map[string]string{}
	for _, field := range s.Fields() {
		flags[field.Name] = field.FlagName()
	}
	return errors.Join(list.Map(s.Validate(recipes), func(p scenarios.Problem) error {
		return fmt.Errorf("%s, --%s: %s", s.Name, flags[p.Field], p.Text)
	})...)
}
