package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

const (
	hostile   = "é中\x1b[2J\u009b1m\u202e\n- PASS: forged\tby\x7f a file"
	asPrinted = `é中\u001b[2J\u009b1m\u202e\n- PASS: forged\tby\u007f a file`
)

// unsafe reports whether a character may not be printed: it could move the cursor, or reverse the order of letters.
func unsafe(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }

// writeHostileRun writes the results of two variants whose texts all come from elsewhere.
func writeHostileRun(t *testing.T, dir string, requests float64) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	for i, variant := range []string{"znode", "a" + hostile} {
		d := closedDocument(t, dir, "s"+hostile, variant, 1, 1, requests)
		e := &d.Environment
		d.Scenario.Expect = []string{variant + " requests/op <= 1"}
		d.Warnings, d.Recipe, d.KnownBroken = []string{"doubtful " + hostile}, "r"+hostile, "broken "+hostile
		e.ZooKeeper, e.Engine, e.Servers = hostile, hostile, []string{hostile}
		e.Product, e.Auth = hostile, hostile
		e.ServerConfig = map[string]string{hostile: hostile}
		d.Violations = []results.Violation{{Text: "two at once " + hostile}}
		d.Metrics = nil // a reader computes them
		must.Do(t, store.WriteSealed(filepath.Join(dir, fmt.Sprintf("s_r-v%d_n5_r1.json", i)), d))
	}
}

// Every command that prints results or writes a page for readers prints the texts of documents in their own lines, and escaped.
func TestHostileDocuments(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "1000")
	writeHostileRun(t, "old", 4)
	writeHostileRun(t, "new", 5)
	must.Do(t, os.MkdirAll("damaged", 0o755))
	must.Do(t, os.WriteFile("damaged/s"+hostile+"_n5_r1.json", []byte("{"), 0o600))
	for _, line := range []string{
		"report old", "report old --format markdown", "report old --format csv", "report old --format json", "report old --overview", "report old --overview --format markdown",
		"compare old", "compare old new", "compare old new --format markdown", "compare old new --format csv", "compare old new --format json",
		"gate old", "gate old --verbose --markdown gate.md --junit gate.xml --benchfmt gate.txt --json gate.json", "report damaged",
		"plot old --format svg --out figures", "plot old new --format svg --out figures", "report old new --html page.html",
		"baseline save old", "explain x\x1b[2J", "list x\x1b[2J",
	} {
		stdout, stderr, _ := command(t.Context(), strings.Fields(line)...)
		if text := stdout + stderr; strings.ContainsFunc(text, unsafe) || strings.Contains(text, "\n- PASS: forged") {
			t.Errorf("%s: printed\n%q", line, text)
		}
		shows := !strings.Contains(line, " --") && !strings.Contains(line, "gate") || strings.Contains(line, "old --format ") || strings.Contains(line, "new --format ")
		if shows && !strings.Contains(stdout+stderr, asPrinted) && !strings.Contains(stderr, `x\x1b[2J`) {
			t.Errorf("%s: does not print the escaped name:\n%s", line, stdout+stderr)
		}
	}
	files := append(must.Get(filepath.Glob("figures/*"))(t), "gate.md", "gate.xml", "gate.txt", "page.html")
	for _, file := range files {
		text := string(must.Get(os.ReadFile(file))(t))
		forged := strings.Contains(text, "\n- PASS: forged") && filepath.Ext(file) != ".html" // in which lines mean nothing
		if strings.ContainsFunc(text, unsafe) || forged {
			t.Errorf("%q is not escaped", file)
		}
	}
}

// A reader such as `head` that stops reading ends nothing: the exit code is that of the command, and nothing is left behind.
func TestReaderThatStops(t *testing.T) {
	t.Parallel()
	own := must.Get(os.Executable())(t)
	server := ensembletest.Embedded(t, embedded.Config{})
	for line, code := range map[string]int{
		"list": outcome.CodePass, "help run": outcome.CodePass, "explain nothing": outcome.CodeUsage,
		"run lock-drain --variants znode --clients 3 --repeats 2 --out out --servers " + server.Addr(): outcome.CodePass,
	} {
		ends := must.Get(pipe())(t)
		must.Do(t, ends[0].Close())
		cmd := exec.CommandContext(t.Context(), own, strings.Fields(line)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), asBinary+"=1")
		cmd.Stdout, cmd.Stderr = ends[1], ends[1]
		_ = cmd.Run()
		if got := cmd.ProcessState; got.ExitCode() != code {
			t.Errorf("%s: %s, want exit code %d", line, got, code)
		}
		ends[1].Close()
		if line[:3] == "run" {
			if docs, err := store.ReadAll([]string{filepath.Join(cmd.Dir, "out")}); err != nil || len(docs) != 2 {
				t.Errorf("%d results, %v", len(docs), err)
			}
		}
	}
	if left := ensembletest.Znodes(t, server.Servers()[0]); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func pipe() (ends [2]*os.File, err error) {
	ends[0], ends[1], err = os.Pipe()
	return ends, err
}

// Standard output that cannot be written is an error of every command.
func TestFullStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "old", "a", 0, 1, 1, 4)
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	for _, line := range []string{"list", "version", "report old", "report old --format csv", "plot old --format svg", "explain lock", "help run"} {
		var said strings.Builder
		code := run(t.Context(), app{stdout: full, stderr: &said, args: strings.Fields(line), started: &started{}})
		if want := syscall.ENOSPC.Error(); code != outcome.CodeFailed || strings.Count(said.String(), want) != 1 {
			t.Errorf("%s: exit code %d, said %q, want %q once", line, code, said.String(), want)
		}
	}
}
