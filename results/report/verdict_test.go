package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
)

// Of a run in which every measurement was disturbed, the worst are printed, the server before the stall, and the rest is
// counted; warnings of other kinds are not held back.
func TestVerdictPrintsTheWorstDisturbances(t *testing.T) {
	var docs []*results.Document
	for repeat := 1; repeat <= 8; repeat++ {
		pause := time.Duration(repeat) * time.Second
		d := &results.Document{
			Recipe: "lock", Variant: "znode", Clients: 5, Repeat: repeat,
			Servers: []results.ServerReport{{Server: 1, Name: "zoo1", JVMPauses: &results.Timing{Count: 400, Sum: pause, Max: &pause, MaxSinceStart: pause}}},
			Stalls:  []results.Stall{{Start: time.Second, Length: pause}},
		}
		d.Warnings = append(doubts.Delayed(d), fmt.Sprintf("something else about repeat %d", repeat))
		docs = append(docs, d)
	}
	var out bytes.Buffer
	report.WriteVerdict(&out, docs)
	lines := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool { return !strings.HasPrefix(line, "warning") })
	want := []string{
		"warning: zoo1 stood still: its JVM paused for up to 8s (lock/znode, 5 clients, repeat 8)",
		"warning: no operation completed for 8s, from 1s into the window (lock/znode, 5 clients, repeat 8)",
		"warning: zoo1 stood still: its JVM paused for up to 7s (lock/znode, 5 clients, repeat 7)",
		"warning: no operation completed for 7s, from 1s into the window (lock/znode, 5 clients, repeat 7)",
		"warning: zoo1 stood still: its JVM paused for up to 6s (lock/znode, 5 clients, repeat 6)",
		"warning: no operation completed for 6s, from 1s into the window (lock/znode, 5 clients, repeat 6)",
		"warning: 10 shorter disturbances of this kind in 5 other measurements: see the results' files",
	}
	if len(lines) != len(want)+8 || !slices.Equal(lines[:len(want)], want) {
		t.Errorf("got\n%s\nwant\n%s\nand 8 others", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Repeats that deviate are one line for each count of a variant under a load.
func TestVerdictPrintsOneLineForEachDeviation(t *testing.T) {
	measured := func(mode results.Mode, clients, repeat int, requests float64) *results.Document {
		return &results.Document{
			Recipe: "lock", Variant: "predecessor-watch", Clients: clients, Batch: clients, Repeat: repeat,
			Scenario: results.Scenario{Name: "s", Mode: mode}, Window: results.Window{Operations: 100_000},
			Expected: results.Expected{Costs: map[string]results.Cost{metric.RequestsPerOp: {Formula: "5 (3 for N=1)", Value: 3}}},
			Metrics:  map[string]results.Metric{metric.RequestsPerOp: {Value: requests}},
		}
	}
	docs := []*results.Document{
		measured(results.ClosedMode, 1, 1, 4.007), measured(results.ClosedMode, 1, 2, 3.9971), measured(results.ClosedMode, 1, 3, 3.9999),
		measured(results.ClosedMode, 10, 1, 3), measured(results.ClosedMode, 10, 2, 3.5), measured(results.ClosedMode, 10, 3, 3.51),
		measured(results.LockstepMode, 20, 1, 5.8), measured(results.LockstepMode, 20, 2, 5.8),
	}
	want := []string{
		"DEVIATES: lock/predecessor-watch, 1 client: requests/op is 3.997 to 4.007, over the bound of 3 by its formula, 5 (3 for N=1)",
		"DEVIATES: lock/predecessor-watch, 10 clients: requests/op is 3.5 to 3.51 in 2 of 3 repeats, over the bound of 3 by its formula, 5 (3 for N=1)",
		"DEVIATES: lock/predecessor-watch, 20 clients: requests/op is 5.8, not 3 by its formula, 5 (3 for N=1)",
	}
	var out bytes.Buffer
	report.WriteVerdict(&out, docs)
	got := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool { return !strings.HasPrefix(line, "DEVIATES") })
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
