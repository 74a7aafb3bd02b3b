package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HeapMeter is an ensemble that can tell what its servers hold in memory.
type HeapMeter interface {
	// HeapUsed collects all garbage and returns how many bytes are in use on the heaps of all servers together. Each server
	// stands still meanwhile, for about a tenth of a second.
	HeapUsed(ctx context.Context) (int64, error)
}

// HistogramFlag makes a Java server answer SIGQUIT with a full collection and a histogram of all objects that are left,
// at the end of a thread dump. It costs nothing until the signal comes.
//
// Note: jcmd would do, but comes with a JDK, which neither a runtime package nor the official image has. ZooKeeper itself
// tells the heap only through the Prometheus provider, which Debian leaves out, and with all the garbage in it.
const HistogramFlag = "-XX:+PrintClassHistogram"

// histogramTimeout is how long a server may take to collect and print.
const histogramTimeout = 10 * time.Second

// AwaitHistogram returns the sum of a histogram that a server has been asked for, as soon as it stands in its log. printed
// returns what has been logged since it was asked.
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
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// errIncomplete says that the last line of a histogram is not there yet.
var errIncomplete = errors.New("the histogram is not complete")

// histogramTotal reads the last line of a histogram: "Total  <objects>  <bytes>". Before it come lines of all kinds.
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
