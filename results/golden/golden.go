// Package golden compares the output of tests with golden files, which were reviewed when they were written.
//
// It takes one position: a person reviews text and pictures once, and tests compare their bytes from then on. A golden file
// is in the testdata folder of the package whose test compares it; `go test ./PACKAGE -update` rewrites it.
package golden

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Updating reports whether golden files are being rewritten, so that a missing file is not an error.
func Updating() bool { return *update }

// Compare fails the test if got differs from the file at path.
func Compare(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: look at it, then rewrite it with -update\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
