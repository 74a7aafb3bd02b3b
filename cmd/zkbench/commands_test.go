package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Every command in the documentation is accepted by the program as it is. A command in a block is complete; one in prose may only name a
// command and some of its flags.
func TestCommandsOfPages(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			for _, words := range b.commands() {
				if err := acceptable(t.Context(), words, true); err != nil {
					t.Errorf("%s:%d: %v: %v", p.name, b.line, words, err)
				}
			}
		}
		for _, code := range p.inline {
			for _, words := range shellCommands(code.text) {
				if err := acceptable(t.Context(), words, false); err != nil {
					t.Errorf("%s:%d: %v: %v", p.name, code.line, words, err)
				}
			}
		}
	}
}

// commands returns the arguments of each zkbench command of a block. A block that shows what is typed and what is printed has a prompt
// before each command.
func (b codeBlock) commands() [][]string {
	prompt := regexp.MustCompile(`(?m)^\s*\$ `)
	switch {
	case b.language == "yaml" || b.language == "yml": // steps of a workflow
		return shellCommands(strings.Join(regexp.MustCompile(`(?m)^\s*(?:- )?run: *[^|].*|^\s*(?:bin/)?zkbench .*`).FindAllString(b.text, -1), "\n"))
	case prompt.MatchString(b.text):
		typed, continues := "", false
		for line := range strings.Lines(b.text) {
			if continues || prompt.MatchString(line) {
				typed += prompt.ReplaceAllString(line, "")
			}
			continues = (continues || prompt.MatchString(line)) && strings.HasSuffix(line, "\\\n")
		}
		return shellCommands(typed)
	case b.language == "": // perhaps not shell
		return slices.DeleteFunc(shellCommands(b.text), func(words []string) bool {
			return len(words) == 0 || !slices.ContainsFunc(rootCommand(&app{}).Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		})
	case slices.Contains([]string{"sh", "bash", "shell", "console"}, b.language):
		return shellCommands(b.text)
	}
	return nil
}

// shellCommands returns the arguments of each zkbench command in a piece of shell.
func shellCommands(text string) (all [][]string) {
	text = regexp.MustCompile(`(?m)^\s*(- )?run: *`).ReplaceAllString(text, "")
	for _, words := range split(text) {
		for len(words) > 0 && regexp.MustCompile(`^([A-Za-z_]+=.*|!|if|then|else|do|time|nice|exec)$`).MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && regexp.MustCompile(`^([\w./-]*bin/)?zkbench$`).MatchString(words[0]) {
			all = append(all, words[1:])
		}
	}
	return all
}

// split returns the words of each simple command, without redirections. Text that the shell would replace is a word with a "$".
func split(text string) (commands [][]string) {
	space := regexp.MustCompile(`^(?:[ \t]|\\\n|#[^\n]*)+`)
	redirection := regexp.MustCompile(`^\d?(?:<<?|>>?)(?:&\d|[ \t]*[\w./$"-]+)`)
	operator := regexp.MustCompile(`^[|&;\n()]+`)
	part := regexp.MustCompile(`^(?:'[^']*'|"(?:\$\([^)]*\)|[^"])*"|<\([^)]*\)|\$\([^)]*\)|\\[^\n]|[^\s|&;()<>'"\\]+)`)
	words, word, inWord := []string{}, "", false
	endWord := func() {
		if inWord {
			words, word, inWord = append(words, word), "", false
		}
	}
	for text != "" {
		found := redirection.FindString(text)
		if inWord || found == "" {
			if found = part.FindString(text); found != "" && (inWord || found[0] != '#') {
				word, inWord, text = word+unquoted(found), true, text[len(found):]
				continue
			}
			endWord()
			found = space.FindString(text)
		}
		if at := operator.FindString(text); at != "" {
			found, commands, words = at, append(commands, words), []string{}
		}
		text = text[max(1, len(found)):]
	}
	endWord()
	return append(commands, words)
}

func unquoted(part string) string {
	if part[0] == '\'' || part[0] == '"' {
		return part[1 : len(part)-1]
	}
	return part
}

// stands reports whether a word stands for something that the reader chooses, such as RESULT, $out or "…".
func stands(word string) bool {
	return regexp.MustCompile(`^[A-Z][A-Z0-9_/-]*$|…|\.\.\.|\$|^<\(`).MatchString(word)
}

// acceptable returns why zkbench would not accept a command line.
func acceptable(ctx context.Context, words []string, complete bool) error {
	root := rootCommand(&app{started: &started{}})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if len(words) > 0 && stands(words[0]) {
		return nil
	}
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	rest = chosen(cmd, rest)
	err = cmd.ParseFlags(rest)
	if err != nil && (complete || !strings.Contains(err.Error(), "needs an argument")) {
		return err
	}
	args := cmd.Flags().Args()
	if help, _ := cmd.Flags().GetBool("help"); help || !complete && len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool {
		return strings.Contains(arg, "…")
	}) {
		return nil
	}
	if cmd.HasSubCommands() && cmd != root {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), args)
	}
	for _, err := range []error{cmd.ValidateArgs(args), cmd.ValidateFlagGroups(), checkValues(cmd)} {
		if err != nil {
			return err
		}
	}
	if err := cmd.ValidateRequiredFlags(); complete && err != nil {
		return err
	}
	return named(ctx, cmd, args, rest)
}

