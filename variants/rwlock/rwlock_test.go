package rwlock

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are modes, or modes and tokens: "r" or "w:token".
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"requested": exclusion.Requested, "withdrew": exclusion.Withdrew, "waited": waited, "acquired": exclusion.Acquired,
			"releasing": exclusion.Releasing, "released": exclusion.Released, "deposed": exclusion.Deposed,
		},
		Value: func(t testing.TB, _ string, parts []string) int64 { // the runner's events have none
			mode, known := map[string]Mode{"r": Read, "w": Write}[parts[0]]
			if !known {
				t.Fatalf("%q is no mode", parts[0])
			}
			var token int64
			if len(parts) > 1 {
				token = variantstest.Number(t, parts[1])
			}
			return stamp(mode, token)
		},
	}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"readers together, then a writer, then readers", "0:acquired:r:1 1:acquired:r:2 0:releasing:r 1:releasing:r 2:acquired:w:3 2:releasing:w 0:acquired:r:4 1:acquired:r:5", ""},
		{"granted while the release is under way", "0:acquired:w:1 0:releasing:w 1:acquired:w:2 0:released:w 1:releasing:w", ""},
		{"readers in any order among themselves", "0:acquired:r:2 1:acquired:r:1", ""},
		{"the first token may be anything", "0:acquired:w:-7 0:releasing:w 1:acquired:w:-6", ""},
		{"a writer beside a reader", "0:acquired:r:1 1:acquired:w:2", "client 1 acquired the lock as a writer while client 0 held it as a reader"},
		{"a writer beside the second of two readers", "0:acquired:r:1 1:acquired:r:2 0:releasing:r 2:acquired:w:3", "client 2 acquired the lock as a writer while client 1 held it as a reader"},
		{"a reader beside a writer", "0:acquired:w:1 1:acquired:r:2", "client 1 acquired the lock as a reader while client 0 held it as a writer"},
		{"two writers", "0:acquired:w:1 1:acquired:w:2", "client 1 acquired the lock as a writer while client 0 held it as a writer"},
		{"the same client twice", "0:acquired:r:1 0:acquired:r:2", "client 0 acquired the lock as a reader while client 0 held it as a reader"},
		{"a writer's token again", "0:acquired:w:1 0:releasing:w 1:acquired:w:1", "client 1 was granted fencing token 1 as a writer after token 1"},
		{"a writer's token backwards", "0:acquired:w:5 0:releasing:w 1:acquired:w:4", "fencing token 4 as a writer after token 5"},
		{"a writer's token backwards, with a reader in between", "0:acquired:w:5 0:releasing:w 2:acquired:r:9 2:releasing:r 1:acquired:w:4", "fencing token 4 as a writer after token 9"},
		{"a writer's token below a reader's", "0:acquired:r:5 0:releasing:r 1:acquired:w:4", "fencing token 4 as a writer after token 5"},
		{"a writer's token below an earlier reader's", "0:acquired:r:5 1:acquired:r:3 0:releasing:r 1:releasing:r 2:acquired:w:4", "fencing token 4 as a writer after token 5"},
		{"a reader's token below a writer's", "0:acquired:w:5 0:releasing:w 1:acquired:r:4", "fencing token 4 as a reader after token 5"},
		{"a lock that no waiter gets", "0:acquired:w:1 1:requested:r 0:releasing:w", "no client holds the lock in the end, although 1 clients wait"},
	})
}

// The checks of a reader or a writer that has lost its session depend on what it could know.
func TestLives(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"a reader that is told after a writer has it", "0:acquired:r:1 1:acquired:w:2 0:lost 0:deposed:r", ""},
		{"a writer that is told after readers have it", "0:acquired:w:1 1:acquired:r:2 2:acquired:r:3 0:lost 0:deposed:w", ""},
		{"a writer that learns it from its release", "0:acquired:w:1 1:acquired:w:2 0:releasing:w 0:lost 0:rejoined", ""},
		{"a reader that is late to record its grant", "0:acquired:w:2 1:acquired:r:1 1:lost 1:deposed:r 0:releasing:w 0:released:w", ""},
		{"a dead writer", "0:acquired:w:1 0:died 1:acquired:w:2", ""},
		{"a dead reader beside a live one", "0:acquired:r:1 1:acquired:r:2 0:died 2:requested:w 1:releasing:r 2:acquired:w:3", ""},
		{"a reader that was alive", "0:acquired:r:1 1:acquired:w:2 0:releasing:r 0:released:r 0:lost", "client 1 acquired the lock as a writer while client 0 held it as a reader"},
		{"a reader that goes on", "0:acquired:r:1 0:lost 1:acquired:w:2 0:releasing:r", "client 0 went on holding the lock after it could know that its session was lost, while client 1 held it"},
		{"a writer that goes on", "0:acquired:w:1 0:lost 0:releasing:w", "client 0 went on holding the lock after it could know that its session was lost"},
		{"a claim that outlives its owner", "0:acquired:r:1 1:requested:w 0:died 0:rejoined 0:requested:r", "no client holds the lock in the end, although 2 clients wait"},
	})
	teller().Damage(t, Recipe(), []variantstest.Case{
		{"a writer beside two readers that are lost", "0:acquired:r:1 1:acquired:r:2 2:acquired:w:3 0:lost 0:deposed:r 1:lost 1:deposed:r", "fenced=1 fenced=1"},
		{"readers beside a writer that is lost", "0:acquired:w:1 1:acquired:r:2 2:acquired:r:3 0:lost 0:deposed:w", "fenced=1"},
	})
	teller().Intervals(t, Recipe(), []variantstest.Case{{
		"a reader dies, and the release of the other leaves the lock free",
		"0:acquired:r:1 1:acquired:r:2 2:requested:w 0:died 1:releasing:r 2:acquired:w:3",
		"acquire(2)=3-6 hold(1)=2-5 handoff(2)=5-6",
	}})
}

