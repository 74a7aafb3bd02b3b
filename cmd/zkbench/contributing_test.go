package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// edit is a change of one file that adds a lock that is a copy of children-watch under another name.
type edit struct {
	what, file, at string // at is a regular expression
	with           string // replaces what at matches
	without        check  // what notices that the edit is missing
}

// check is a list of commands in a copy of the module, and the message of the last one when it fails.
type check struct {
	commands []string
	says     []string
}

// The files of the variant that is copied, and of the copy.
const (
	copiedFile = "variants/lock/naive_children_watch.go"
	newFile    = "variants/lock/naive_copied_watch.go"
)

// The commands are what a contributor runs, but for those of this package and of zkbench: one test binary takes their place, because
// linking it takes most of the time.
const (
	vetVariants   = "go vet -trimpath ./variants/lock ./scenarios"
	testRecipe    = "go test -trimpath -vet=off ./variants/lock"
	testScenarios = "go test -trimpath -vet=off ./scenarios"
	compile       = "go test -trimpath -vet=off -ldflags=-w -c -o bin/zkbench.test ./cmd/zkbench"
	testLists     = "zkbench.test -test.run=TestTexts/^list$|TestBaselinesCoverEveryVariant|TestPackageCommentsNameEveryVariant"
	updateLists   = "zkbench.test -test.run=TestTexts/^list$ -update"
	measureCounts = "zkbench run lock-drain lock-uncontended --variants copied-watch --ensemble embedded --name copied-watch --repeats 1 --out " + countsFolder
	saveCounts    = "zkbench baseline save " + countsFolder
	countsFolder  = "results/runs/counts"
)

// edits are the manual steps of CONTRIBUTING.md, except the variant's own file.
func edits() []edit {
	return []edit{
		{"the variant in Recipe()", "variants/lock/lock.go", `childrenWatchVariant\(\)`, "${0}, copiedWatchVariant()",
			check{[]string{testScenarios + " -run TestEmbeddedScenariosAreValid"}, []string{`recipe lock has no variant "copied-watch"`}}},
		{"the row in the package comment", "variants/lock/lock.go", `//	children-watch .*\n`, "${0}//	copied-watch       the same\n",
			check{[]string{testLists}, []string{"the comment of package lock does not name copied-watch"}}},
		{"the name in the scenario", "scenarios/questions/lock/lock-drain.yaml", `children-watch,`, "${0} copied-watch,",
			check{[]string{compile, testLists}, []string{"no scenario holds lock/copied-watch to its formulas"}}},
	}
}

// generated are the files that the commands of CONTRIBUTING.md rewrite, each with the message that it is stale.
func generated() map[string]string {
	return map[string]string{
		"results/baselines/lock-drain.json":       "lock-drain.json has no row of copied-watch",
		"results/baselines/lock-uncontended.json": "lock-uncontended.json has no row of copied-watch",
		"cmd/zkbench/testdata/list.txt":           "testdata/list.txt differs",
	}
}

// CONTRIBUTING.md lists all steps for a new variant: with them, all checks pass, and without any one of them a test fails and
// names it. It takes 20 s or more, because it compiles and links a copy of the module twice.
func TestAddingAVariant(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a copy of the module")
	}
	m := moduleCopy{copyModule(t), map[string]string{}}
	for _, e := range edits() {
		m.before[e.file] = m.read(t, e.file)
	}
	for file := range generated() {
		m.before[file] = m.read(t, file)
	}
	m.write(t, newFile, renamed().Replace(m.read(t, copiedFile)))
	m.edit(t, "")
	for _, command := range []string{vetVariants, testRecipe, compile, measureCounts, saveCounts, updateLists, testScenarios, testLists} {
		if out, err := m.run(t, command); err != nil {
			t.Fatalf("with all steps done, %s: %v\n%s", command, err, out)
		}
	}
	m.checkSteps(t)
	done, says := map[string]string{}, []string{}
	for file, missing := range generated() {
		done[file], says = m.read(t, file), append(says, missing)
		m.write(t, file, m.before[file])
	}
	m.mustFail(t, "generated files", check{[]string{testLists}, says})
	for file, text := range done {
		m.write(t, file, text)
	}
	for _, e := range edits() {
		m.edit(t, e.what)
		m.mustFail(t, e.what, e.without)
	}
}

// renamed turns the code of one variant into that of another.
func renamed() *strings.Replacer {
	return strings.NewReplacer("ChildrenWatch", "CopiedWatch", "childrenWatch", "copiedWatch", `"children-watch"`, `"copied-watch"`)
}

// moduleCopy is a copy of this module, with the former content of the edited files.
type moduleCopy struct {
	dir    string
	before map[string]string
}

// copyModule copies the files that the module is built and tested from, without the results of runs.
func copyModule(t *testing.T) string {
	t.Helper()
	root, dir := filepath.Join("..", ".."), t.TempDir()
	skipped := []string{".git", "bin", "results/runs", "results/campaigns", "plots/out", "plots/gallery"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(skipped, filepath.ToSlash(name)) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (m moduleCopy) read(t *testing.T, file string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(m.dir, file)))(t)
	return string(text)
}