// chosen replaces the values that a reader chooses by some that their flags accept.
func chosen(cmd *cobra.Command, words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		name, value, joined := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			flag = cmd.InheritedFlags().Lookup(name)
		}
		switch {
		case flag == nil || !strings.HasPrefix(word, "--") || flag.NoOptDefVal != "":
		case joined && stands(value):
			words[i] = "--" + name + "=" + accepted(flag)
		case !joined && i+1 < len(words) && stands(words[i+1]):
			words[i+1] = accepted(flag)
		}
	}
	return words
}

func accepted(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "int", "ints", "intSlice", "uint", "uint64":
		return "1"
	case "duration", "time":
		return "1s"
	}
	if words := flag.Annotations[allowed]; len(words) > 0 {
		return words[0]
	}
	return "chosen"
}

// named checks the names of scenarios and variants.
func named(ctx context.Context, cmd *cobra.Command, args, words []string) error {
	args = slices.DeleteFunc(slices.Clone(args), stands)
	if cmd.Name() == "explain" && len(args) > 0 {
		if _, stderr, code := command(ctx, "explain", args[0]); code != 0 {
			return fmt.Errorf("%s", stderr)
		}
	}
	if run := cmd.Flags().Lookup("run"); run != nil && run.Changed && !stands(run.Value.String()) {
		args = append(args, run.Value.String())
	} else if !slices.Contains([]string{"run", "capacity", "calibrate"}, cmd.Name()) {
		return nil
	}
	for _, name := range args {
		if strings.ContainsAny(name, "./") || slices.Contains(scenarios.Groups(), name) {
			continue // a file of the reader, or many scenarios
		}
		s, err := scenarios.Read(ctx, name, catalog.Recipes())
		if err == nil {
			err = loads(s, words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loads checks the flags of the load against a scenario.
func loads(s scenarios.Scenario, words []string) error {
	probe := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	load := bindLoad(probe, true)
	if err := probe.ParseFlags(words); err != nil {
		return err
	}
	if slices.Contains(words, "--quick") {
		s.Quick()
	}
	err := override(&s, load, catalog.Recipes())
	if slices.Contains(words, "--driver") || slices.Contains(words, "copied-watch") { // variants that are the reader's own
		return nil
	}
	return err
}

// The examples of the documentation work. A comment above a block says what to do with it:
//
//	<!-- run -->               run its commands, on the embedded server; with "run, exit code 3" the last one must exit so
//	<!-- scenario mine.yaml --> read it as a scenario file, rehearse it, and keep it under this name for commands of the page
//	<!-- rules herd.yaml -->    read it as a rules file, and keep it likewise
func TestExamplesOfPages(t *testing.T) {
	outsideCI(t)
	ran := 0
	for _, p := range pages(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, b := range p.blocks {
				kind, argument, _ := strings.Cut(b.marker, " ")
				switch kind {
				case "run", "run,":
					ran++
					t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
						measurement(t)
						runExample(t, p, b)
					})
				case "scenario":
					ran++
					tryScenario(t, keep(t, argument, b.text))
				case "rules":
					ran++
					if _, err := gate.ParseRules(keep(t, argument, b.text), []byte(b.text), gateNames()); err != nil {
						t.Errorf("%s:%d: %v", p.name, b.line, err)
					}
				}
			}
		})
	}
	if ran == 0 {
		t.Error("no page has an example that is marked")
	}
}

