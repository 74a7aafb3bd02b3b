package main

import (
	"cmp"
	"fmt"
	"go/doc/comment"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "explain RECIPE|VARIANT|SCENARIO|METRIC", Short: "Explain a variant, a metric, a recipe or a scenario",
		Long: `Explain a recipe and its promise; a variant with its algorithm in numbered
steps, its cost as formulas of the number of clients N, its source and its
weaknesses; a scenario and the question that it answers; or a metric: what it
is, its unit, and which values are better.`,
		Example: `  zkbench explain lock
  zkbench explain lock/predecessor-watch
  zkbench explain lock-drain
  zkbench explain acquire-p99`,
		Args:              arguments(1, 1, "explain what? `zkbench list` shows recipes, variants and scenarios"),
		ValidArgsFunction: cobra.FixedCompletions(subjects(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(_ *cobra.Command, args []string) error { return a.explain(args[0]) },
	}
}

func subjects() (names []string) {
	for _, r := range catalog.Recipes() {
		names = append(names, r.Name)
		for _, v := range r.All() {
			names = append(names, r.Name+"/"+v.Name)
		}
	}
	return slices.Concat(names, scenarios.Names(), metricNames())
}

func metricNames() []string {
	return list.Distinct(slices.Concat(append(list.Map(catalog.Recipes(), scenarios.MetricNames), []string{metric.Capacity})...))
}

func (a *app) explain(name string) error {
	if recipe := catalog.Named(name); recipe != nil {
		return a.explainRecipe(recipe())
	}
	if r, v, known := catalog.Variant(name); known {
		return a.explainVariant(r, v)
	}
	if slices.Contains(scenarios.Names(), name) {
		return a.explainScenario(name)
	}
	if m := metric.Named(metric.WithUnit(name)); slices.Contains(metricNames(), m.Name) {
		a.explainMetric(m)
		return nil
	}
	return usage(fmt.Errorf("there is nothing called %q%s", name, strict.Nearest(name, subjects())))
}

func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stdout, "%s\n\n", table.Wrap(fmt.Sprintf(format, args...), a.width()))
}

func (a *app) explainRecipe(r variants.Recipe) error {
	a.say("%s: %s", r.Name, r.Summary)
	a.say("Source: %s", r.Source)
	a.say("Bound of any algorithm, per operation of N clients (phase %s): %s. %s.", r.Bound.Phase, r.Bound, r.Bound.Why)
	if err := a.listVariants([]variants.Recipe{r}); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	t := newList("phase", "from when to when")
	for _, p := range r.Phases {
		t.Row(p.Name, p.Meaning)
	}
	return a.printTable(t)
}

func (a *app) explainMetric(m metric.Descriptor) {
	a.say("%s: %s", m.Name, m.Help)
	a.say("%s", m.Facts())
	having := list.Where(catalog.Recipes(), func(r variants.Recipe) bool { return slices.Contains(scenarios.MetricNames(r), m.Name) })
	if len(having) > 0 && len(having) < len(catalog.Recipes()) {
		a.say("Recipes: %s.", strings.Join(list.Map(having, func(r variants.Recipe) string { return r.Name }), ", "))
	}
}

// hanging wraps lines, and indents their continuations as the text behind the first word of the line, such as "requests".
func hanging(text string, width int) string {
	head := regexp.MustCompile(`^ +(\S+  +)?`)
	return strings.Join(list.Map(strings.Split(text, "\n"), func(line string) string {
		if table.Width(line) <= width {
			return line
		}
		indent := head.FindString(line)
		wrapped := table.Wrap(line[len(indent):], width-table.Width(indent))
		return indent + strings.ReplaceAll(wrapped, "\n", "\n"+strings.Repeat(" ", table.Width(indent)))
	}), "\n")
}

