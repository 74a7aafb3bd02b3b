package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zkbench/zkbench/"

// mayImport is the architecture: what each package may import of the others. An import that this test refuses means
// that something is in the wrong place.
var mayImport = map[string][]string{
	"cmd/zkbench":           {"scenarios", "scenarios/faults", "scenarios/drivers", "scenarios/observe", "scenarios/runner", "variants", "variants/catalog", "variants/simulation", "results", "results/claim", "results/compare", "results/capacity", "results/table", "results/strict", "results/outcome", "plots", "plots/page", "ensemble", "ensemble/auto", "ensemble/container", "ensemble/process", "ensemble/external", "ensemble/namespace", "ensemble/proxy", "ensemble/wire", "results/gate"},
	"scenarios":             {"scenarios/faults", "variants", "ensemble", "ensemble/wire", "results", "results/claim", "results/strict"},
	"scenarios/faults":      {"ensemble/wire", "results", "results/strict"},
	"scenarios/drivers":     {"ensemble", "variants"},
	"scenarios/observe":     {"scenarios", "ensemble/proxy", "ensemble/wire", "results", "results/recorder"},
	"scenarios/runner":      {"scenarios", "scenarios/drivers", "scenarios/faults", "results/recorder", "variants", "results", "ensemble", "ensemble/dial", "ensemble/namespace", "ensemble/wire"}, // only the runner joins these
	"variants":              {},                                                                                                                                                                    // a recipe cannot see the runner
	"variants/line":         {"variants"},
	"variants/items":        {"variants", "variants/line"},
	"variants/holding":      {"variants"},
	"variants/lock":         {"variants", "variants/holding", "variants/line"},
	"variants/rwlock":       {"variants", "variants/holding", "variants/line", "variants/revoking"},
	"variants/catalog":      {"variants", "variants/lock", "variants/rwlock", "variants/blockingqueue", "variants/enqueue", "variants/config", "variants/twophasecommit", "variants/queue", "variants/election", "variants/barrier", "variants/hiddenchannel", "variants/masterworker", "variants/membership", "variants/priorityqueue", "variants/revocable", "variants/doublebarrier", "variants/watchload", "variants/treecache"},
	"variants/config":       {"variants"},
	"variants/queue":        {"variants", "variants/line", "variants/items"},
	"variants/election":     {"variants", "variants/holding", "variants/line"},
	"variants/conformance":  {},
	"variants/simulation":   {"variants", "ensemble", "ensemble/dial", "ensemble/embedded", "ensemble/wire"},
	"variants/variantstest": {"variants"},
	"results":               {"results/paired", "results/table"},
	"results/claim":         {"results", "results/outcome"},
	"results/outcome":       {},
	"results/table":         {},
	"results/golden":        {},
	"results/paired":        {},
	"results/recorder":      {"results"},
	"results/strict":        {},
	"results/turns":         {"results", "results/claim", "results/paired"},
	"results/compare":       {"results", "results/claim", "results/paired", "results/table", "results/turns"},
	"results/gate":          {"results", "results/capacity", "results/claim", "results/outcome", "results/paired", "results/strict", "results/table", "results/turns"},
	"results/capacity":      {"results", "results/claim", "results/table", "results/outcome"},
	"plots":                 {"results", "results/compare", "results/table"}, // a plot cannot see ZooKeeper
	"plots/page":            {"plots", "results", "results/claim", "results/compare"},
	"ensemble/dial":         {},
	"ensemble/wire":         {"ensemble/dial", "ensemble/jute"},
	"ensemble/proxy":        {"ensemble/dial", "ensemble/wire"},
	"ensemble":              {"ensemble/dial", "ensemble/wire", "ensemble/jute"},
	"ensemble/namespace":    {"ensemble", "ensemble/wire"},
	"ensemble/container":    {"ensemble"},
	"ensemble/process":      {"ensemble"},
	"ensemble/external":     {"ensemble", "ensemble/dial", "ensemble/wire"},
	"ensemble/embedded":     {"ensemble", "ensemble/dial", "ensemble/wire", "ensemble/jute"},
	"ensemble/jute":         {},
	"ensemble/auto":         {"ensemble", "ensemble/container", "ensemble/process", "ensemble/external", "ensemble/embedded"},
	"ensemble/ensembletest": {"ensemble", "ensemble/auto", "ensemble/embedded", "ensemble/namespace"},
	"ensemble/conformance":  {},

	"results/recorder/recordertest": {"results", "results/recorder"},

	"variants/mutants":        {},
	"variants/barrier":        {"variants"},
	"variants/blockingqueue":  {"variants", "variants/line", "variants/items"},
	"variants/doublebarrier":  {"variants", "variants/line"},
	"variants/enqueue":        {"variants"},
	"variants/hiddenchannel":  {"variants"},
	"variants/twophasecommit": {"variants"},
	"variants/watchload":      {"variants"},
	"variants/treecache":      {"variants"},
	"variants/masterworker":   {"variants"},
	"variants/membership":     {"variants", "variants/line"},
	"variants/priorityqueue":  {"variants", "variants/items", "variants/line"},
	"variants/revocable":      {"variants", "variants/holding", "variants/line", "variants/revoking"},
	"variants/revoking":       {"variants", "variants/holding"},
}

// Connections are made in one package, so that what lies between zkbench and the servers is decided there.
func TestOnePackageDials(t *testing.T) {
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || strings.HasPrefix(path, "ensemble/dial/") {
			return err
		}
		text, err := os.ReadFile("../../" + path)
		if i := bytes.Index(text, []byte("net.Dial")); i >= 0 {
			t.Errorf("%s:%d uses net.Dial…: use ensemble.Server.Dial, or dial.To", path, 1+bytes.Count(text[:i], []byte("\n")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportDirections(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		pkg := strings.TrimPrefix(f[0], module)
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s is in no layer: add it to mayImport, with what it may import", pkg)
		}
		seen[pkg] = true
		for _, imported := range f[1:] {
			if ours := strings.TrimPrefix(imported, module); ours != imported && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: it may import %v", pkg, ours, allowed)
			}
		}
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("%s is gone: take it out of mayImport", pkg)
		}
	}
}
