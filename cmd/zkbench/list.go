package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

func listCommand(a *app) *cobra.Command {
	sections := []string{"recipes", "variants", "scenarios"}
	return &cobra.Command{
		Use:       "list [recipes|variants|scenarios]",
		Short:     "List what there is to run",
		ValidArgs: sections,
		Args:      cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := oneOf("list", args[0], sections); err != nil {
					return err
				}
				return a.list(args[0])
			}
			for i, section := range sections {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				if err := a.list(section); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) list(section string) error {
	t := results.NewTable()
	switch section {
	case "recipes":
		t.AppendHeader(table.Row{"recipe", "what it promises"})
		for _, r := range catalog.Recipes() {
			t.AppendRow(table.Row{r.Name, r.Summary})
		}
	case "variants":
		t.AppendHeader(table.Row{"variant", "kind", "how it works"})
		for _, r := range catalog.Recipes() {
			for _, v := range r.Variants {
				t.AppendRow(table.Row{r.Name + "/" + v.Name, v.Kind, v.Summary})
			}
		}
	case "scenarios":
		if err := appendScenarios(t); err != nil {
			return err
		}
	}
	const others = 42 // columns that the rest of the table takes
	wide := max(width(a.stdout)-others, 20)
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "how it works", WidthMax: wide, WidthMaxEnforcer: text.WrapSoft},
		{Name: "what it answers", WidthMax: wide, WidthMaxEnforcer: text.WrapSoft},
	})
	_, err := fmt.Fprintln(a.stdout, t.Render())
	return err
}

func appendScenarios(t table.Writer) error {
	t.AppendHeader(table.Row{"scenario", "recipe", "clients", "what it answers"})
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			return err
		}
		clients := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Clients), " ", ","), "[]")
		t.AppendRow(table.Row{s.Name, s.Recipe, clients, s.Question})
	}
	return nil
}
