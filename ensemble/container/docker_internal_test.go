package container

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

// FakeDocker installs a script as the docker command of a test. The script finds the files in the folder $ENGINE. log returns the
// lines of its file "log".
func FakeDocker(t *testing.T, script string, files map[string]string) (log func() []string) {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	files["docker"] = "#!/bin/sh\ncd \"$ENGINE\" || exit 1\n" + script
	for name, content := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755))
	}
	t.Setenv("ENGINE", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text, _ := os.ReadFile(filepath.Join(dir, "log")) // missing before the first line
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}
