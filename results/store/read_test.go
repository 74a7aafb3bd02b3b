package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/store"
)

// The limits: a file of so many bytes is read.
const (
	wholeText   = 1 << 20
	wholeResult = 32 << 20
)

func TestFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, nil, 0o644))
		must.Do(t, os.Truncate(path, size))
		return path
	}
	loop := filepath.Join(dir, "loop")
	must.Do(t, os.Symlink(loop, loop))
	text := func(path string) ([]byte, error) { return store.ReadText(t.Context(), path) }
	none := filepath.Join(dir, "none")
	for _, tt := range []struct {
		read func(path string) ([]byte, error)
		path string
		want string // in the error; none if empty
	}{
		{text, file("text", wholeText), ""},
		{text, file("long-text", wholeText+1), "it has more than 1048576 bytes"},
		{store.ReadFile, file("result", wholeResult), ""},
		{store.ReadFile, file("long-result", wholeResult+1), "it has more than 33554432 bytes"},
		{text, file("huge", 1<<40), "it has more than 1048576 bytes"},
		{text, dir, "it is not a regular file (d"},
		{store.ReadFile, dir, "it is not a regular file (d"},
		{text, os.DevNull, "it is not a regular file (D"},
		{store.ReadFile, "/dev/zero", "it is not a regular file (D"},
		{text, none, "no such file"},
		{store.ReadFile, none, "no such file"},
		{text, loop, "too many levels of symbolic links"},
		{store.ReadFile, loop, "too many levels of symbolic links"},
	} {
		got, err := tt.read(tt.path)
		if tt.want == "" {
			if info := must.Get(os.Stat(tt.path))(t); err != nil || int64(len(got)) != info.Size() {
				t.Errorf("%s: %d bytes, %v", tt.path, len(got), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("%s: %v, want %q and the path", tt.path, err, tt.want)
		}
	}
}
