package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

const module = "github.com/zkbench/zkbench/"

// mayImport is the architecture: for each package, the other packages that it may import. They are above it, unless another
// tree is named. A package of the same tree is named by its last part. An import that this test refuses means that code is in
// the wrong place.
const mayImport = `
variants/session:
variants:                 session
variants/tickets:         session variants
variants/takequeue:       session variants tickets
variants/exclusion:       session variants
variants/revocation:      session variants exclusion
variants/lock:            session variants tickets exclusion
variants/rwlock:          session variants tickets exclusion revocation
variants/revocable:       session variants tickets exclusion revocation
variants/queue:           session variants tickets takequeue
variants/blockingqueue:   session variants tickets takequeue
variants/priorityqueue:   session variants tickets takequeue
variants/enqueue:         session variants
variants/election:        session variants tickets exclusion
variants/barrier:         session variants
variants/doublebarrier:   session variants tickets
variants/twophasecommit:  session variants
variants/membership:      session variants tickets
variants/config:          session variants
variants/hiddenchannel:   session variants
variants/masterworker:    session variants takequeue
variants/watchload:       session variants
variants/treecache:       session variants
variants/catalog:         variants lock rwlock revocable queue blockingqueue priorityqueue enqueue election barrier doublebarrier
variants/catalog:         twophasecommit membership config hiddenchannel masterworker watchload treecache
variants/variantstest:    variants
variants/conformance:
variants/mutants:
variants/simulation:      session variants ensemble ensemble/dial ensemble/embedded ensemble/wire

ensemble/dial:
ensemble/jute:
ensemble/wire:            dial jute results/list
ensemble:                 dial wire jute results/list
ensemble/proxy:           dial wire results/list
ensemble/namespace:       ensemble wire results/list
ensemble/container:       ensemble
ensemble/process:         ensemble results/list
ensemble/external:        ensemble dial wire results/list
ensemble/embedded:        ensemble dial wire jute results/list
ensemble/auto:            ensemble container process external embedded
ensemble/ensembletest:    ensemble dial auto embedded namespace results/must
ensemble/conformance:

results/list:
results/outcome:
results/table:            list
results/screen:           table
results/strict:           list
results/golden:
results/must:
results/planted:
results/paired:           list table
results:                  list
results/grouping:         results list
results/metric:           results list paired table
results/doubts:           results list metric table
results/store:            results list metric doubts grouping table
results/summary:          results list metric doubts grouping
results/claim:            results list metric doubts grouping summary outcome table
results/recorder:         results list metric doubts
results/recorder/recordertest: results must metric recorder store
results/turns:            results metric doubts claim paired
results/compare:          results list metric doubts grouping claim paired turns strict table
results/report:           results list metric doubts grouping summary claim compare outcome paired table
results/capacity:         results list metric doubts store claim table
results/gate:             results list metric doubts grouping store summary recorder claim capacity outcome paired turns strict table

plots:                    results results/list results/metric results/grouping results/summary results/claim results/report
plots:                    results/compare results/table
plots/page:               plots results results/list results/metric results/grouping results/summary results/claim results/report
plots/page:               results/compare results/table

scenarios/faults:         ensemble ensemble/wire results results/list results/strict
scenarios:                faults variants ensemble ensemble/wire
scenarios:                results results/list results/metric results/claim results/store results/strict
scenarios/drivers:        scenarios variants ensemble results/list results/screen results/table
scenarios/machine:        ensemble results
scenarios/pool:           drivers variants variants/session ensemble ensemble/dial ensemble/namespace ensemble/wire results results/list
scenarios/chaos:          faults pool variants ensemble ensemble/wire results/list results/recorder
scenarios/load:           scenarios machine pool variants results results/list results/recorder
scenarios/background:     pool variants ensemble ensemble/wire results results/doubts results/list
scenarios/block:          scenarios chaos faults load machine pool remote variants variants/session ensemble ensemble/wire
scenarios/block:          results results/recorder
scenarios/runner:         scenarios background block chaos drivers faults machine pool remote variants variants/session
scenarios/runner:         ensemble ensemble/namespace ensemble/wire
scenarios/runner:         results results/list results/metric results/recorder results/report results/table
scenarios/remote:         ensemble ensemble/dial
scenarios/exporter:       runner ensemble/dial
scenarios/progress:       runner results/list results/screen results/table
scenarios/launch:         ensemble results/list
scenarios/search:         scenarios pool runner variants results results/list results/metric results/store results/capacity
scenarios/campaign:       scenarios ensemble ensemble/auto ensemble/process
scenarios/campaign:       results results/list results/store results/outcome results/gate
scenarios/observe:        scenarios variants/catalog ensemble/proxy ensemble/wire
scenarios/observe:        results results/list results/recorder results/screen results/table

cmd/zkbench:              everything
`

