package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// screen is a terminal with lines that are redrawn in place. Other text, such as that of a signal, clears these lines first. It
// may be used concurrently.
type screen struct {
	out io.Writer

	mu    sync.Mutex
	drawn int // lines in place; the cursor is at the end of the last one
	text  string
}

// onScreen returns a writer as a screen, and reports whether lines can be redrawn there.
func onScreen(out io.Writer) (s *screen, redraws bool) {
	s, ok := out.(*screen)
	if !ok {
		s = &screen{out: out}
	}
	return s, isTerminal(out) && os.Getenv("TERM") != "dumb"
}

// Write implements [io.Writer].
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	return s.out.Write(text)
}

// draw replaces the lines in place, unless they are the same.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(lines, "\n")
	if s.drawn > 0 && text == s.text {
		return
	}
	s.clearLocked()
	fmt.Fprint(s.out, text)
	s.drawn, s.text = len(lines), text
}

// clear removes the lines in place, and leaves the cursor where they began.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *screen) clearLocked() {
	switch {
	case s.drawn > 1:
		fmt.Fprintf(s.out, "\r\033[%dA\033[J", s.drawn-1)
	case s.drawn == 1:
		fmt.Fprint(s.out, "\r\033[K")
	}
	s.drawn = 0
}

// fileOf returns the file behind a writer; nil if there is none.
func fileOf(w io.Writer) *os.File {
	if s, ok := w.(*screen); ok {
		w = s.out
	}
	f, _ := w.(*os.File)
	return f
}
