package observe

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/table"
)

// The report and the live block, as they are printed.
func TestObserveTexts(t *testing.T) {
	report := synthesizedReport()
	stats := proxy.Stats{Connections: 12, Commands: 2}
	for _, columns := range []int{80, 120} {
		text := report.Text(stats, columns)
		golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("observe-%d.txt", columns)), []byte(text))
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > columns {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		block := report.block(columns, 6)
		if len(block) != 5 {
			t.Errorf("%d lines in a terminal of 6 rows", len(block))
		}
		for _, line := range block {
			if n := len([]rune(line)); n > columns {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
	}
}

// Whatever a client sends, it is printed in its own line, and without control characters.
func TestHostileNames(t *testing.T) {
	const hostile = "/a\x1b[2J\u009b1m\u202e\n- every waiter watches /innocent: lock/children-watch\t\xff"
	r := synthesizedReport()
	lock, look := &r.Herds[0].Largest, &r.Looks[0]
	lock.Path, lock.Cause, lock.Event, lock.Effects[0].Operation = hostile, hostile, hostile, hostile
	r.Paths[1].Path, r.Paths[1].Operations[0].Operation, r.Paths[1].Operations[0].Failed = hostile, hostile, map[string]int64{hostile: 1}
	r.Stuck[0].Path, look.Path = hostile, hostile
	r.Incidents[0].Detail, r.Incidents[0].Client = hostile, hostile
	var lines bytes.Buffer
	NewView(&lines).Show(r)
	look.Because = strings.Repeat("/long", 79) + " - every waiter watches /innocent" // two columns are for the dash
	texts := []string{r.Text(proxy.Stats{Connections: 1}, 400), lines.String(), strings.Join(r.block(400, 100), "\n")}
	for i, text := range texts {
		if strings.ContainsAny(text, "\x1b\u009b\u202e\t") || !utf8.ValidString(text) || strings.Contains(text, "\n- every waiter watches /innocent") {
			t.Errorf("text %d is not escaped: %q", i, text)
		}
		if want := []int{9, 1, 4}[i]; strings.Count(text, `/a\u001b[2J\u009b1m\u202e\n- every waiter`) < want {
			t.Errorf("text %d shows fewer than %d names: %s", i, want, text)
		}
	}
	if block := r.block(40, 100); len(block) < 20 || table.Width(strings.Join(block, "\n")) > 40 {
		t.Errorf("%d lines of at most %d columns in place of 40", len(block), table.Width(strings.Join(block, "\n")))
	}
}

// synthesizedReport is a report with everything that one can have.
func synthesizedReport() Report {
	lock := Herd{
		Zxid: "0x10000021f", Cause: "delete /app/lock/_c_4a1f0c9e-lock-0000000007", By: "0x1000004a2d30005", Event: "NodeChildrenChanged",
		Path: "/app/lock", Notifications: 49, Sessions: 49, Spread: 3 * time.Millisecond,
		Effects: []Effect{{Operation: "getChildren", Count: 49, BytesIn: 1_100_000}, {Operation: "create", Failed: true, Count: 48, BytesIn: 960}},
	}
	ran := Herd{Event: "NodeDeleted", Path: "/app/members/m3", Notifications: 12, Sessions: 12, Effects: []Effect{}}
	return Report{
		Length: 30 * time.Second, Open: true, Sessions: 50, MostSessions: 51, Expired: 1,
		Requests: 15_300, Failed: 500, Writes: 6_120, FailedWrites: 489, Notifications: 27_400, BytesIn: 31_000_000, BytesOut: 1_200_000,
		HerdP50: 41, HerdMax: 49, HerdGuessed: true, OtherHerds: 3,
		Herds: []HerdKind{{Count: 311, Notifications: 12_345, P50: 41, Largest: lock}, {Count: 1, Notifications: 12, P50: 12, Largest: ran}},
		Paths: []PathReport{
			{Path: "/app/lock", WatchesSet: 9_180, WatchesNow: 120, Watchers: 40, Fired: 9_100, Unfollowed: 8_700, Operations: []OperationReport{{Operation: "getChildren", Count: 9_180, BytesIn: 30_000_000}}},
			{Path: "/app/lock/_c_*-lock-*", Operations: []OperationReport{
				{Operation: "create", Count: 3_500, Failed: map[string]int64{"NodeExists": 480, "NoNode": 9}, BytesIn: 120_000},
				{Operation: "delete", Count: 2_620, BytesIn: 52_400},
			}},
			{Path: "/app/members/m3", Fired: 12},
		},
		OtherPaths:  &PathReport{Path: "(others)", Operations: []OperationReport{{Operation: "getData", Count: 5, BytesIn: 700}}},
		Stuck:       []Waiter{{Session: "0x1000004a2d30007", Path: "/app/old/x-72057594037927936-0000000003", Since: 12 * time.Second}},
		CyclesFound: 3,
		Cycles:      []Cycle{{{Session: "0x1", Path: "/rw/b-0000000002", Since: 9 * time.Second}, {Session: "0x2", Path: "/rw/a-0000000001", Since: 8 * time.Second}}},
		Learned:     3,
		MoreStuck:   2, StuckEnded: 1, LeftWatches: 4,
		Looks: []Look{
			{
				Path: "/app/lock", Variant: "lock/children-watch", Better: "lock/predecessor-watch", Sessions: 50,
				Because: "sessions that create ephemeral znodes in it: 50, that watch the list while their own is in it: " +
					"the same 50, that delete their own: the same 50; largest herd: 49",
			},
			{
				Path: "/app/other", Variant: "lock/predecessor-watch", Equal: "election/predecessor-watch",
				Because: "sessions that create ephemeral znodes in it: 12, that watch what another has made: the same 12, " +
					"that delete their own: the same 12; largest herd: 1",
			},
			{Path: "/app/view", Variant: "config", Because: "sessions that write to what another has made: 1, that watch what another has made: 5"},
		},
		Recent: recorder.LastSeconds{
			Length: 10 * time.Second,
			Second: recorder.Second{Operations: 2_040, FailedRequests: 160, Notifications: 9_000, LargestHerd: 49},
		},
		IncidentCounts: map[proxy.IncidentKind]int64{proxy.EndedServer: 3, proxy.Encrypted: 1},
		Incidents: []proxy.Incident{
			{At: 12 * time.Second, Kind: proxy.EndedServer, Server: "zk1:2181", Client: "127.0.0.1:50312", Session: 0x1000004a2d30005, Detail: "connection reset by peer", Unanswered: 2},
			{At: 13 * time.Second, Kind: proxy.Encrypted, Server: "zk1:2181", Client: "127.0.0.1:50313"},
		},
	}
}
