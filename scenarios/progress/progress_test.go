package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// at is a measurement of an hour after some time.
func at(elapsed time.Duration) runner.Live {
	return runner.Live{Elapsed: elapsed, Planned: time.Hour + 2*time.Second, Phase: "handoff", LastSeconds: recorder.LastSeconds{
		Length: 10 * time.Second, Second: recorder.Second{Operations: 5230, Notifications: 256_270, LargestHerd: 49, P99: 2_100_000},
	}}
}

// The line between two measurements has a bar and the rest of the time, and shortens the name of the next measurement.
func TestProgressLine(t *testing.T) {
	const what = "lock/predecessor-watch, 50 clients, repeat 1"
	for _, tt := range []struct {
		done, width int
		want        string
	}{
		{0, 119, what + " ░░░░░░░░░░░░░░░░░░░░░░░░ 0/12"},
		{3, 119, what + " ██████░░░░░░░░░░░░░░░░░░ 3/12, 3m0s left"},
		{3, 79, "lock/predecessor-watch, 50 clients, r… ██████░░░░░░░░░░░░░░░░░░ 3/12, 3m0s left"},
		{12, 79, "lock/predecessor-watch, 50 clients, re… ████████████████████████ 12/12, 0s left"},
	} {
		got := progressLine(what, tt.done, 12, time.Minute, tt.width)
		if got != tt.want || table.Width(got) > tt.width {
			t.Errorf("%d of 12 in %d columns:\n got %q, %d columns\nwant %q", tt.done, tt.width, got, table.Width(got), tt.want)
		}
	}
}

// Without a terminal there is a line for each minute of a long measurement, and none about a short one.
func TestLiveWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.Begin("lock-contention")
	p.Step(0, 2, "lock/znode, 1 client, repeat 1")
	p.Show(runner.Live{Elapsed: time.Second})
	for second := range 150 {
		p.Show(at(time.Duration(second)*time.Second + 300*time.Millisecond))
	}
	p.Step(1, 2, "lock/znode, 2 clients, repeat 1")
	p.Show(at(59 * time.Second))
	p.Show(at(61 * time.Second))
	p.Show(at(2 * time.Hour)) // over
	p.Step(2, 2, "")
	p.Close()
	const numbers = ": in the last 10s 523 operations/s, handoff p99 2.10 ms, 25627 notifications/s, largest herd 49"
	want := strings.Join([]string{
		"lock-contention [1/2] lock/znode, 1 client, repeat 1",
		"lock-contention [1/2] 1m0s of 1h0m2s" + numbers,
		"lock-contention [1/2] 2m0s of 1h0m2s" + numbers,
		"lock-contention [2/2] lock/znode, 2 clients, repeat 1",
		"lock-contention [2/2] 1m1s of 1h0m2s" + numbers, "",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// A load of a number of operations, whose length is not known, has a line for each minute, too.
func TestLiveOfALoadOfUnknownLength(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.Begin("crowd-lock")
	p.Step(0, 1, "lock/znode, 4,000 clients, repeat 1")
	for second := range 130 {
		drain := at(time.Duration(second) * time.Second)
		drain.Planned = 0
		p.Show(drain)
	}
	for _, want := range []string{"crowd-lock [1/1] 1m0s: in the last 10s", "crowd-lock [1/1] 2m0s: in the last 10s"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("said\n%swithout one line %q", out.String(), want)
		}
	}
}

func onTerminal(out *bytes.Buffer, columns, rows int) *Progress {
	p := New(out)
	p.out.Size = func() (int, int) { return columns, rows }
	return p
}

// On a terminal, each second replaces the one before it, as far as there is room, and other output begins on a clear screen.
func TestLiveOnATerminal(t *testing.T) {
	for _, tt := range []struct {
		rows, lines int
		clear       string
	}{{24, 7, "\r\033[6A\033[J"}, {7, 6, "\r\033[5A\033[J"}, {0, 1, "\r\033[K"}} {
		var out bytes.Buffer
		p := onTerminal(&out, 80, tt.rows)
		p.Step(0, 2, "lock/znode, 1 client, repeat 1")
		p.Pause()
		before := out.Len()
		for second := range 3 {
			p.Show(at(time.Duration(second) * time.Second))
		}
		p.out.Write([]byte("interrupted"))
		p.Pause()
		shown := out.String()[before:]
		if strings.Count(shown, tt.clear) != 3 || !strings.Contains(shown, tt.clear+"interrupted") || strings.Count(shown, "\n") != 3*(tt.lines-1) {
			t.Errorf("%d rows: %q", tt.rows, shown)
		}
	}
}

// A block has a line for what is measured, each quantity, and what is next. No line is wider than the terminal, and where there
// is room, the minute has a column for each second, and the peak its value.
func TestLiveBlock(t *testing.T) {
	l := at(12*time.Minute + 30*time.Second)
	l.Next = "lock/znode, 50 clients, repeat 1"
	for second := range 60 {
		s := recorder.Second{Operations: int64(second), Notifications: 50 * int64(second), LargestHerd: second % 50, P99: time.Duration(second%7) * time.Millisecond}
		l.Minute = append(l.Minute, s)
	}
	for _, columns := range []int{40, 79, 119} {
		lines := liveBlock("[3/12] lock/predecessor-watch, 50 clients, repeat 1", l, columns)
		for _, line := range lines {
			if table.Width(line) > columns {
				t.Errorf("%q has %d columns, of %d", line, table.Width(line), columns)
			}
		}
		golden.Compare(t, fmt.Sprintf("testdata/live-%d.txt", columns), []byte(strings.Join(lines, "\n")+"\n"))
	}
	l.WarmUp, l.Next, l.Minute = true, "", nil
	if got := liveBlock("x", l, 79); !strings.Contains(got[0], "warm-up") || !strings.Contains(got[len(got)-1], "the last measurement") {
		t.Errorf("during the warm-up of the last measurement: %q", got)
	}
	l.Workers = []runner.LiveWorker{{Host: "node1", Requests: 1234}, {Host: "node2", Requests: 1200}, {Host: "node3"}}
	if got := liveBlock("x", l, 40); got[len(got)-2] != "requests node1 1,234, node2 1,200, node…" {
		t.Errorf("of three workers: %q", got)
	}
}

// A sparkline has the latest values at its right end. A value that was not measured has no bar, and zeros have the lowest bar.
func TestSparkline(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		room   int
		want   string
	}{
		{nil, 3, "   "},
		{[]float64{0, 0}, 3, " ▁▁"},
		{[]float64{1, 7, 0, -1, 3.5}, 5, "▂█▁ ▅"},
		{[]float64{7, 1, 7}, 2, "▂█"},
	} {
		peak := 0.0
		for _, v := range tt.values {
			peak = max(peak, v)
		}
		if got := sparkline(tt.values, peak, tt.room); got != tt.want {
			t.Errorf("%v in %d columns: %q, want %q", tt.values, tt.room, got, tt.want)
		}
	}
}
