// Package screen writes to a terminal: text that scrolls, and lines below it that are redrawn in place.
//
// It takes one position: redrawn lines never mix with other text. All output to one terminal goes through one [Screen], which
// removes its lines before it writes anything else. A file or a pipe does not get any redrawn lines.
package screen

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"
)

// DefaultWidth is the width of output to a file or a pipe.
const DefaultWidth = 120

// Screen is a writer to a terminal with lines that are redrawn in place. Make one with [Of]. It may be used concurrently.
type Screen struct {
	// Size returns the size of the terminal, which may change; 0 rows if their number is not known. It is nil where lines cannot be
	// redrawn.
	Size func() (columns, rows int)

	out   io.Writer
	mu    sync.Mutex
	drawn int // lines in place; the cursor is at the end of the last one
	text  string
}

// Of returns the screen behind a writer: the writer itself if it is a screen.
func Of(out io.Writer) *Screen {
	if s, ok := out.(*Screen); ok {
		return s
	}
	s := &Screen{out: out}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.Size = func() (columns, rows int) {
			_, rows, _ = term.GetSize(int(f.Fd()))
			return Width(f), rows
		}
	}
	return s
}

// Width returns the number of columns of a writer's terminal: $COLUMNS if it is set, and [DefaultWidth] if there is no terminal.
func Width(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return DefaultWidth
}

// Write implements [io.Writer]. It removes the lines in place first.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(text)
}

// Draw replaces the lines in place. Each must be narrower than the terminal: a full line would move the cursor to the next one.
func (s *Screen) Draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(lines, "\n")
	if s.drawn > 0 && text == s.text {
		return
	}
	s.clear()
	fmt.Fprint(s.out, text)
	s.drawn, s.text = len(lines), text
}

// Clear removes the lines in place, and leaves the cursor where they began.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	switch {
	case s.drawn > 1:
		fmt.Fprintf(s.out, "\r\033[%dA\033[J", s.drawn-1)
	case s.drawn == 1:
		fmt.Fprint(s.out, "\r\033[K")
	}
	s.drawn = 0
}

// Shortened returns the first columns of an ASCII text, with an ellipsis if it is longer.
func Shortened(text string, columns int) string {
	if len(text) <= columns || columns == 0 {
		return text[:min(len(text), columns)]
	}
	return text[:columns-1] + "…"
}