func (a *app) explainVariant(r variants.Recipe, v variants.Variant) error {
	text, err := commentOf(r.Code, v)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", r.Name, v.Name, err)
	}
	a.say("%s/%s (%s): %s", r.Name, v.Name, v.Kind, v.Summary)
	if v.Broken != "" {
		a.say("Known broken: %s. It runs only where a scenario or a flag names it.", v.Broken)
	}
	var parser comment.Parser
	printer := comment.Printer{TextWidth: min(a.width(), 120), TextCodePrefix: "    "}
	fmt.Fprintln(a.stdout, hanging(string(printer.Text(parser.Parse(text))), a.width()))
	columns := table.Left("per operation of N clients", "in lockstep, exactly", "free-running, at most")
	columns[1].Fill, columns[2].Width = true, 24 // for the longest formulas
	t := table.New(columns...)
	lockstep, free := formulas(v.Lockstep), formulas(v.Free)
	for i, name := range []string{"requests", "of them writes", "of them failed", "notifications", "largest herd"} {
		t.Row(name, cmp.Or(string(lockstep[i]), table.Missing), cmp.Or(string(free[i]), table.Missing))
	}
	costs, _ := t.Text(a.width())
	fmt.Fprintf(a.stdout, "%s\n\n", costs)
	if slices.ContainsFunc(slices.Concat(lockstep, free), variants.Formula.NamesSize) {
		a.say("S is the size: %s.", r.Size)
	}
	switch {
	case v.Driver != nil:
		a.say("It is in another language: its clients are in the program %s, see docs/drivers.md. "+
			"It runs only where a scenario or a flag names it.", v.Driver.Program)
		if missing := a.missing(v); len(missing) > 0 {
			a.say("It is not available here: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
		}
	case v.Kind == variants.Library:
		a.say("zkbench cannot see when it waits, so that it cannot run in lockstep. It runs only where a scenario or a flag names it.")
	case !v.HasLockstep():
		a.say("It never comes to rest, so that it cannot run in lockstep.")
	}
	a.say("Bad at: %s.", v.BadAt)
	if len(v.Forgoes) > 0 {
		a.say("When a client, a connection or a server fails: %s.", forgone(v.Forgoes))
	}
	if len(v.ForgoesAlways) > 0 {
		a.say("Even while nothing fails: %s.", forgone(v.ForgoesAlways))
	}
	return nil
}

func forgone(losses []variants.Loss) string {
	words := map[variants.Loss]string{
		variants.ItemsLost:    "an item or task may be lost",
		variants.ItemsDoubled: "an item or task may be processed twice",
		variants.OutOfStep:    "a member of a group may start a round before all have entered, or leave it before all have finished",
		variants.TornReads:    "a client may act on values that belong to different updates",
		variants.Orphans:      "znodes may be left that no client removes",
		variants.Blocked:      "clients that work may wait without end for one that failed",
		variants.Fenced:       "a client may go on beside the next holder, which a check of its fencing token stops",
	}
	return strings.Join(list.Map(losses, func(l variants.Loss) string { return cmp.Or(words[l], string(l)) }), "; ")
}

// formulas returns the formulas of a cost, in the order in which they are explained.
func formulas(c variants.Cost) []variants.Formula {
	return []variants.Formula{c.Requests, c.Writes, c.FailedWrites, c.Notifications, c.HerdMax}
}

func (a *app) explainScenario(name string) error {
	s, err := scenarios.Load(name, catalog.Recipes())
	if err != nil {
		return err
	}
	a.say("%s: %s", s.Name, s.Question)
	rates := ""
	if len(s.Rate) > 0 {
		rates = s.Offered() + "; "
	}
	a.say("Recipe %s; %s clients; %srepeats %d; %s.", s.Recipe, joined(s.Clients, ", "), rates, s.Repeats, strings.Join(s.Settings(), "; "))
	if s.Size > 1 {
		a.say("The size is: %s.", s.RecipeAmong(catalog.Recipes()).Size)
	}
	return nil
}

// sourceOf returns the first sentence after "Source:" in a variant's comment: where the variant is described, and how it differs.
func sourceOf(code fs.FS, v variants.Variant) (string, error) {
	text, err := commentOf(code, v)
	_, source, _ := strings.Cut(text, "Source: ")
	source, _, _ = strings.Cut(strings.Join(strings.Fields(source), " ")+" ", ". ")
	return source, err
}

// commentOf returns the comment of a variant's type, or of the function that returns a library's variant.
func commentOf(code fs.FS, v variants.Variant) (string, error) {
	name := cmp.Or(v.Type, strings.ReplaceAll(v.Name, "-", ""))
	declared := regexp.MustCompile(`(?im)^((?://.*\n)+)(?:type|func) ` + name + `\b`)
	files, _ := fs.Glob(code, "*.go") // the pattern is valid
	for _, file := range files {
		source, err := fs.ReadFile(code, file)
		if err != nil {
			return "", err
		}
		if found := declared.FindSubmatch(source); found != nil {
			return regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(string(found[1]), ""), nil
		}
	}
	return "", fmt.Errorf("the code has no type or function %s, in upper or lower case, with a comment: see Variant.Type", name)
}
