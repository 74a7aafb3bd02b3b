package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// Outputs that cannot be written are refused before anything starts.
func TestOutputsAreCheckedFirst(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	for _, dir := range []string{"dir", "other"} {
		must.Do(t, os.Mkdir(dir, 0o755))
	}
	must.Do(t, os.WriteFile("file", nil, 0o644))
	long := strings.Repeat("x", 300)
	nearly := strings.Repeat("x", 250) // there is room for the name, but not for the file that is renamed to it
	run := []string{"run", "lock-drain", "--ensemble", "embedded", "--clients", "1"}
	calibrate := []string{"calibrate", "lock-contention", "--ensemble", "embedded", "--clients", "1", "--metrics", "ops/s"}
	gate := []string{"gate", "dir"}
	pairs := []string{"gate", "--run", "lock-drain", "--base-binary", os.Args[0], "--ensemble", "embedded"}
	for _, tt := range []struct {
		command []string
		flag    string
		value   string
		want    string
	}{
		{run, "out", long, "too long"},
		{run, "out", "file", "not a directory"},
		{run, "out", "file/x", "not a directory"},
		{run, "name", long, "at most 50 characters"},
		{gate, "json", "dir", "is also an input"},
		{gate, "json", "other", "is a folder"},
		{gate, "json", "other/", "is a folder"},
		{gate, "json", "none/file", "there is no folder"},
		{gate, "json", "file/", "there is no folder"}, // and the file stays
		{gate, "junit", long, "too long"},
		{gate, "markdown", "/dev/null", "not a regular file"},
		{gate, "benchfmt", nearly, "too long"},
		{pairs, "out", long, "too long"},
		{pairs, "out", "file/x", "not a directory"},
		{calibrate, "out", long, "too long"},
		{calibrate, "cache", "dir", "is a folder"},
		{[]string{"calibrate", "nothing"}, "cache", "none/file", `no scenario "nothing"`},
		{calibrate, "cache", long, "too long"},
		{[]string{"ensemble", "up"}, "name", long, "at most 50 characters"},
	} {
		name := strings.NewReplacer(long, "300 characters", nearly, "250 characters").Replace(tt.command[0] + " --" + tt.flag + " " + tt.value)
		t.Run(name, func(t *testing.T) {
			says(t, outcome.CodeUsage, tt.want, append(tt.command, "--"+tt.flag, tt.value)...)
		})
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 3 {
		t.Errorf("mistakes left %v behind (%v)", left, err)
	}
}

// Results that vanish during the run end it. They are reported as missing and not as kept.
func TestResultsThatVanish(t *testing.T) {
	for _, tt := range []struct {
		name   string
		vanish func(first string) error
		want   []string
	}{
		{"the folder", func(string) error { return os.RemoveAll("out") }, []string{"no results are kept in out", "was removed during the run", "measurements are not in out"}},
		{"one of them", os.Remove, []string{"partial results in out: ", "1 of 40 measurements are not in out"}},
		{"a part of one", func(first string) error { return os.Truncate(first, 100) }, []string{"partial results in out: 39 measurements", "is not what was written"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			saved := 0
			var stdout bytes.Buffer
			stderr := actingWriter{on: "[3/40]", act: func() { // between two measurements, when the results of two are there
				files, err := store.Files("out")
				if saved = len(files); saved > 0 && err == nil {
					err = tt.vanish(filepath.Join("out", filepath.Base(files[0])))
				}
				if err != nil {
					t.Error(err)
				}
			}}
			code := run(t.Context(), app{stdout: &stdout, stderr: &stderr, started: &started{}, args: []string{
				"run", "lock-drain", "--ensemble", "embedded", "--variants", "znode", "--clients", "3", "--repeats", "40", "--out", "out", "--name", testName("vanish"),
			}})
			if saved != 2 {
				t.Errorf("%d results before the third measurement, want 2", saved)
			}
			for _, want := range tt.want {
				if code != outcome.CodeFailed || !strings.Contains(stdout.String()+stderr.written.String(), want) {
					t.Errorf("exit code %d, want %d; %q is missing in\n%s\n%s", code, outcome.CodeFailed, want, &stdout, &stderr.written)
				}
			}
		})
	}
}

// actingWriter calls act before it accepts a text that contains on. The writer of the text continues when act has returned.
type actingWriter struct {
	on      string
	act     func()
	written bytes.Buffer
}

func (w *actingWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.on) {
		w.act()
	}
	return w.written.Write(p)
}

// A run that has waited for another one does not write into the folder that the other has filled.
func TestFolderFilledDuringTheWait(t *testing.T) {
	t.Chdir(t.TempDir())
	name := fmt.Sprintf("filled-%d", os.Getpid())
	other := must.Get(ensemble.TryLock("embedded-" + name))(t)
	said, done := &lockedBuffer{}, make(chan int)
	go func() {
		done <- run(t.Context(), app{stdout: io.Discard, stderr: said, started: &started{}, args: []string{
			"run", "lock-drain", "--ensemble", "embedded", "--name", name, "--clients", "1", "--repeats", "1", "--out", "out", "--wait", "1m",
		}})
	}()
	awaitText(t, said, "waiting for it")
	writeRun(t, "out", "lock-drain", 0, 1, 1, 4)
	before := must.Get(store.Files("out"))(t)
	must.Do(t, other.Release())
	if code := <-done; code != outcome.CodeUsage || !strings.Contains(said.String(), "already holds results") {
		t.Errorf("exit code %d, said %s", code, said.String())
	}
	if after := must.Get(store.Files("out"))(t); !slices.Equal(after, before) {
		t.Errorf("the folder has %v, had %v", after, before)
	}
}
