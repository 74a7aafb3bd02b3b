package lock

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

func TestParseTickets(t *testing.T) {
	for _, tt := range []struct {
		name     string
		children []string
		want     string
	}{
		{"none", nil, ""},
		{"by sequence, not by GUID", []string{"A-lock-0000000010", "Z-lock-0000000009"}, "Z A"},
		{"foreign znodes", []string{"fence", "x-lock-", "x-lock-abc", "B-lock-0000000001", "x-lock-99999999999"}, "B"},
		{"a marker in the GUID", []string{"C-lock-D-lock-0000000001"}, "C-lock-D"},
		// After 2^31-1 the server's counter goes on with -2^31: still later, not first.
		{"the counter wraps", []string{"N-lock--2147483648", "O-lock--2147483647", "M-lock-2147483647"}, "M N O"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, ticket := range parseTickets(tt.children) {
				got = append(got, ticket.name[:strings.LastIndex(ticket.name, marker)])
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("order = %v, want %s", got, tt.want)
			}
		})
	}
}

func TestBehind(t *testing.T) {
	children := []string{"b-lock-0000000002", "a-lock-0000000001", "d-lock-0000000004"}
	mine := func(name string) ticket { x, _ := parseTicket(name); return x }
	if _, waiting, err := behind(mine(children[1]), children); waiting || err != nil {
		t.Errorf("the first: waiting %v, %v", waiting, err)
	}
	if p, waiting, err := behind(mine(children[2]), children); !waiting || err != nil || p.name != children[0] {
		t.Errorf("behind a gap: %v, %v, %v; want %s", p, waiting, err, children[0])
	}
	if _, _, err := behind(mine("c-lock-0000000003"), children); err == nil {
		t.Error("a ticket that is gone went unnoticed")
	}
}

// story is a history in a few words: "client:event" or "client:acquired:token", one millisecond apart.
func story(text string) variants.History {
	kinds := map[string]variants.EventKind{"requested": requested, "acquired": acquired, "releasing": releasing, "released": released}
	var h variants.History
	for i, word := range strings.Fields(text) {
		var client int
		var token int64
		parts := strings.Split(word, ":")
		_, _ = fmt.Sscan(parts[0], &client)
		if len(parts) > 2 {
			_, _ = fmt.Sscan(parts[2], &token)
		}
		h = append(h, variants.Event{At: time.Duration(i) * time.Millisecond, Client: client, Kind: kinds[parts[1]], Value: token})
	}
	return h
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, story, want string
	}{
		{"nothing", "", ""},
		{"one after the other", "0:acquired:1 0:releasing 1:acquired:2 1:releasing 0:acquired:3", ""},
		{"granted while the release is under way", "0:acquired:1 0:releasing 1:acquired:2 0:released 1:releasing", ""},
		{"two at once", "0:acquired:1 1:acquired:2", "client 1 acquired the lock while client 0 held it"},
		{"the same client twice", "0:acquired:1 0:acquired:2", "client 0 acquired the lock while client 0 held it"},
		{"a token again", "0:acquired:1 0:releasing 1:acquired:1", "fencing token 1 after token 1"},
		{"a token backwards", "0:acquired:5 0:releasing 1:acquired:4", "fencing token 4 after token 5"},
		{"the first token may be anything", "0:acquired:-7 0:releasing 1:acquired:-6", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := check(story(tt.story))
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("violations %v in a correct history", got)
			case tt.want != "" && (len(got) == 0 || !strings.Contains(got[0].Text, tt.want)):
				t.Errorf("violations %v, want %q", got, tt.want)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	// Client 1 waits while 0 holds, so it is handed the lock; client 0 comes back only after 1 has released.
	h := story("0:requested 0:acquired:1 1:requested 0:releasing 1:acquired:2 0:released 1:releasing 1:released 0:requested 0:acquired:3")
	var got []string
	for _, s := range spans(h) {
		got = append(got, fmt.Sprintf("%s(%d)=%dms", s.Phase, s.Client, (s.End-s.Start).Milliseconds()))
	}
	want := "acquire(0)=1ms acquire(1)=2ms acquire(0)=1ms hold(0)=2ms hold(1)=2ms release(0)=2ms release(1)=1ms handoff(1)=1ms"
	if strings.Join(got, " ") != want {
		t.Errorf("spans:\n got %s\nwant %s", strings.Join(got, " "), want)
	}
}

// simulate walks through a drain by the rules of one-shot watches, and counts. It is a second derivation of the
// formulas, independent of the algebra in their comments.
func simulate(variant string, n int) (requests, writes, failed, notifications, herd float64) {
	armed := map[int]bool{} // by client; the first holder's watch was used up by the second arrival
	for k := 1; k < n; k++ {
		armed[k] = true
	}
	if variant == "children-watch" && n == 1 {
		armed[0] = true
	}
	for holder := range n {
		requests, writes = requests+1, writes+1 // the delete
		var woken []int
		for k := range armed {
			if variant != "predecessor-watch" || k == holder+1 {
				woken = append(woken, k)
			}
		}
		notifications += float64(len(woken))
		herd = max(herd, float64(len(woken)))
		for _, k := range woken {
			delete(armed, k)
			if k == holder { // its own release
				continue
			}
			requests++ // a listing, or another create
			next := k == holder+1
			switch {
			case variant == "znode" && next:
				writes++
			case variant == "znode":
				writes, failed = writes+1, failed+1
				requests++ // exists, to watch again
				armed[k] = true
			case variant == "children-watch":
				armed[k] = true // the listing arms it, even if it finds the lock free
			case !next:
				requests++
				armed[k] = true
			}
		}
	}
	return requests, writes, failed, notifications, herd
}

func TestSteppedCostsMatchASimulation(t *testing.T) {
	for _, v := range Recipe().Variants {
		for _, n := range []int{1, 2, 3, 10, 50, 200} {
			requests, writes, failed, notifications, herd := simulate(v.Name, n)
			ops := float64(n)
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"requests", v.Stepped.Requests.At(n) * ops, requests},
				{"writes", v.Stepped.Writes.At(n) * ops, writes},
				{"failed writes", v.Stepped.FailedWrites.At(n) * ops, failed},
				{"notifications", v.Stepped.Notifications.At(n) * ops, notifications},
				{"herd", v.Stepped.HerdMax.At(n), herd},
			} {
				if math.Abs(c.got-c.want) > 1e-6 {
					t.Errorf("%s, N=%d: %s = %g by the formula, %g by simulation", v.Name, n, c.what, c.got, c.want)
				}
			}
		}
	}
}
