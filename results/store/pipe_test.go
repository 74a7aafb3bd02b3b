//go:build unix

package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/store"
)

func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o644))
	return path
}

func TestTextFromPipe(t *testing.T) {
	long := strings.Repeat(" ", wholeText)
	for text, want := range map[string]string{"a: 1\n": "", long: "", long + " ": "has more than 1048576 bytes"} {
		path := pipe(t)
		written := make(chan struct{})
		go func() {
			defer close(written)
			_ = os.WriteFile(path, []byte(text), 0o644) // fails if the reader has had enough
		}()
		got, err := store.ReadText(t.Context(), path)
		if want == "" && (err != nil || string(got) != text) {
			t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		<-written
	}
	if _, err := store.ReadFile(pipe(t)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a result from a pipe: %v", err)
	}
}

// A pipe without a writer, and one whose writer never ends.
func TestSignalEndsReading(t *testing.T) {
	interrupted := errors.New("interrupted")
	for _, written := range []bool{false, true} {
		path := pipe(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		read := make(chan error)
		go func() {
			_, err := store.ReadText(ctx, path)
			read <- err
		}()
		if written {
			writer := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t) // returns once the reader has opened it, too
			defer writer.Close()
			must.Get(writer.WriteString("name: x\n"))(t)
		}
		cancel(interrupted)
		if err := <-read; !errors.Is(err, interrupted) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %q", err, interrupted)
		}
		if !written {
			must.Do(t, must.Get(os.OpenFile(path, os.O_RDWR, 0))(t).Close()) // lets the reader go
		}
	}
}
