package table_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/table"
)

func TestSectionsAndRules(t *testing.T) {
	rows := table.New(append(table.Left("variant"), table.Right("ops/s", "p99")...)...)
	rows.Section("10 clients, 3 repeats")
	rows.Row("naive", "12.5", table.Missing)
	rows.Rule()
	rows.Section("20 clients, 3 repeats")
	rows.Row("optimized", "1200", "2 ms")
	want := strings.Join([]string{
		"variant    ops/s    p99",
		"─────────────────────────",
		"10 clients, 3 repeats",
		"naive       12.5      –",
		"─────────────────────────",
		"20 clients, 3 repeats",
		"optimized   1200   2 ms",
	}, "\n")
	if got := rows.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The dropped columns are listed in the order of the table.
func TestTextDropsTheLeastNeededColumnsFirst(t *testing.T) {
	columns := []table.Column{{Title: "a"}, {Title: "b", Need: 1}, {Title: "c", Need: 3}, {Title: "d", Need: 3}}
	rows := table.New(columns...)
	rows.Row("aaaa", "bbbb", "cccc", "dddd")
	for _, tt := range []struct {
		width   int
		dropped string
	}{{24, ""}, {23, "c"}, {18, "c"}, {17, "c d"}, {12, "c d"}, {11, "b c d"}, {1, "b c d"}} {
		got, dropped := rows.Text(tt.width)
		if strings.Join(dropped, " ") != tt.dropped {
			t.Errorf("width %d: dropped %v, want %q; got\n%s", tt.width, dropped, tt.dropped, got)
		}
	}
}

func TestFillWrapsIntoTheWidth(t *testing.T) {
	rows := table.New(table.Column{Title: "name"}, table.Column{Title: "meaning", Fill: true})
	rows.Row("lock", "one client at a time holds it, and the others wait for their turn in order")
	for _, width := range []int{40, 60, 80, 120} {
		got, _ := rows.Text(width)
		if w := table.Width(got); w > width {
			t.Errorf("width %d: the longest line has %d columns:\n%s", width, w, got)
		}
	}
	if got := rows.String(); strings.Count(got, "\n") != 2 {
		t.Errorf("without a width it is wrapped:\n%s", got)
	}
}

func TestMarkdown(t *testing.T) {
	rows := table.New(append(table.Left("variant"), table.Right("ops/s")...)...)
	rows.Row("a|b", 5)
	want := "| variant | ops/s |\n| --- | ---:|\n| a\\|b | 5 |"
	if got := rows.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCSV(t *testing.T) {
	rows := table.New(append(table.Left("variant"), table.Right("ops/s")...)...)
	rows.Row(`a,"b"`, 5)
	rows.Row("", 1e6)
	if got, want := rows.CSV(), "variant,ops/s\n\"a,\"\"b\"\"\",5\n,1e+06"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{table.Count(0), "0"}, {table.Count(1.234), "1.23"}, {table.Count(12.34), "12.3"}, {table.Count(1234.5), "1234"},
		{table.Whole(2.6), "3"}, {table.Percentage(0.00012345), "0.0123%"}, {table.Bytes(154.4), "154 B"},
		{table.Bytes(9999), "9999 B"}, {table.Bytes(12_345), "12.3 kB"}, {table.Bytes(7_575_279), "7.58 MB"},
		{table.Latency(999e3), "999 µs"}, {table.Latency(1.5e6), "1.50 ms"}, {table.Latency(15.25e6), "15.2 ms"},
		{table.Latency(150e6), "150 ms"}, {table.Latency(1.5e9), "1.50 s"}, {table.Latency(15e9), "15.0 s"},
		{table.Wrap("one two three\nfour\n", 8), "one two\nthree\nfour"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
