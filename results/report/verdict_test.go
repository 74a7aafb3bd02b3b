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
