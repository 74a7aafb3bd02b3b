package container_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

// A pull ends with an error if the registry does not answer in time. After the first answer it has no limit.
func TestPull(t *testing.T) {
	for _, tt := range []struct {
		name, docker, patience string
		want                   string // in the error; none if the pull succeeds
	}{
		{"pulled", "echo 3.9: Pulling from library/zookeeper; sleep 0.3", "10", ""},
		{"there already", "exit 0", "10", ""},
		{"answered, and slow", "echo Pulling; sleep 3.5", "3", ""},
		{"refused", "echo no such host >&2; exit 1", "10", "no such host"},
		{"failed halfway", "echo Pulling; echo out of space >&2; exit 1", "10", "out of space"},
		{"silent", "exec sleep 60", "1", "no registry answered within 1 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+tt.docker+"\n"), 0o755))
			t.Parallel() // not earlier: no process may start while an executable is being written, see TestSetup
			cmd := exec.CommandContext(t.Context(), "bash", "image/pull.sh", "zookeeper:3.9", tt.patience)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err == nil) != (tt.want == "") || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, said %q; want %q", err, out, tt.want)
			}
		})
	}
}
