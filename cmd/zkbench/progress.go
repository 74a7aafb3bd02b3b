package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far a run is: a bar with the time left where somebody is watching, plain lines otherwise.
type progress struct {
	out  io.Writer
	name string
	bar  *progressbar.ProgressBar
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// begin starts the progress of one scenario.
func (p *progress) begin(name string) {
	p.close()
	p.name = name
}

// step tells that done of total measurements are over and what comes next.
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

// pause makes room for other output; the next step shows the bar again.
func (p *progress) pause() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// close ends the bar, if there is one, on a line of its own.
func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
