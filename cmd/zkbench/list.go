package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
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
	switch section {
	case "recipes":
		return a.listRecipes()
	case "variants":
		return a.listVariants(catalog.Recipes())
	default:
		return a.listScenarios()
	}
}

func (a *app) listRecipes() error {
	var rows []table.Row
	for _, r := range catalog.Recipes() {
		rows = append(rows, table.Row{r.Name, r.Summary})
	}
	return a.printList(table.Row{"recipe", "what it promises"}, rows)
}

// listVariants puts the kind below the name where three columns would be too many.
func (a *app) listVariants(recipes []variants.Recipe) error {
	const enough = 100
	narrow := width(a.stdout) < enough
	header := table.Row{"variant", "kind", "how it works"}
	if narrow {
		header = slices.Delete(header, 1, 2)
	}
	var rows []table.Row
	for _, r := range recipes {
		for _, v := range r.Variants {
			row := table.Row{r.Name + "/" + v.Name, v.Kind, v.Summary}
			if narrow {
				row = table.Row{fmt.Sprintf("%s/%s\n  %s", r.Name, v.Name, v.Kind), v.Summary}
			}
			rows = append(rows, row)
		}
	}
	return a.printList(header, rows)
}

func (a *app) listScenarios() error {
	var rows []table.Row
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			return err
		}
		clients := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Clients), " ", ","), "[]")
		rows = append(rows, table.Row{s.Name, s.Recipe, clients, s.Question})
	}
	return a.printList(table.Row{"scenario", "recipe", "clients", "what it answers"}, rows)
}

// printList prints a table whose last column holds sentences, which are wrapped into what the others leave.
func (a *app) printList(header table.Row, rows []table.Row) error {
	t := results.NewTable()
	t.AppendHeader(header)
	t.AppendRows(rows)
	const gap, least = 2, 20
	left := width(a.stdout) - gap
	last := len(header) - 1
	for column := range last {
		widest := 0
		for _, row := range append(rows, header) {
			widest = max(widest, text.LongestLineLen(fmt.Sprint(row[column])))
		}
		left -= widest + gap
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: last + 1, WidthMax: max(left, least), WidthMaxEnforcer: text.WrapSoft}})
	_, err := fmt.Fprintln(a.stdout, t.Render())
	return err
}
