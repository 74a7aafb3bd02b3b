package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"golang.org/x/tools/go/packages"

	"github.com/zkbench/zkbench/results/must"
)

// TestPlatforms checks the types of all packages and tests for each platform of the Makefile, and for one with 32 bits. It reads
// the sources of everything that zkbench imports, which takes a tenth of the time that `go vet` needs to compile them.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some ten seconds of CPU time for each platform")
	}
	_, rest, found := strings.Cut(string(must.Get(os.ReadFile("../../Makefile"))(t)), "\nPLATFORMS := ")
	names, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatal("the Makefile has no PLATFORMS")
	}
	for _, name := range append(strings.Fields(names), "linux/386") {
		if name == runtime.GOOS+"/"+runtime.GOARCH { // `go vet` has checked it
			continue
		}
		t.Run(name, func(t *testing.T) {
			system, processor, _ := strings.Cut(name, "/")
			all := must.Get(packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax, Tests: true, Dir: "../..",
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor),
			}, "./..."))(t)
			packages.Visit(all, nil, func(p *packages.Package) {
				for _, err := range p.Errors {
					t.Error(err)
				}
			})
		})
	}
}

// TestManPages writes a man page for each command into the folder ZKBENCH_MAN, as a release has them; otherwise it only checks them.
func TestManPages(t *testing.T) {
	folder := os.Getenv("ZKBENCH_MAN")
	if folder == "" {
		folder = t.TempDir()
	}
	root := rootCommand(&app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)})
	root.InitDefaultHelpCmd()
	must.Do(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "zkbench", Manual: "zkbench"}, folder))
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		page := must.Get(os.ReadFile(filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")))(t)
		if !bytes.Contains(page, []byte(".SH SYNOPSIS")) || !bytes.Contains(page, []byte(strings.Fields(c.Short)[0])) {
			t.Errorf("%s: the page lacks its summary or synopsis:\n%s", c.CommandPath(), page)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
				check(sub)
			}
		}
	}
	check(root)
}
