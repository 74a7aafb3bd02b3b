package screen_test

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/results/screen"
)

// Lines are replaced by the next ones and by other text, and are drawn again only if they differ or were removed.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := screen.Of(&out)
	if screen.Of(s) != s || s.Size != nil {
		t.Error("a screen is not its own screen, or lines can be redrawn in a buffer")
	}
	const removeTwo, removeOne = "\r\033[1A\033[J", "\r\033[K"
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"two lines", func() { s.Draw([]string{"a", "b"}) }, "a\nb"},
		{"the same", func() { s.Draw([]string{"a", "b"}) }, ""},
		{"one line", func() { s.Draw([]string{"c"}) }, removeTwo + "c"},
		{"text", func() { s.Write([]byte("said\n")) }, removeOne + "said\n"},
		{"the line again", func() { s.Draw([]string{"c"}) }, "c"},
		{"nothing", s.Clear, removeOne},
		{"nothing again", s.Clear, ""},
	} {
		out.Reset()
		if step.do(); out.String() != step.want {
			t.Errorf("%s: wrote %q, want %q", step.what, out.String(), step.want)
		}
	}
}

func TestWidth(t *testing.T) {
	for columns, want := range map[string]int{"80": 80, "": screen.DefaultWidth, "0": screen.DefaultWidth, "wide": screen.DefaultWidth} {
		t.Setenv("COLUMNS", columns)
		if got := screen.Width(&bytes.Buffer{}); got != want {
			t.Errorf("COLUMNS=%s: %d columns, want %d", columns, got, want)
		}
	}
}

func TestShortened(t *testing.T) {
	for columns, want := range map[int]string{0: "", 1: "…", 3: "ab…", 4: "abcd", 5: "abcd"} {
		if got := screen.Shortened("abcd", columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	if got := screen.Shortened("中文字字", 6); got != "中文…" {
		t.Errorf("wide letters: %q", got)
	}
}

// Only the screen's own sequences reach the terminal.
func TestScreenEscapes(t *testing.T) {
	var out bytes.Buffer
	s := screen.Of(&out)
	s.Write([]byte("a\x1b[2J\tb\r\n"))
	s.Draw([]string{"\u009b1A"})
	s.Clear()
	if want := "a\\u001b[2J\tb\\u000d\n" + "\\u009b1A" + "\r\033[K"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A reader that has gone is not an error. The first other error is kept.
func TestScreenThatFails(t *testing.T) {
	gone := screen.Of(failing{&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}})
	if n, err := gone.Write([]byte("four")); n != 4 || err != nil || gone.Failure != nil {
		t.Errorf("a pipe without a reader: %d, %v, %v", n, err, gone.Failure)
	}
	full := screen.Of(failing{syscall.ENOSPC})
	full.Write([]byte("x"))
	if _, err := full.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || !errors.Is(full.Failure, syscall.ENOSPC) {
		t.Errorf("a full disk: %v, %v", err, full.Failure)
	}
}