// otherFiles are the files of this package that do not belong to one command: the program and the flags, files and servers that
// commands share. Code that does not belong to the command line has its own package.
var otherFiles = []string{"main", "marks_unix", "marks_windows", "root", "outputs", "flags", "target", "completion", "access", "workers"}

func TestOneFilePerCommand(t *testing.T) {
	want := slices.Clone(otherFiles)
	for _, cmd := range rootCommand(&app{}).Commands() {
		want = append(want, cmd.Name())
	}
	want = append(want, "ensemble_faults") // the commands of `ensemble` that break servers
	files := must.Get(filepath.Glob("*.go"))(t)
	var got []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			got = append(got, strings.TrimSuffix(file, ".go"))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the files are %v, want one for each command and %v: %v", got, otherFiles, want)
	}
}

// Connections are made in one package, so that what lies between zkbench and the servers is decided there. Applications open sessions of
// their own in variants/session.
func TestOnePackageDials(t *testing.T) {
	forbid(t, `net\.Dial`, "use ensemble.Server.Dial, or dial.To", func(path string) bool {
		return !strings.HasPrefix(path, "ensemble/dial/") && path != "variants/session/open.go"
	})
}

// A session decides on the access control list of the znodes that recipes create through it.
func TestRecipesLeaveAccessControlToTheSession(t *testing.T) {
	forbid(t, `\bAcl:|zk\.\w*ACL\b`, "leave the list out, or use the session's ACL", func(path string) bool {
		sessions := []string{"variants/session/conn.go", "variants/session/session.go", "variants/simulation/client.go"}
		return strings.HasPrefix(path, "variants/") && !slices.Contains(sessions, path)
	})
}

// forbid fails the test for each file with a text that matches the pattern, of those in which it is forbidden.
func forbid(t *testing.T, pattern, instead string, in func(path string) bool) {
	t.Helper()
	forbidden := regexp.MustCompile(pattern)
	must.Do(t, fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || !in(path) {
			return err
		}
		text, err := os.ReadFile("../../" + path)
		for _, at := range forbidden.FindAllIndex(text, -1) {
			t.Errorf("%s:%d has %q: %s", path, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]], instead)
		}
		return err
	}))
}

func TestImportDirections(t *testing.T) {
	allowed := map[string][]string{}
	for line := range strings.Lines(mayImport) {
		if pkg, words, found := strings.Cut(line, ":"); found {
			allowed[pkg] = append(allowed[pkg], strings.Fields(words)...)
		}
	}
	out := must.Get(exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output())(t)
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		pkg := strings.TrimPrefix(f[0], module)
		may, known := allowed[pkg]
		if !known {
			t.Errorf("%s is in no layer: add it to mayImport, with what it may import", pkg)
		}
		seen[pkg] = true
		tree, _, _ := strings.Cut(pkg, "/")
		unused := slices.DeleteFunc(slices.Clone(may), func(name string) bool { return name == "everything" })
		for _, imported := range f[1:] {
			ours := strings.TrimPrefix(imported, module)
			isOurs := func(name string) bool { return name == ours || tree+"/"+name == ours }
			unused = slices.DeleteFunc(unused, isOurs)
			if ours != imported && !slices.ContainsFunc(may, isOurs) && !slices.Contains(may, "everything") {
				t.Errorf("%s imports %s: it may import %v", pkg, ours, may)
			}
		}
		if len(unused) > 0 {
			t.Errorf("%s does not import %v: take it out of mayImport", pkg, unused)
		}
	}
	for pkg := range allowed {
		if !seen[pkg] {
			t.Errorf("%s is gone: take it out of mayImport", pkg)
		}
	}
}

// A document can be read without a terminal, a picture or a process.
func TestDocumentsNeedLittle(t *testing.T) {
	out := must.Get(exec.CommandContext(t.Context(), "go", "list", "-deps", module+"results").Output())(t)
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		ours := slices.Contains([]string{module + "results", module + "results/list", "github.com/HdrHistogram/hdrhistogram-go"}, pkg)
		if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") && !ours {
			t.Errorf("results depends on %s", pkg)
		}
	}
}