const waitedInVain = "client 1 waited for the lock as a reader although no writer was ahead of it"

// Readers that exclude each other keep every other promise of the lock.
func TestReadersThatWait(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"for a reader alone", "0:requested:r 0:acquired:r:1 1:requested:r 0:releasing:r 1:waited:r:2 1:acquired:r:2 1:releasing:r", waitedInVain},
		{"for a reader, with a writer behind both", "0:requested:r 0:acquired:r:1 1:requested:r 2:requested:w 0:releasing:r 0:released:r 1:waited:r:2 1:acquired:r:2" +
			" 1:releasing:r 1:released:r 2:acquired:w:3 2:releasing:w", waitedInVain},
		{"for a writer that has released before", "0:requested:w 0:acquired:w:1 0:releasing:w 0:released:w 1:requested:r 1:waited:r:2 1:acquired:r:2 1:releasing:r", waitedInVain},
		{"for a client that wrote and reads now", "0:requested:w 0:acquired:w:1 0:releasing:w 0:released:w 0:requested:r 0:acquired:r:2 1:requested:r 0:releasing:r 1:waited:r:3 1:acquired:r:3 1:releasing:r", waitedInVain},
		{"for a client whose failed write is over", "0:requested:w 0:withdrew:w 0:requested:r 0:acquired:r:2 1:requested:r 0:releasing:r 1:waited:r:3 1:acquired:r:3 1:releasing:r", waitedInVain},
		{"for a writer that releases", "0:requested:w 0:acquired:w:1 1:requested:r 0:releasing:w 0:released:w 1:waited:r:2 1:acquired:r:2 1:releasing:r", ""},
		{"for a writer whose release is under way", "0:requested:w 0:acquired:w:1 1:requested:r 0:releasing:w 1:waited:r:2 1:acquired:r:2 0:released:w 1:releasing:r", ""},
		{"for a writer whose reply comes first", "0:requested:w 0:acquired:w:1 1:requested:r 0:releasing:w 0:released:w 0:requested:w 1:waited:r:2 1:acquired:r:2 1:releasing:r 0:acquired:w:3 0:releasing:w", ""},
		{"for a writer that withdraws first", "0:acquired:r:1 2:requested:w 1:requested:r 2:withdrew:w 1:waited:r:3 1:acquired:r:3 0:releasing:r 1:releasing:r", ""},
		{"for a writer that withdraws, as it learns later", "0:acquired:r:1 2:requested:w 1:requested:r 1:waited:r:3 1:acquired:r:3 0:releasing:r 1:releasing:r 2:withdrew:w", ""},
		{"for a writer that withdraws, beside one that is behind", "0:acquired:r:1 2:requested:w 3:requested:w 1:requested:r 1:waited:r:3 1:acquired:r:3 0:releasing:r 1:releasing:r 3:acquired:w:4 3:releasing:w 2:withdrew:w", ""},
		{"for a writer whose session ends while it holds", "0:requested:w 0:acquired:w:1 0:releasing:w 1:requested:r 1:waited:r:2 1:acquired:r:2 1:releasing:r", ""},
		{"for a writer that comes back without its znode", "0:requested:w 1:requested:r 0:requested:r 1:waited:r:2 1:acquired:r:2 1:releasing:r 0:acquired:r:3 0:releasing:r", ""},
		{"for the znode of a writer that died as it waited", "0:acquired:r:1 2:requested:w 1:requested:r 2:died 1:waited:r:3 1:acquired:r:3 0:releasing:r 1:releasing:r", ""},
		{"for the znode of a writer that died as it held", "0:acquired:w:1 0:died 0:rejoined 0:requested:r 1:requested:r 1:waited:r:3 1:acquired:r:3 1:releasing:r 0:acquired:r:4", ""},
		{"for a reader that died, with a dead writer long gone", "0:requested:w 0:died 0:rejoined 0:requested:r 0:acquired:r:2 1:requested:r 0:died 1:waited:r:3 1:acquired:r:3 1:releasing:r", waitedInVain},
		{"for a znode of its own client, which has withdrawn", "1:requested:w 1:withdrew:w 1:requested:r 1:waited:r:2 1:acquired:r:2 1:releasing:r", ""},
	})
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("0:requested+acquired:w:%[1]d 1:requested:r 2:requested:w 0:releasing+released:w:%[1]d "+
			"1:waited+acquired:r:%[2]d 2:withdrew:w 1:releasing+released:r:%[2]d", 2*i, 2*i+1)
	})
}

