package twophasecommit

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are rounds, or rounds and decisions: "round:decision".
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"joined": joined, "began": began, "prepared": prepared, "voted": voted, "decided": decided, "failed": failed,
		},
		Value: func(t testing.TB, _ string, parts []string) int64 {
			value := variantstest.Number(t, parts[0])
			if len(parts) > 1 {
				value = stamp(value, Decision(parts[1]))
			}
			return value
		},
	}
}

func TestCheck(t *testing.T) {
	const two = "0:joined:2 1:joined:2 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"all commit", two + "0:voted:0:commit 1:voted:0:commit 1:decided:0:commit 0:decided:0:commit", ""},
		{"all abort", two + "0:voted:0:abort 1:voted:0:commit 1:decided:0:abort 0:decided:0:abort", ""},
		{"a vote after the abort", two + "0:voted:0:abort 0:decided:0:abort 1:voted:0:commit 1:decided:0:abort", ""},
		{"one transaction each way", two + "0:voted:0:commit 1:voted:0:commit 1:decided:0:commit 1:voted:1:abort 0:decided:0:commit 0:voted:1:commit 0:decided:1:abort 1:decided:1:abort", ""},
		{"a site that has not decided yet", two + "0:voted:0:commit 1:voted:0:commit 1:decided:0:commit", ""},
		{"a site that died", two + "0:voted:0:commit 1:began:0 1:failed:0 0:decided:0:abort", ""},
		{"a site that died after its vote", two + "0:voted:0:commit 1:voted:0:commit 0:decided:0:abort 1:failed:0", ""},
		{"a site that has been dead for long", two + "0:voted:7:commit 0:decided:7:abort", ""},
		{"the right query", two + "1:began:0 1:prepared:0 1:voted:0:commit 1:decided:0:abort 1:began:1 1:prepared:1", ""},
		{
			"the query of another transaction", two + "1:began:1 1:prepared:0",
			"site 1 was given the query of transaction 0 in transaction 1",
		},
		{
			"they differ", two + "0:voted:3:commit 1:voted:3:commit 0:decided:3:commit 1:decided:3:abort",
			"site 1 decided to abort transaction 3, and site 0 to commit it",
		},
		{
			"they differ the other way", two + "0:voted:3:commit 1:voted:3:commit 0:failed:3 1:decided:3:abort 0:decided:3:commit",
			"site 0 decided to commit transaction 3, and site 1 to abort it",
		},
		{
			"commit against a vote", two + "0:voted:0:commit 1:voted:0:abort 0:decided:0:commit 1:decided:0:commit",
			"site 0 committed transaction 0, which site 1 had voted to abort | site 1 committed transaction 0",
		},
		{
			"commit before a vote", two + "0:voted:0:commit 0:decided:0:commit 1:voted:0:commit 1:decided:0:commit",
			"site 0 committed transaction 0 before site 1 had voted",
		},
		{
			"commit without a site that nobody heard of", "0:joined:3 1:joined:3 0:voted:0:commit 1:voted:0:commit 0:decided:0:commit",
			"site 0 committed transaction 0 before site 2 had voted",
		},
		{
			"abort for nothing", two + "0:voted:2:commit 1:voted:2:commit 0:decided:2:abort 1:decided:2:abort",
			"transaction 2 was aborted, although every site had voted to commit it",
		},
		{
			"a failure in another transaction excuses nothing", two + "1:failed:1 0:voted:2:commit 1:voted:2:commit 0:decided:2:abort",
			"transaction 2 was aborted",
		},
		{
			"decided twice", two + "0:voted:0:commit 1:voted:0:commit 0:decided:0:commit 0:decided:0:commit",
			"site 0 decided transaction 0 twice",
		},
	})
}

func TestStamp(t *testing.T) {
	for _, d := range []Decision{Commit, Abort} {
		for _, round := range []int64{0, 1, 2, 1 << 40} {
			if gotRound, got := unstamp(stamp(round, d)); gotRound != round || got != d {
				t.Errorf("unstamp(stamp(%d, %s)) = %d, %s", round, d, gotRound, got)
			}
		}
	}
}

// Both outcomes occur, and every site is against a transaction some time.
func TestVotes(t *testing.T) {
	for _, sites := range []int{1, 2, 3, 7} {
		against := map[int]int{}
		for round := range int64(5 * sites * 2) {
			no := 0
			for site := range sites {
				if voteOf(round, site, sites) == Abort {
					against[site]++
					no++
				}
			}
			if want := map[bool]int{true: 1, false: 0}[round%5 == 4]; no != want {
				t.Errorf("%d sites, transaction %d: %d are against it, want %d", sites, round, no, want)
			}
		}
		for site := range sites {
			if against[site] != 2 {
				t.Errorf("%d sites: site %d was against %d transactions, want 2", sites, site, against[site])
			}
		}
	}
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"site 0 begins the next transaction before site 1 has decided the first",
		"0:began:0 0:prepared:0 1:began:0 1:prepared:0 0:voted:0:commit 1:voted:0:commit 0:decided:0:commit 0:began:1 1:decided:0:commit",
		"prepare(0)=1ms prepare(1)=1ms hold(0)=3ms hold(1)=2ms decide(0)=2ms decide(1)=3ms outcome(0)=1ms outcome(1)=3ms",
	}})
}

// bench is a few znodes and their one-shot watches.
type bench struct {
	variantstest.Counts
	armed map[string]map[int]bool
	woken []int // by the last write
}

func (b *bench) read(site int, znode string, watch bool) {
	b.Read(1)
	if watch {
		if b.armed[znode] == nil {
			b.armed[znode] = map[int]bool{}
		}
		b.armed[znode][site] = true
	}
}

func (b *bench) write(znode string) {
	b.woken = nil
	for site := range b.armed[znode] {
		b.woken = append(b.woken, site)
	}
	delete(b.armed, znode)
	b.Write(len(b.woken))
}

// simulate walks through one transaction.
func simulate(variant string, n int) variantstest.Counts {
	b := &bench{Counts: variantstest.Counts{Operations: float64(n)}, armed: map[string]map[int]bool{}}
	b.write("tx") // the multi that opens it; nobody watches yet
	all := variant == "all-watch"
	for site := range n {
		if site > 0 {
			b.read(site, "tx", !all)
		}
		for other := range n {
			if all && other != site {
				b.read(site, slot(other), true)
			}
		}
	}
	for site := range n {
		switch {
		case all:
			b.write(slot(site))
			for _, woken := range b.woken {
				b.read(woken, slot(site), false)
			}
		case site > 0: // the coordinator waits for one vote after another
			b.read(0, slot(site), true)
			b.write(slot(site))
			for _, woken := range b.woken {
				b.read(woken, slot(site), false)
			}
		}
	}
	if !all {
		b.write("tx")
		for _, woken := range b.woken {
			b.read(woken, "tx", false)
		}
	}
	return b.Counts
}

func TestSteppedCostsMatchASimulation(t *testing.T) {
	variantstest.LockstepCosts(t, Recipe(), simulate, "all-watch", "coordinator", "coordinator-ephemeral")
}

func TestFreeCostsBoundSteppedOnes(t *testing.T) { variantstest.FreeCosts(t, Recipe()) }
