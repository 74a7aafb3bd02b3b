package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// A full disk ends the run with its reason. The results that the message calls kept are complete, and no other file is left.
func TestFullDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("full", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", "full", "tmpfs", 0, "size=100k"); err != nil {
		t.Skipf("no small file system can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount("full", 0); err != nil {
			t.Error(err)
		}
	})
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "embedded", "--variants", "znode", "--clients", "5", "--repeats", "100", "--out", "full/out", "--name", testName("full"))
	if code != outcome.CodeFailed || !strings.Contains(stderr, "no space left on device") || !strings.Contains(stdout, "partial results in full/out") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	docs, err := store.ReadAll([]string{"full/out"})
	all, _ := filepath.Glob("full/out/*")
	hidden, _ := filepath.Glob("full/out/.*")
	if err != nil || len(docs) == 0 || len(all)+len(hidden) != len(docs) {
		t.Errorf("%d results (%v), files %v %v", len(docs), err, all, hidden)
	}
}
