package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/results/strict"
)

// Groups of flags in help texts.
const (
	checkFlags, pairedFlags, searchFlags, seriesFlags = "Check", "Pair", "Search", "Measurement"
	loadFlags, faultFlags, serverFlags, outputFlags   = "Load", "Fault and background", "Ensemble", "Output"
	flagGroup                                         = "group" // the annotation of a flag
)

// putInGroup puts the named flags into a group of the help text; without names, all flags that are in none.
func putInGroup(cmd *cobra.Command, group string, names ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) || len(names) == 0 && f.Annotations[flagGroup] == nil {
			_ = cmd.Flags().SetAnnotation(f.Name, flagGroup, []string{group}) // the flag exists
		}
	})
}

// usageInGroups returns the usual usage text with its flags in groups.
func usageInGroups(usual func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		var text strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		err := usual(cmd)
		cmd.SetOut(out)
		before, flags, found := strings.Cut(text.String(), "\nFlags:\n")
		if _, after, _ := strings.Cut(flags, "\n\n"); found {
			before = strings.TrimRight(before+"\n"+groupedFlags(cmd)+after, "\n") + "\n"
		}
		_, printErr := fmt.Fprint(out, before)
		return errors.Join(err, printErr)
	}
}

func groupedFlags(cmd *cobra.Command) string {
	var text strings.Builder
	for _, group := range []string{
		checkFlags, pairedFlags, searchFlags, seriesFlags, loadFlags, faultFlags, serverFlags, outputFlags, "", // without a group
	} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Join(f.Annotations[flagGroup], "") == group {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			title := strings.TrimSpace(group + " Flags:")
			fmt.Fprintf(&text, "%s\n%s\n", title[:1]+strings.ToLower(title[1:]), set.FlagUsages())
		}
	}
	return text.String()
}

// flagError adds a similar flag to the error about an unknown one, and says in plain words which value a flag does not take.
func flagError(cmd *cobra.Command, err error) error {
	unknown, value := new(pflag.NotExistError), new(pflag.InvalidValueError)
	switch {
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		_, similar, found := strings.Cut(strict.Nearest(unknown.GetSpecifiedName(), names), `; did you mean "`)
		if found {
			return fmt.Errorf("%w; did you mean --%s", err, strings.Replace(similar, `"`, "", 1))
		}
		return fmt.Errorf("%w; `%s --help` lists all", err, cmd.CommandPath())
	case errors.As(err, &value):
		return fmt.Errorf("--%s cannot be %q: %w", value.GetFlag().Name, value.GetValue(), value.Unwrap())
	}
	return err
}

// addGroup adds commands under a title of the help text.
func (a *app) addGroup(root *cobra.Command, title string, commands ...func(*app) *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		cmd := command(a)
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}
