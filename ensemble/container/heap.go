package container

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

var _ ensemble.HeapMeter = (*Ensemble)(nil)

// HeapUsed implements [ensemble.HeapMeter].
func (e *Ensemble) HeapUsed(ctx context.Context) (int64, error) {
	var total int64
	for i, id := range e.ids {
		used, err := heapOf(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("ask %s for its heap: %w", e.servers[i].Name, err)
		}
		total += used
	}
	return total, nil
}

// heapOf asks the container's first process, which is Java, and reads on in its log from the line that was the last.
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

// loggedAfter returns the lines with a later time than since, without their times, which Docker writes at the same length
// always. To Docker itself, --since includes that moment.
func loggedAfter(text, since string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if at, rest, ok := strings.Cut(line, " "); ok && at > since {
			out.WriteString(rest)
		}
	}
	return out.String()
}
