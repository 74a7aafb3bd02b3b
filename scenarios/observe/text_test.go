package observe

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
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
		OtherPaths: &PathReport{Path: "(others)", Operations: []OperationReport{{Operation: "getData", Count: 5, BytesIn: 700}}},
		Stuck:      []Waiter{{Session: "0x1000004a2d30007", Path: "/app/old/x-72057594037927936-0000000003", Since: 12 * time.Second}},
		Cycles:     []Cycle{{{Session: "0x1", Path: "/rw/b-0000000002", Since: 9 * time.Second}, {Session: "0x2", Path: "/rw/a-0000000001", Since: 8 * time.Second}}},
		Learned:    3,
		MoreStuck:  2, StuckEnded: 1, LeftWatches: 4,
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
