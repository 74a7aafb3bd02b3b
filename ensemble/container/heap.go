package container

import (
	"context"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

var _ ensemble.HeapMeter = (*Ensemble)(nil)

// HeapUsed implements [ensemble.HeapMeter].
func (e *Ensemble) HeapUsed(ctx context.Context) (int64, error) {
	return e.SumHeaps(func(i int) (int64, error) { return heapOf(ctx, e.ids[i]) })
}

// heapOf signals the container's first process, which is Java, and reads the lines that it adds to the log.
func heapOf(ctx context.Context, id string) (int64, error) {
	last, err := dockerCombined(ctx, "logs", "--timestamps", "--tail", "1", id)
	if err != nil {
		return 0, err
	}
	since, _, _ := strings.Cut(last, " ")
	if _, err := docker(ctx, "kill", "--signal", "QUIT", id); err != nil {
		return 0, err
	}
	return ensemble.AwaitHistogram(ctx, func(ctx context.Context) (string, error) {
		text, err := dockerCombined(ctx, "logs", "--timestamps", "--since", since, id)
		return loggedAfter(text, since), err
	})
}

// loggedAfter returns the lines that are later than since, without their time stamps. Docker's --since includes the line at
// that very time. The time stamps have a fixed length and can be compared as text.
func loggedAfter(text, since string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if at, rest, ok := strings.Cut(line, " "); ok && at > since {
			out.WriteString(rest)
		}
	}
	return out.String()
}
