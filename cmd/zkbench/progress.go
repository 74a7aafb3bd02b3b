package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
)

// progress shows the progress of a run: a bar with the remaining time on a terminal, lines otherwise.
type progress struct {
	out  io.Writer
	name string
	bar  *progressbar.ProgressBar
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// begin starts a scenario.
func (p *progress) begin(name string) {
	p.close()
	p.name = name
}

// step shows that done of total measurements are complete, and which one is next.
func (p *progress) step(done, total int, next string) {
	if !isTerminal(p.out) {
		if next != "" {
			fmt.Fprintf(p.out, "%s [%d/%d] %s\n", p.name, done+1, total, next)
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetWidth(24),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(next)
	_ = p.bar.Set(done)
}

// pause clears the bar for other output. The next step shows it again.
func (p *progress) pause() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// close removes the bar.
func (p *progress) close() {
	p.pause()
	p.bar = nil
}
