// Package screen writes to a terminal: text that scrolls, and lines below it that are redrawn in place.
//
// It takes one position: redrawn lines never mix with other text. All output to one terminal goes through one [Screen], which removes its
// lines before it writes anything else, and escapes control characters. A file or a pipe does not get any redrawn lines.
package screen

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/zkbench/zkbench/results/table"
)

// DefaultWidth is the width of output to a file or a pipe. What is piped into a pager appears on a terminal, which has at least 80 columns.
const DefaultWidth = 80

// Screen is a writer to a terminal with lines that are redrawn in place. Make one with [Of]. It may be used concurrently.
type Screen struct {
	// Size returns the size of the terminal, which may change, with 0 rows if unknown. It is nil where lines cannot be redrawn.
	Size func() (columns, rows int)
	// Failure is the error of the first write that failed; nil if none did.
	Failure error

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
			// Not $COLUMNS: a drawn line wider than the terminal continues on the next one, where nothing removes it.
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns, rows
			}
			return Width(f), 0
		}
	}
	return s
}

// Width returns the number of columns of a writer's terminal: $COLUMNS if it is set, and [DefaultWidth] if there is no terminal.
func Width(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f, ok := Of(out).out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return DefaultWidth
}

// Write implements [io.Writer]. It removes the lines in place first, and writes a [table.Printable] text. No character may be
// split between two writes. A pipe without a reader is not an error: the reader, such as head, has what it wanted.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if _, err := io.WriteString(s.out, table.Printable(string(text))); err != nil && !errors.Is(err, syscall.EPIPE) {
		s.Failure = cmp.Or(s.Failure, err)
		return 0, s.Failure
	}
	return len(text), nil
}

// Draw replaces the lines in place. Each must be narrower than the terminal: a full line would move the cursor to the next one.
func (s *Screen) Draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := table.Printable(strings.Join(lines, "\n"))
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

// Shortened returns the first columns of a line, with an ellipsis if it is longer.
func Shortened(line string, columns int) string {
	if columns == 0 {
		return ""
	}
	return text.Snip(line, columns, "…")
}
