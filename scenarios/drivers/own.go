package drivers

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// Own is a driver that a user gives, outside zkbench.
type Own struct {
	name   string // of the variants
	text   string // as it was given
	driver variants.Driver
}

// longestName is the longest name of a driver's variant: the names of files contain it.
const longestName = 80

// OwnDriver returns the driver that a user gives as its file, or as its file and arguments with spaces between. The file is
// run where it is: directly if it is executable, and else as a Java or Python program. An executable Java or Python file must
// begin with `#!` to be run directly.
func OwnDriver(command string) (Own, error) {
	words := strings.Fields(command)
	if _, err := os.Stat(command); err == nil { // a path with spaces
		words = []string{command}
	}
	if len(words) == 0 {
		return Own{}, errors.New("the program is missing, such as ./my_lock.py")
	}
	file, err := filepath.Abs(words[0])
	if err != nil {
		return Own{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return Own{}, err
	}
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	whole := strings.ToLower(strings.Join(append([]string{base}, words[1:]...), "-"))
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(whole, "-"), "-")
	switch p, unknown := platformOf(file); {
	case info.IsDir():
		err = fmt.Errorf("%s is a folder, and no program", words[0])
	case name == "":
		err = fmt.Errorf("%s: the name of the program must have letters or digits, as the variant is named after it", words[0])
	case len(name) > longestName:
		err = fmt.Errorf("%s: the variant is named after the program and its arguments, and %s is longer than %d characters: "+
			"put the arguments into a script", words[0], name, longestName)
	case unknown != nil:
		err = fmt.Errorf("%s is neither executable, nor a Java or Python program", words[0])
	case p.command == nil:
		err = checkInterpreter(file)
	}
	return Own{name, command, variants.Driver{Program: file, Args: words[1:]}}, err
}

// AddTo adds the driver's variant to a recipe, if the recipe takes drivers. It is an error if the recipe has a variant of that
// name.
func (o Own) AddTo(r variants.Recipe) (variants.Recipe, error) {
	if r.JoinDriven == nil {
		return r, nil
	}
	if slices.ContainsFunc(r.All(), func(v variants.Variant) bool { return v.Name == o.name }) {
		return r, fmt.Errorf("%s has a variant %s: rename the program", r.Name, o.name)
	}
	r.Libraries = append(slices.Clone(r.Libraries), variants.WithDriver(o.driver, r.JoinDriven, variants.Variant{
		Name:    o.name,
		Summary: "a driver that was given with --driver: " + o.text,
		Forgoes: r.DrivenForgoes,
	}))
	return r, nil
}

// Given are the drivers that a user gives for a run, beside zkbench's own variants.
type Given []Own

// AddTo returns the recipes, each with the drivers if it takes any. A driver with the name of one of a recipe's variants is
// left out there; [Given.Compare] returns the error if the recipe runs.
func (g Given) AddTo(recipes []variants.Recipe) []variants.Recipe {
	return list.Map(recipes, func(r variants.Recipe) variants.Recipe {
		for _, own := range g {
			r, _ = own.AddTo(r) // unchanged after an error
		}
		return r
	})
}

// Compare adds the drivers to the variants that a scenario compares. recipes are all recipes, without the drivers. The
// scenario loses its claims, which are about its own load.
func (g Given) Compare(s *scenarios.Scenario, recipes []variants.Recipe) error {
	recipe := *s.RecipeAmong(recipes)
	if recipe.JoinDriven == nil {
		driven := list.Where(recipes, func(r variants.Recipe) bool { return r.JoinDriven != nil })
		names := list.Map(driven, func(r variants.Recipe) string { return r.Name })
		return fmt.Errorf("%s is a scenario of recipe %s, which takes no drivers; these do: %s", s.Name, s.Recipe, strings.Join(names, ", "))
	}
	if len(s.Variants) == 0 {
		s.Variants = list.Map(s.Selected(recipe), func(v variants.Variant) string { return v.Name })
	}
	for _, own := range g {
		var err error
		if recipe, err = own.AddTo(recipe); err != nil {
			return err
		}
		s.Variants = list.AppendNew(s.Variants, own.name)
		if !slices.ContainsFunc(s.Selected(recipe), func(v variants.Variant) bool { return v.Name == own.name }) {
			return fmt.Errorf("%s is a %s load, in which no driver can take part: choose another scenario, or --mode closed", s.Name, s.Mode)
		}
	}
	s.Expect = nil
	return nil
}

// runsAsItIs reports whether a file can be executed directly. A Java or Python program without a `#!` line cannot, even if it
// has the executable bit, like all files on some file systems.
func runsAsItIs(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Mode()&0o111 == 0 {
		return false
	}
	if _, err := platformByEnding(file); err != nil {
		return true
	}
	_, named := interpreter(file)
	return named
}

// interpreter returns what follows `#!` in the first line of a script.
func interpreter(file string) (command string, named bool) {
	script, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer script.Close()
	first, _ := bufio.NewReader(script).ReadString('\n')
	return strings.CutPrefix(strings.TrimSuffix(first, "\n"), "#!")
}

// checkInterpreter returns an error if the interpreter of a script is missing. The system's own error names the script instead.
func checkInterpreter(file string) error {
	command, named := interpreter(file)
	program, _, _ := strings.Cut(strings.TrimLeft(command, " \t"), " ")
	isCRLF := strings.HasSuffix(command, "\r")
	if _, err := os.Stat(program); !named || err == nil && !isCRLF {
		return nil
	}
	advice := map[bool]string{true: "; the line must end in LF, not in CR LF"}[isCRLF]
	return fmt.Errorf("%s: the interpreter in its first line is missing: there is no %q%s", file, command, advice)
}
