package drivers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

// script writes an executable program into a folder.
func script(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// A user's own program becomes a variant that is named after it, or is refused with a reason.
func TestOwnDriver(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	script(t, dir, "My_Lock.py", "", 0o600)
	script(t, dir, "run", "#!/bin/sh", 0o700)
	script(t, dir, "no-interpreter", "#! /no/such/ruby -w\n", 0o700)
	script(t, dir, "windows", "#!/bin/sh\r\nread x\r\n", 0o700)
	script(t, dir, "windows.py", "#!/usr/bin/env python3\r\n", 0o700)
	script(t, dir, "empty", "#!\n", 0o700)
	script(t, dir, "notes.txt", "", 0o600)
	script(t, dir, "my file.py", "", 0o600)
	script(t, dir, "kazoo.py", "", 0o600)
	script(t, dir, "___.py", "", 0o600)
	for command, want := range map[string]struct{ name, refusal string }{
		"./My_Lock.py":                    {name: "my-lock"},
		"My_Lock.py fair 2":               {name: "my-lock-fair-2"},
		"./run":                           {name: "run"},
		"./my file.py":                    {name: "my-file"},
		"no-interpreter":                  {refusal: `the interpreter in its first line is missing: there is no " /no/such/ruby -w"`},
		"windows":                         {refusal: `there is no "/bin/sh\r"; the line must end in LF, not in CR LF`},
		"windows.py":                      {refusal: `there is no "/usr/bin/env python3\r"`},
		"empty":                           {refusal: "the interpreter in its first line is missing"},
		"notes.txt":                       {refusal: "neither executable"},
		"missing.py":                      {refusal: "no such file"},
		".":                               {refusal: "a folder"},
		" ":                               {refusal: "the program is missing"},
		"kazoo.py":                        {refusal: "rename the program"},
		"___.py":                          {refusal: "letters or digits"},
		"run " + strings.Repeat("x", 100): {refusal: "longer than 80 characters"},
	} {
		own, err := OwnDriver(command)
		if err == nil {
			_, err = own.AddTo(lock.Recipe())
		}
		refused := err != nil && want.refusal != "" && strings.Contains(err.Error(), want.refusal)
		if accepted := err == nil && own.name == want.name; !refused && !accepted {
			t.Errorf("%q: the variant is %q, and the error %v; want %+v", command, own.name, err, want)
		}
	}
	unchanged, err := Own{name: "x"}.AddTo(variants.Recipe{Name: "barrier"})
	if err != nil || len(unchanged.Libraries) > 0 {
		t.Errorf("a recipe without drivers: %d libraries, %v", len(unchanged.Libraries), err)
	}
}

// The needs of a user's own program are those of its language alone.
func TestNeedsOfOwnDriver(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]int{"Lock.java": 1, "lock.py": 1} {
		p, err := platformOf(script(t, dir, name, "", 0o600))
		if err != nil || len(p.needs) != want || len(p.command) == 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, tt := range []struct {
		name, text string
		asItIs     bool
	}{{"lock", "", true}, {"named.py", "#!/usr/bin/env python3\n", true}, {"unnamed.py", "import sys\n", false}} {
		p, err := platformOf(script(t, dir, tt.name, tt.text, 0o700))
		if err != nil || (len(p.needs)+len(p.command) == 0) != tt.asItIs {
			t.Errorf("executable %s: %+v, %v; want it run as it is: %t", tt.name, p, err, tt.asItIs)
		}
	}
}

// A Java program that does not compile is refused with the compiler's words.
func TestOwnDriverThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("javac"); err != nil {
		ensembletest.Require(t, fmt.Errorf("%w: %w", ensemble.ErrUnavailable, err))
	}
	file := script(t, t.TempDir(), "Lock.java", "class Lock extends Driver {}", 0o600)
	_, err := Start(t.Context(), nil, variants.Driver{Program: file})
	if err == nil || !strings.HasPrefix(err.Error(), "start Lock.java: compile it: exit status 1: ") || !strings.Contains(err.Error(), "cannot find symbol") {
		t.Errorf("error %v", err)
	}
}

// A Java program is compiled and starts in a folder with any name, also where the locale is "C".
func TestOwnDriverInAnyFolder(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		ensembletest.Require(t, fmt.Errorf("%w: %w", ensemble.ErrUnavailable, err))
	}
	t.Setenv("LC_ALL", "C")
	dir := filepath.Join(t.TempDir(), "hü日")
	must.Do(t, os.Mkdir(dir, 0o700))
	t.Setenv("TMPDIR", dir) // of the compiled program
	file := script(t, dir, "Here.java", `class Here { public static void main(String[] args) throws Exception {
	java.util.Scanner calls = new java.util.Scanner(System.in);
	while (calls.hasNextLine()) {
		calls.nextLine();
		System.out.println("0.0 ok " + new java.io.File("`+dir+`").isDirectory());
	}
} }`, 0o600)
	p := must.Get(Start(t.Context(), nil, variants.Driver{Program: file}))(t)
	defer func() { must.Do(t, p.Close()) }()
	if found, err := p.Client("0.0").Call(t.Context(), "find"); err != nil || found != "true" {
		t.Errorf("answered %q, %v", found, err)
	}
}

// A program that does not end is killed with its children, and its file stays.
func TestCloseOwnDriver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := script(t, dir, "mute.sh", "#!/bin/sh\nsleep 1000\n", 0o700)
	p, err := Start(t.Context(), nil, variants.Driver{Program: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Error("a child of the driver still holds its standard output")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the user's program is gone: %v", err)
	}
}
