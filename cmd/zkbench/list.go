package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func listCommand(a *app) *cobra.Command {
	sections := []string{"recipes", "variants", "scenarios"}
	show := map[string]func() error{
		"recipes": a.listRecipes, "variants": func() error { return a.listVariants(catalog.Recipes()) }, "scenarios": a.listScenarios,
	}
	return &cobra.Command{
		Use: "list [recipes|variants|scenarios]", Short: "List recipes, variants and scenarios",
		ValidArgs: sections, Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			chosen := sections
			if len(args) == 1 {
				chosen = args
			}
			for i, section := range chosen {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				if err := oneOf("list", section, sections); err != nil {
					return err
				}
				if err := show[section](); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) listRecipes() error {
	t := newList("recipe", "what it promises")
	for _, r := range catalog.Recipes() {
		t.Row(r.Name, r.Summary)
	}
	return a.printTable(t)
}

// listVariants puts the kind below the name on narrow terminals.
func (a *app) listVariants(recipes []variants.Recipe) error {
	const enough = 100
	narrow := a.width() < enough
	t := newList("variant", "kind", "how it works (source)")
	if narrow {
		t = newList("variant", "how it works (source)")
	}
	for _, r := range recipes {
		for _, v := range r.All() {
			source, err := sourceOf(r.Code, v)
			if err != nil {
				return err
			}
			how := fmt.Sprintf("%s (%s)", v.Summary, source)
			if v.Broken != "" {
				how += "; known broken: " + v.Broken
			}
			if missing := a.missing(v); len(missing) > 0 {
				how += "; not available here: apt-get install --no-install-recommends " + strings.Join(missing, " ")
			}
			if narrow {
				t.Row(table.Lines{r.Name + "/" + v.Name, "  " + string(v.Kind)}, how)
			} else {
				t.Row(r.Name+"/"+v.Name, v.Kind, how)
			}
		}
	}
	return a.printTable(t)
}

func (a *app) listScenarios() error {
	t := newList("scenario", "recipe", "clients", "what it answers")
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			return err
		}
		clients := joined(s.Clients, ",")
		if len(clients) > len("10,100,1000") {
			clients = fmt.Sprintf("%d…%d", s.Clients[0], s.Clients[len(s.Clients)-1])
		}
		t.Row(s.Name, s.Recipe, clients, s.Question)
	}
	return a.printTable(t)
}

func (a *app) missing(v variants.Variant) []string {
	if v.Driver == nil || a.everyLibrary {
		return nil
	}
	return drivers.Missing(*v.Driver)
}

// newList returns a table whose last column is wrapped, because it holds sentences.
func newList(titles ...string) *table.Table {
	columns := table.Left(titles...)
	columns[len(columns)-1].Fill = true
	return table.New(columns...)
}

func (a *app) printTable(t *table.Table) error {
	text, _ := t.Text(a.width())
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

func joined(numbers []int, separator string) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", separator), "[]")
}