func keep(t *testing.T, name, text string) string {
	t.Helper()
	if name == "" {
		name = "example.yaml"
	}
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// tryScenario rehearses a scenario in virtual time, unless it needs servers that fail.
func tryScenario(t *testing.T, file string) {
	t.Helper()
	s, err := scenarios.Read(t.Context(), "./"+file, catalog.Recipes())
	if err != nil {
		t.Error(err)
		return
	}
	if s.Unable(scenarios.AbilityOf("embedded", 1)) != nil {
		return
	}
	delays := embedded.Config{ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}
	_, stderr, code := inMemory(t, delays, "run", "./"+file, "--quick", "--out", filepath.Join(t.TempDir(), "out"))
	if code != 0 {
		t.Errorf("%s: exit code %d: %s", file, code, stderr)
	}
}

// runExample runs the commands of a block one after another, as a reader would.
func runExample(t *testing.T, p docPage, b codeBlock) {
	t.Helper()
	want := 0
	if _, code, found := strings.Cut(b.marker, "exit code "); found {
		want = must.Get(strconv.Atoi(code))(t)
	}
	all := b.commands()
	if len(all) == 0 {
		t.Errorf("%s:%d: there is no command to run", p.name, b.line)
	}
	for i, words := range all {
		if words[0] == "run" {
			words = append(slices.Clone(words), "--name", fmt.Sprint("pages-", os.Getpid())) // other tests use the default ensemble
		}
		stdout, stderr, code := command(t.Context(), words...)
		if i < len(all)-1 && code != 0 || i == len(all)-1 && code != want {
			t.Errorf("%s:%d: %v: exit code %d, want %d\n%s%s", p.name, b.line, words, code, want, stdout, stderr)
		}
	}
}

// The commands are found among the other text of a page.
func TestShellCommands(t *testing.T) {
	for text, want := range map[string]string{
		"zkbench run a --clients 40 # comment":                 "[[run a --clients 40]]",
		"make && bin/zkbench list recipes | head":              "[[list recipes]]",
		"out=$(date) ../x/bin/zkbench gate \"$out\" >f 2>&1":   "[[gate $out]]",
		"zkbench run a \\\n  --quick\nzkbench gate":            "[[run a --quick] [gate]]",
		"zkbench run a --fault 'kill: leader, at: 1s' & x=$!":  "[[run a --fault kill: leader, at: 1s]]",
		"- run: zkbench gate out --rules <(cat x)":             "[[gate out --rules <(cat x)]]",
		"zkbenchx run; echo zkbench; (cd x; zkbench version)":  "[[version]]",
		"if ! zkbench gate a || [ $? -ne 5 ]; then zkbench b":  "[[gate a] [b]]",
		"zkbench gate --metrics 'a-*,b' --across=x > out.txt;": "[[gate --metrics a-*,b --across=x]]",
	} {
		if got := fmt.Sprint(shellCommands(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// The test of commands would notice a mistake.
func TestUnacceptableCommands(t *testing.T) {
	for line, wrong := range map[string]bool{
		"run lock-contention --clients 40":           false,
		"run SCENARIO --clients N --name NAME":       false,
		"run lock-contention --client 40":            true,
		"run lock-contention --clients many":         true,
		"run lock-contentoin":                        true,
		"run lock-contention --variants znode,zonde": true,
		"run": true,
		"gate --run lock-drain --base-binary ./zkbench": false,
		"gate --run lock-dran --base-binary ./zkbench":  true,
		"explain lock/znode":                            false,
		"explain lock/zonde":                            true,
		"ensemble up --ensemble external":               true,
		"ensemble upp":                                  true,
		"baseline save RESULT…":                         false,
		"observe":                                       true,
		"rnu":                                           true,
		"plot --format gif":                             true,
	} {
		if err := acceptable(t.Context(), strings.Fields(line), true); (err != nil) != wrong {
			t.Errorf("%s: %v", line, err)
		}
	}
}