func (m moduleCopy) write(t *testing.T, file, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(m.dir, file), []byte(text), 0o644))
}

// edit makes all edits but one.
func (m moduleCopy) edit(t *testing.T, omitted string) {
	t.Helper()
	texts := map[string]string{}
	for _, e := range edits() {
		if texts[e.file] == "" {
			texts[e.file] = m.before[e.file]
		}
		at := regexp.MustCompile(e.at)
		if !at.MatchString(texts[e.file]) {
			t.Fatalf("%s: %s has nothing like %s", e.what, e.file, e.at)
		}
		if e.what != omitted {
			texts[e.file] = at.ReplaceAllString(texts[e.file], e.with)
		}
	}
	for file, text := range texts {
		m.write(t, file, text)
	}
}

// run runs a command in the copy and returns its output.
func (m moduleCopy) run(t *testing.T, command string) (string, error) {
	t.Helper()
	words, dir := strings.Fields(command), m.dir
	binary := filepath.Join(m.dir, "bin", "zkbench.test")
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	switch words[0] {
	case "zkbench":
		cmd = exec.CommandContext(t.Context(), binary, words[1:]...)
		cmd.Env = append(os.Environ(), asBinary+"=1")
	case "zkbench.test":
		cmd = exec.CommandContext(t.Context(), binary, words[1:]...)
		dir = filepath.Join(m.dir, "cmd", "zkbench")
	}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustFail runs the commands of a check. The last one must fail.
func (m moduleCopy) mustFail(t *testing.T, omitted string, c check) {
	t.Helper()
	var out string
	var err error
	for i, command := range c.commands {
		if out, err = m.run(t, command); err != nil && i < len(c.commands)-1 {
			t.Errorf("without %s, %s: %v\n%s", omitted, command, err, out)
		}
	}
	for _, text := range c.says {
		if err == nil || !strings.Contains(out, text) {
			t.Errorf("without %s, %s does not say %q (%v):\n%s", omitted, c.commands, text, err, out)
		}
	}
}

// checkSteps compares the steps of CONTRIBUTING.md with the files and commands of this test.
func (m moduleCopy) checkSteps(t *testing.T) {
	t.Helper()
	_, text, _ := strings.Cut(m.read(t, "CONTRIBUTING.md"), "\n## Adding a variant\n")
	text, _, _ = strings.Cut(text, "\n## ")
	steps := strings.Join(regexp.MustCompile(`(?m)^\d\. .*(\n   .*)*`).FindAllString(text, -1), "\n")
	for file := range m.before {
		if !strings.Contains(steps, "`"+file+"`") {
			t.Errorf("no step of CONTRIBUTING.md names `%s`, which a variant needs", file)
		}
	}
	for _, file := range regexp.MustCompile("`([a-z_/]+/[a-z_-]+\\.(go|yaml|json|txt))`").FindAllStringSubmatch(steps, -1) {
		if _, needed := m.before[file[1]]; !needed && file[1] != newFile {
			t.Errorf("CONTRIBUTING.md names `%s`, which a variant does not need", file[1])
		}
	}
}

// The comment of a recipe's package names each of its variants. If it says how many there are, the number is right.
func TestPackageCommentsNameEveryVariant(t *testing.T) {
	numbers := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	for _, recipe := range catalog.Recipes() {
		text := packageComment(t, recipe)
		for _, v := range recipe.Variants {
			if !regexp.MustCompile(`[^\w-]` + v.Name + `[^\w-]`).MatchString(text) {
				t.Errorf("the comment of package %s does not name %s", recipe.Name, v.Name)
			}
		}
		if number := regexp.MustCompile(`compares (\w+) ways`).FindStringSubmatch(text); number != nil && number[1] != numbers[len(recipe.Variants)] {
			t.Errorf("the comment of package %s says that there are %s variants, not %d", recipe.Name, number[1], len(recipe.Variants))
		}
	}
}

func packageComment(t *testing.T, recipe variants.Recipe) string {
	t.Helper()
	names := must.Get(fs.Glob(recipe.Code, "*.go"))(t)
	code := must.Get(fs.ReadFile(recipe.Code, names[0]))(t)
	files, _ := filepath.Glob("../../variants/*/" + names[0])
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || string(text) != string(code) {
			continue
		}
		dir := filepath.Dir(file)
		text := must.Get(os.ReadFile(filepath.Join(dir, filepath.Base(dir)+".go")))(t)
		comment, _, _ := strings.Cut(string(text), "\npackage ")
		return comment
	}
	t.Fatalf("recipe %s: its package is not below variants/", recipe.Name)
	return ""
}

// The comment of each variant says, in a sentence that `zkbench list` shows, whether the variant is as its source describes,
// how it differs, or that it has no source.
func TestSourcesSayHowTheyAreMeant(t *testing.T) {
	form := regexp.MustCompile(`^(as written|as written, but [^:]+|ours): \S`)
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.All() {
			source := must.Get(sourceOf(recipe.Code, v))(t)
			if !form.MatchString(source) {
				t.Errorf("%s/%s: the source is %q: it must begin with \"as written: \", \"as written, but …: \" or \"ours: \"", recipe.Name, v.Name, source)
			}
		}
	}
}