func TestStamp(t *testing.T) {
	for _, token := range []int64{0, 1, math.MaxInt32, -1, math.MinInt32} {
		for _, mode := range []Mode{Read, Write} {
			if m, v := unstamp(stamp(mode, token)); m != mode || v != token {
				t.Errorf("a %s's token %d comes back as a %s's %d", mode, token, m, v)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	// Readers 0 and 1 hold, writer 2 waits for both, and readers 0 and 1 wait for the writer, which comes back last, when
	// no client is left to hand over.
	teller().Intervals(t, Recipe(), []variantstest.Case{{
		"readers, a writer, readers, the writer",
		"0:requested:r 0:acquired:r 1:requested:r 1:acquired:r 2:requested:w 0:releasing:r 0:released:r 0:requested:r" +
			" 1:releasing:r 2:acquired:w 1:released:r 1:requested:r 2:releasing:w 0:acquired:r 1:acquired:r 2:released:w" +
			" 0:releasing:r 1:releasing:r 2:requested:w 2:acquired:w",
		"acquire(0)=1-2 acquire(1)=3-4 acquire(2)=5-10 acquire(0)=8-14 acquire(1)=12-15 acquire(2)=19-20 " +
			"hold(0)=2-6 hold(1)=4-9 hold(2)=10-13 hold(0)=14-17 hold(1)=15-18 release(0)=6-7 release(1)=9-11 release(2)=13-16 " +
			"handoff(2)=9-10 handoff(0)=13-14 handoff(1)=13-15",
	}})
}

func TestRoles(t *testing.T) {
	for n, want := range map[int]string{1: "R", 2: "RW", 3: "RWR", 4: "RRWR", 7: "RRRWWRR", 8: "RRRWWWRR"} {
		var got strings.Builder
		for i := range n {
			got.WriteByte("RW"[role(variants.Env{Clients: n, Index: i}, 0)])
		}
		if got.String() != want {
			t.Errorf("%d participants start as %s, want %s", n, got.String(), want)
		}
	}
	var steps strings.Builder
	for step := range 6 {
		steps.WriteByte("RW"[role(variants.Env{Clients: 1}, step)])
	}
	if steps.String() != "RWRRWR" {
		t.Errorf("one participant goes through %s, want RWRRWR", steps.String())
	}
}

func TestContenders(t *testing.T) {
	children := []string{
		"B-write-0000000003", "A-read-0000000010", "fence", "x-read-", "Z-read-0000000002", "x-write-abc", "M-lock-0000000001",
		"N-write--2147483648", "a-read-b-write-0000000011",
	}
	var got []string
	for _, c := range contenders(children[:7]) {
		got = append(got, fmt.Sprintf("%s:%s", c.mode, c.Name[:1]))
	}
	if want := "reader:Z writer:B reader:A"; strings.Join(got, " ") != want {
		t.Errorf("in line: %v, want %s", got, want)
	}
	if all := contenders([]string{"N-write--2147483648", "M-read-2147483647"}); all[0].Name[0] != 'M' {
		t.Errorf("after the counter wrapped, %s is first", all[0].Name)
	}
	mine := contenders(children)[0]
	if _, err := ahead(mine, children[:2]); err == nil {
		t.Error("a ticket that is gone went unnoticed")
	}
}

func TestWhomToWatch(t *testing.T) {
	for _, tt := range []struct {
		before, firstRead, nearestRead, write string
	}{
		{"", "-", "-", "-"},
		{"R0", "-", "-", "R0"},
		{"R0 R1", "-", "-", "R1"},
		{"W0", "W0", "W0", "W0"},
		{"R0 W1 R2 W3 R4", "W1", "W3", "R4"},
	} {
		var children []string
		for i, name := range strings.Fields(tt.before) {
			marker := map[byte]string{'R': readMarker, 'W': writeMarker}[name[0]]
			children = append(children, fmt.Sprintf("%s%s%010d", name, marker, i))
		}
		before := contenders(children)
		for _, c := range []struct {
			what   string
			choose func() (string, bool)
			want   string
		}{
			{"a reader, first writer", func() (string, bool) { w, ok := firstWriter(Read, before); return w.Name, ok }, tt.firstRead},
			{"a reader, nearest writer", func() (string, bool) { w, ok := nearestWriter(Read, before); return w.Name, ok }, tt.nearestRead},
			{"a writer, first", func() (string, bool) { w, ok := firstWriter(Write, before); return w.Name, ok }, tt.write},
			{"a writer, nearest", func() (string, bool) { w, ok := nearestWriter(Write, before); return w.Name, ok }, tt.write},
		} {
			name, waiting := c.choose()
			if got, _, _ := strings.Cut(name+"-", "-"); waiting != (c.want != "-") || waiting && got != c.want {
				t.Errorf("behind %q, %s: watches %q (%v), want %s", tt.before, c.what, got, waiting, c.want)
			}
		}
	}
}
