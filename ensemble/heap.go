package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HeapMeter is an ensemble whose heaps can be measured.
type HeapMeter interface {
	// HeapUsed collects all garbage and returns the bytes in use on all heaps. Each server pauses for about 0.1 s.
	HeapUsed(ctx context.Context) (int64, error)
}

// HistogramFlag makes a JVM print a thread dump on SIGQUIT, collect all garbage, and print a histogram of the remaining
// objects. Without a signal it has no effect.
//
// Note: jcmd is part of the JDK, which neither Debian's runtime packages nor the official image have. ZooKeeper's Prometheus
// provider, which Debian's package lacks, reports the heap including garbage.
const HistogramFlag = "-XX:+PrintClassHistogram"

const histogramTimeout = 10 * time.Second

// AwaitHistogram polls a log for the total of a histogram. printed returns the part of the log after SIGQUIT was sent.
func AwaitHistogram(ctx context.Context, printed func(context.Context) (string, error)) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, histogramTimeout,
		fmt.Errorf("no histogram within %s (was the server started with %s?)", histogramTimeout, HistogramFlag))
	defer cancel()
	for {
		text, err := printed(ctx)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil {
			return 0, err
		}
		used, err := histogramTotal(text)
		if !errors.Is(err, errIncomplete) {
			return used, err
		}
		if err := Sleep(ctx, pollInterval); err != nil {
			return 0, err
		}
	}
}

var errIncomplete = errors.New("the histogram is not complete")

// histogramTotal returns the bytes from the last line of a histogram: "Total  <objects>  <bytes>".
func histogramTotal(text string) (int64, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "Total" || !strings.HasSuffix(line, "\n") {
			continue
		}
		used, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("understand the histogram's total %q: %w", strings.TrimSpace(line), err)
		}
		return used, nil
	}
	return 0, errIncomplete
}
