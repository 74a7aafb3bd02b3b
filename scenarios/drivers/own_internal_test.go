package drivers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	script(t, dir, "notes.txt", "", 0o600)
	script(t, dir, "my file.py", "", 0o600)
	script(t, dir, "kazoo.py", "", 0o600)
	script(t, dir, "___.py", "", 0o600)
	for command, want := range map[string]string{
		"./My_Lock.py":      "my-lock",
		"My_Lock.py fair 2": "my-lock-fair-2",
		"./run":             "run",
		"notes.txt":         "neither executable",
		"missing.py":        "no such file",
		".":                 "a folder",
		" ":                 "the program is missing",
		"./my file.py":      "my-file",
		"kazoo.py":          "rename the program",
		"___.py":            "letters or digits",
	} {
		own, err := OwnDriver(command)
		if err == nil {
			_, err = own.AddTo(lock.Recipe())
		}
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %q", command, err, want)
		case err == nil && own.Name() != want:
			t.Errorf("%q: the variant is %q, want %q", command, own.Name(), want)
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
	if p, err := platformOf(script(t, dir, "lock", "", 0o700)); err != nil || len(p.needs)+len(p.command) != 0 {
		t.Errorf("an executable program: %+v, %v", p, err)
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
