package claim

import (
	"fmt"
	"slices"
	"strings"
)

// Pair names two variants of a recipe that the overview compares, the metrics that compare them, and what is different about the
// first one, as in "predecessor-watch against children-watch by ops/s and herd-max, each waiter watches the one before it".
type Pair struct {
	Optimized string
	Naive     string // or the better known one, where both are optimized
	Metrics   []string
	Change    string // a clause, which may be missing
}

// ParsePair reads a pair.
func ParsePair(text string) (Pair, error) {
	head, change, _ := strings.Cut(text, ",")
	f := strings.Fields(head)
	if len(f) < 5 || len(f)%2 == 0 || f[1] != "against" || f[3] != "by" {
		return Pair{}, fmt.Errorf(`wants "VARIANT against VARIANT by METRIC and METRIC, what changes", not %q`, text)
	}
	pair := Pair{Optimized: f[0], Naive: f[2], Change: strings.TrimSpace(change)}
	if pair.Optimized == pair.Naive {
		return Pair{}, fmt.Errorf("compares %s with itself", pair.Naive)
	}
	for i := 4; i < len(f); i += 2 {
		if i > 4 && f[i-1] != "and" {
			return Pair{}, fmt.Errorf("wants \"and\" between two metrics, not %q", f[i-1])
		}
		metric := f[i]
		if slices.Contains(pair.Metrics, metric) {
			return Pair{}, fmt.Errorf("names %s twice", metric)
		}
		pair.Metrics = append(pair.Metrics, metric)
	}
	return pair, nil
}
