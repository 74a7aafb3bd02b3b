package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
)

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	d := recordertest.Whole()
	must.Do(t, store.Write(d, dir))
	must.Do(t, store.WriteJSON(filepath.Join(dir, "summary.json"), []summary.Row{}))
	docs, err := store.ReadAll([]string{dir})
	if err != nil || len(docs) != 1 {
		t.Fatalf("read %d documents, %v; want 1 and the summary beside it left alone", len(docs), err)
	}
	got, _ := json.Marshal(docs[0])
	want, _ := json.Marshal(d)
	if !bytes.Equal(got, want) {
		t.Errorf("read back:\n got %s\nwant %s", got, want)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for _, tt := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "nowhere.json"), "no such file or folder"},
		{"truncated", write("cut.json", `{"schema": 1, "run": "2026`), "truncated"},
		{"empty", write("empty.json", ""), "truncated"},
		{"newer", write("newer.json", `{"schema": 99}`), "reads only schema 2: measure again"},
		{"impossible", write("zero.json", `{"schema": 0}`), "has schema 0"},
		{"something else", write("other.json", `{"rows": []}`), "it has no schema number"},
		{"without a digest", write("types.json", `{"schema": 2, "clients": "many"}`), "has no digest"},
		{"an empty folder", t.TempDir(), "holds no results"},
	} {
		if _, err := store.ReadAll([]string{tt.path}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want it to say %q", tt.name, err, tt.want)
		}
	}
	_, err := store.ReadAll([]string{filepath.Join(dir, "cut.json"), filepath.Join(dir, "newer.json")})
	if err == nil || !strings.Contains(err.Error(), "cut.json") || !strings.Contains(err.Error(), "newer.json") {
		t.Errorf("error = %v, want every unreadable file in it", err)
	}
}
