package ensemble

import (
	"context"
	"fmt"
	"regexp"
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

// JavaLocale is set for each JVM: in the locale "C", a JVM opens no file whose name has letters outside ASCII; see [PortTaken], too.
const JavaLocale = "LC_ALL=C.UTF-8"

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
		if total := histogramTotal.FindStringSubmatch(text); total != nil {
			used, err := strconv.ParseInt(total[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("understand the histogram's total %q: %w", strings.TrimSpace(total[0]), err)
			}
			return used, nil
		}
		if err := Sleep(ctx, pollInterval); err != nil {
			return 0, err
		}
	}
}

// histogramTotal matches the last line of a histogram: "Total  <objects>  <bytes>".
var histogramTotal = regexp.MustCompile(`(?m)^[ \t]*Total[ \t]+\S+[ \t]+(\S+)[ \t\r]*\n`)
