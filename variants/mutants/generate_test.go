package mutants_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

// guard is added to each package: a mutant calls it where it differs from the original.
const guard = `
import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
)

var (
	mutantNumber, _ = strconv.Atoi(os.Getenv("` + chosen + `"))
	mutantFile      = os.Getenv("` + reachedFile + `")
	mutantReached   sync.Map
)

// mutantOn reports whether a mutant is chosen, and notes that its place was reached: of all places if none is chosen.
func mutantOn(number int) bool {
	if number != mutantNumber && mutantNumber != 0 {
		return false
	}
	if _, noted := mutantReached.LoadOrStore(number, true); !noted && mutantFile != "" {
		f, err := os.OpenFile(mutantFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, number)
			f.Close()
		}
	}
	return number == mutantNumber
}

func mutantValue[T any](number int, value, instead T) T {
	if mutantOn(number) {
		return instead
	}
	return value
}

func mutantCall(number int, call func() error) error {
	if mutantOn(number) {
		return nil
	}
	return call()
}

func mutantOps(first int, ops ...any) []any {
	for i := range ops {
		if mutantOn(first + i) {
			return slices.Delete(slices.Clone(ops), i, i+1)
		}
	}
	return ops
}

type (
	mutantRetry[C any] = func(context.Context, func(C) error) (bool, error)
	mutantSync[C any]  = func(context.Context, string, func(C) error) error
)

func mutantSynced[C any](number int, retry mutantRetry[C], synced mutantSync[C]) mutantSync[C] {
	if !mutantOn(number) {
		return synced
	}
	return func(ctx context.Context, _ string, read func(C) error) error {
		_, err := retry(ctx, read)
		return err
	}
}
`

// Below variants, these files are not part of any algorithm: they play, check and describe. Of its own directory, only
// some are.
var (
	others = regexp.MustCompile(`_test\.go$|^(simulation|planted|variantstest|mutants|catalog|conformance|holding)/|/drivers/|observer|workload|library_` +
		`|check\.go$|^items/(doubt|finished|history|lives|worker)|^rwlock/sharing|^config/reading|^masterworker/(roles|batches)`)
	shared = regexp.MustCompile(`/|^(session|watch|monitor|exclusive|executor|fencednode|events)\.go$`)
)

// generate writes all files with their mutants into a directory, and beside them overlay.json, with which they are compiled.
func generate(t *testing.T, dir string) []mutant {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var all []mutant
	replace := map[string]string{}
	write := func(path, text string) {
		copied := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "+"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = copied
	}
	eachFile(t, others, func(file string, r *rewriter, parsed *ast.File) {
		r.next = len(all) + 1
		ast.Inspect(parsed, r.visit)
		if len(r.mutants) > 0 {
			path := filepath.Join(root, file)
			all = append(all, r.mutants...)
			write(path, r.rewritten())
			write(filepath.Join(filepath.Dir(path), "mutant_guard.go"), "package "+parsed.Name.Name+guard)
		}
	})
	overlay, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return all
}

// eachFile visits files below variants, each with a rewriter that has changed nothing yet.
func eachFile(t *testing.T, except *regexp.Regexp, visit func(file string, r *rewriter, parsed *ast.File)) {
	t.Helper()
	root := os.DirFS("..")
	must.Do(t, fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" || except.MatchString(file) || !shared.MatchString(file) {
			return err
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		r := &rewriter{fset: token.NewFileSet(), file: file, source: string(source)}
		parsed, err := parser.ParseFile(r.fset, file, source, parser.SkipObjectResolution)
		if err == nil {
			visit(file, r, parsed)
		}
		return err
	}))
}

// build compiles the tests of this package with all mutants.
func build(t *testing.T, dir string) (binary string) {
	t.Helper()
	binary = filepath.Join(dir, "mutants.test")
	overlay := filepath.Join(dir, "overlay.json")
	c := exec.CommandContext(t.Context(), "go", "test", "-c", "-p", "1", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("compile the mutants: %v\n%s", err, out)
	}
	return binary
}

// TestMutantsAreGoCode checks the operators' results against the grammar, without compiling them.
func TestMutantsAreGoCode(t *testing.T) {
	dir := t.TempDir()
	all := generate(t, dir)
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), file, nil, 0); err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.text] {
			t.Errorf("%q does not identify a mutant", m.text)
		}
		seen[m.text] = true
	}
	if len(all) < 300 {
		t.Errorf("only %d mutants: the operators no longer know the code", len(all))
	}
}
