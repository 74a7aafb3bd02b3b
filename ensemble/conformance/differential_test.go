package conformance_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

var (
	seeds   = flag.Int("seeds", 10, "scripts of the differential test")
	length  = flag.Int("length", 1000, "actions in each script")
	oneSeed = flag.Uint64("seed", 0, "perform the script of this seed only")
)

// sortTogether sorts the notifications of one transaction: ZooKeeper does not define their order, such as for the ephemeral
// znodes of one session.
func sortTogether(list []notification) {
	slices.SortStableFunc(list, func(a, b notification) int {
		if a.zxid != b.zxid || a.zxid < 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(a.typ, b.typ), strings.Compare(a.path, b.path))
	})
}

func perform(s *site, script []action) []string {
	g := newStage(s)
	observed := make([]string, len(script))
	for i, a := range script {
		observed[i] = g.perform(a)
	}
	for _, p := range g.peers { // a session that expired later would cause a transaction during another script
		p.call(wire.OpClose, nil)
	}
	return observed
}

func difference(a, b []string) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// shrinkFor bounds the time for making a script shorter: on real servers, an attempt takes seconds.
const shrinkFor = 2 * time.Minute

// shrink removes parts of a script that the difference does not need: halves first, then smaller and smaller parts.
func shrink(script []action, differs func([]action) bool) []action {
	deadline := time.Now().Add(shrinkFor)
	for size := len(script) / 2; size > 0; size /= 2 {
		for start := 0; start+size <= len(script) && time.Now().Before(deadline); {
			shorter := slices.Concat(script[:start], script[start+size:])
			if differs(shorter) {
				script = shorter
			} else {
				start += size
			}
		}
	}
	return script
}

// compare performs a script at two places and reports a difference as the shortest script that still shows one.
func compare(t *testing.T, seed uint64, script []action, real, ours func(*testing.T) *site) {
	t.Helper()
	differs := func(script []action) bool {
		return difference(perform(real(t), script), perform(ours(t), script)) >= 0
	}
	want, got := perform(real(t), script), perform(ours(t), script)
	at := difference(want, got)
	if at < 0 {
		return
	}
	t.Logf("seed %d, action %d differs: %s\n  real    %s\n  embedded %s", seed, at+1, script[at], want[at], got[at])
	script = shrink(script[:at+1], differs)
	want, got = perform(real(t), script), perform(ours(t), script)
	var text strings.Builder
	for i, a := range script {
		fmt.Fprintf(&text, "  %s\n    %s\n", a, want[i])
	}
	last := max(difference(want, got), 0)
	t.Errorf("seed %d: a real ensemble does this:\n%sbut the embedded server answers action %d with\n    %s", seed, text.String(), last+1, got[last])
}

// awaitQuiet returns when no session of an earlier test is left: its end would be a transaction during the script.
func awaitQuiet(t *testing.T, servers []ensemble.Server) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(100 * time.Millisecond) {
		counters := must.Get(ensemble.Monitor(t.Context(), servers[0]))(t)
		if counters["zk_global_sessions"] == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions are still there", counters["zk_global_sessions"])
		}
	}
}

// Random operations from several sessions have the same replies, stats and notifications on real servers and on the
// embedded one. It takes half a minute, because 10,000 actions wait for the servers one after another.
func TestLiveDifferential(t *testing.T) {
	e := live.Get(t)
	real := func(t *testing.T) *site { return prepare(t, e.Servers()) }
	if s := real(t); !s.zxids {
		t.Skip("servers before 3.9 do not tell which transaction caused a notification")
	}
	awaitQuiet(t, e.Servers())
	first, last := uint64(1), uint64(*seeds)
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	one := func(t *testing.T) *site { return embeddedSite(t, embedded.Config{}) }
	actions := 0
	for seed := first; seed <= last; seed++ {
		script := newScript(seed, *length)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { compare(t, seed, script, real, one) })
		actions += len(script)
	}
	t.Logf("%d actions of %d scripts", actions, last-first+1)
}
