package twophasecommit

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are rounds, or rounds and decisions: "round:decision".
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"joined": joined, "began": began, "prepared": prepared, "voted": voted, "decided": decided, "failed": failed, "learned": learned,
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
	const two = "0-1:joined:2 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"all commit", two + "0-1:voted:0:commit 1:decided:0:commit 0:decided:0:commit", ""},
		{"all abort", two + "0:voted:0:abort 1:voted:0:commit 1:decided:0:abort 0:decided:0:abort", ""},
		{"a vote after the abort", two + "0:voted+decided:0:abort 1:voted:0:commit 1:decided:0:abort", ""},
		{"one transaction each way", two + "0-1:voted:0:commit 1:decided:0:commit 1:voted:1:abort 0:decided:0:commit 0:voted:1:commit 0-1:decided:1:abort", ""},
		{"a site that has not decided yet", two + "0-1:voted:0:commit 1:decided:0:commit", ""},
		{"a site that died", two + "0:voted:0:commit 1:began+failed:0 0:decided:0:abort", ""},
		{"a site that died after its vote", two + "0-1:voted:0:commit 0:decided:0:abort 1:failed:0", ""},
		{"an abort before all have voted", "0-2:joined:3 0:voted:0:commit 1:voted:0:abort 0:decided:0:abort 0:voted:1:commit 1:decided:0:abort", ""},
		{"the right query", two + "1:began+prepared:0 1:voted+decided:0:abort 1:began+prepared:1", ""},
		{"the query of another transaction", two + "1:began:1 1:prepared:0",
			"site 1 was given the query of transaction 0 in transaction 1"},
		{"they differ", two + "0-1:voted:3:commit 0:decided:3:commit 1:decided:3:abort",
			"site 1 decided to abort transaction 3, and site 0 to commit it"},
		{"they differ the other way", two + "0-1:voted:3:commit 0:failed:3 1:decided:3:abort 0:decided:3:commit",
			"site 0 decided to commit transaction 3, and site 1 to abort it"},
		{"commit against a vote", two + "0:voted:0:commit 1:voted:0:abort 0-1:decided:0:commit",
			"site 0 committed transaction 0, which site 1 had voted to abort | site 1 committed transaction 0"},
		{"commit before a vote", two + "0:voted+decided:0:commit 1:voted+decided:0:commit",
			"site 0 committed transaction 0 before site 1 had voted"},
		{"commit without a site that no other heard of", "0-1:joined:3 0-1:voted:0:commit 0:decided:0:commit",
			"site 0 committed transaction 0 before site 2 had voted"},
		{"abort for nothing", two + "0-1:voted:2:commit 0-1:decided:2:abort",
			"transaction 2 was aborted, although every site had voted to commit it"},
		{"a failure in another transaction explains nothing", two + "1:failed:1 0-1:voted:2:commit 0:decided:2:abort",
			"transaction 2 was aborted, although every site had voted to commit it"},
		{"abort before the first vote to abort", two + "0:voted:2:commit 0:decided:2:abort 1:voted+decided:2:abort",
			"transaction 2 was aborted before any site had voted to abort it"},
		{"abort without a vote to abort, and without all votes", two + "0:voted:7:commit 0:decided:7:abort",
			"transaction 7 was aborted before any site had voted to abort it"},
		{"decided twice", two + "0-1:voted:0:commit 0:decided+decided:0:commit", "site 0 decided transaction 0 twice"},
	})
}

// A site is the same one in all its lives.
func TestCheckOfLives(t *testing.T) {
	const (
		two     = "0-1:joined:2 0-1:began+prepared:0 "
		again   = "1:rejoined 1:joined:2 "
		rounds  = "0:began:1 0:voted:1:commit 0:decided:1:abort 0:began:2 0:voted:2:commit 0:decided:2:abort 0:began:3 0:voted:3:commit 0:decided:3:abort "
		further = rounds + "0:began:4 0:voted:4:commit 0:decided:4:abort 0:began:5 0:voted:5:commit 0:decided:5:abort "
	)
	builder := teller()
	builder.Verbatim = true
	builder.Check(t, variantstest.Forgoing(Recipe()), []variantstest.Case{
		{"blocked until it is back", two + "0:voted:0:commit 1:died " + again + "1:began+prepared:0 1:voted:0:commit 0-1:decided:0:commit", ""},
		{"it votes again", two + "0-1:voted:0:commit 1:died " + again + "1:began:0 1:voted+decided:0:commit 0:decided:0:commit", ""},
		{"it decides again", two + "0-1:voted:0:commit 1:decided:0:commit 1:died " + again + "1:began:0 1:decided:0:commit 0:decided:0:commit", ""},
		{"it learns the outcome", two + "0-1:voted:0:commit 1:died 0:decided:0:commit 0:began:1 1:rejoined 1:learned:0:commit 1:joined:2", ""},
		{"a decision that its client did not live to record", two + "0-1:voted:0:commit 0:died+rejoined 0:learned:0:commit 0:joined:2 1:decided:0:commit", ""},
		{"it has been dead for long", two + "1:died 0:voted:7:commit 0:decided:7:abort", ""},
		{"it goes on with a transaction that has been forgotten", two + "1:voted:0:abort 1:died 0:voted:0:commit 0:decided:0:abort " + further + "0:began:6 1:rejoined 1:joined:2 1:began:1 1:voted:1:commit 1:decided:1:abort", ""},
		{"its death aborts", two + "0:voted:0:commit 1:died 0:decided:0:abort", ""},
		{"its death after its vote aborts", two + "0-1:voted:0:commit 0:decided:0:abort 1:lost", ""},
		{"it votes late, after an abort for its death", two + "0:voted:0:commit 1:died 0:decided:0:abort " + again + "1:began:0 1:voted:0:commit 1:decided:0:abort", ""},
		{"it joins while a transaction is aborted without it", two + "1:died 0:voted:0:commit 0:decided:0:abort 1:rejoined 0:began:1 0:voted:1:commit 0:decided:1:abort 1:joined:2 1:began:1 1:voted:1:commit 1:decided:1:abort", ""},
		{"it has missed the outcome", two + "0-1:voted:0:commit 1:died 0:decided:0:commit " + further + again + "1:began:5 1:voted:5:commit 1:decided:5:abort", ""},
		{"committed without the vote of a dead site", two + "0:voted:0:commit 1:died 0:decided:0:commit",
			"site 0 committed transaction 0 before site 1 had voted"},
		{
			"decided otherwise than before its death", two + "0:voted:0:abort 1:voted:0:commit 1:decided:0:abort 1:died " + again + "1:began:0 1:decided:0:commit",
			"site 1 decided to commit transaction 0, and site 1 to abort it | site 1 committed transaction 0, which site 0 had voted to abort",
		},
		{"learned otherwise", two + "0-1:voted:0:commit 1:died 0:decided:0:commit 1:rejoined 1:learned:0:abort 1:joined:2",
			"site 1 decided to abort transaction 0, and site 0 to commit it"},
		{"decided otherwise than the dead site", two + "0-1:voted:0:commit 1:decided:0:commit 1:died 0:decided:0:abort",
			"site 0 decided to abort transaction 0, and site 1 to commit it"},
		{
			"decided otherwise long after its death", two + "0-1:voted:0:commit 1:died 0:decided:0:commit " + further + again + "1:began:0 1:decided:0:abort",
			"site 1 decided to abort transaction 0, and site 0 to commit it",
		},
		{"voted otherwise than before its death", two + "1:voted:0:commit 1:died " + again + "1:began:0 1:voted:0:abort",
			"site 1 voted to abort transaction 0, after it had voted to commit it"},
		{
			"a failure long ago explains nothing", two + "0:voted:0:commit 1:died 0:decided:0:abort " + again + "0-1:began:1 0-1:voted:1:commit 0-1:decided:1:abort",
			"transaction 1 was aborted, although every site had voted to commit it",
		},
	})
}

func TestBlocked(t *testing.T) {
	const two = "0-1:joined:2 0-1:began+prepared:0 "
	builder := teller()
	builder.Damage(t, Recipe(), []variantstest.Case{
		{"no failure", two + "0:voted:0:commit - - - 1:voted:0:commit 0-1:decided:0:commit", ""},
		{"until the dead site is back", two + "0:voted:0:commit - 1:died - 1:rejoined 1:joined:2 1:began+prepared:0 1:voted:0:commit 0:decided:0:commit", "blocked-ns=7000000"},
		{"dead before the other one voted", two + "1:died - - 0:voted:0:commit - 0:decided:0:abort", "blocked-ns=2000000"},
		{"at the beginning of the next one", two + "0:voted:0:commit 0:lost 1:voted+decided:0:commit 1:began:1 - - 0:rejoined 0:joined:2 1:prepared:1", "blocked-ns=1000000 blocked-ns=5000000"},
		{"it is back before the wait", two + "1:died+rejoined 1:joined:2 0:voted:0:commit 1:began+prepared:0 1:voted:0:commit 0:decided:0:commit", ""},
		{"its own failure", two + "0:voted:0:commit 0:died - 0:rejoined 0:joined:2 0:began+prepared:0 0-1:voted:0:commit 0:decided:0:commit", ""},
	})
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		if i == 0 {
			return "0-1:joined:2"
		}
		return fmt.Sprintf("0-1:began+prepared:%[1]d 0-1:voted+decided:%[1]d:commit", i)
	})
}

// A site is dead for many transactions, again and again, and has each time voted just before.
func TestObserverMemoryOfLives(t *testing.T) {
	const lifetime = 1000
	teller().ObserverMemory(t, variantstest.Forgoing(Recipe()), func(i int) string {
		alone := fmt.Sprintf("0:began+prepared:%[1]d 0:voted:%[1]d:commit 0:decided:%[1]d:abort", i)
		switch {
		case i == 0:
			return "0-1:joined:2"
		case i%lifetime == 0:
			return "1:rejoined 1:joined:2"
		case i%lifetime == 10:
			return alone + fmt.Sprintf(" 1:began:%[1]d 1:voted:%[1]d:commit 1:died", i)
		case i%lifetime > 10:
			return alone
		default:
			return fmt.Sprintf("0-1:began+prepared:%[1]d 0-1:voted+decided:%[1]d:commit", i)
		}
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
				if voteOf(round, site, sites, 1) == Abort {
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

// With a larger size, a site is against so many transactions in a row.
func TestVotesInARow(t *testing.T) {
	const sites, size, none = 3, 10, -1
	for round, against := range map[int64]int{
		0: none, 3: none, 4: 0, 13: 0, 14: none, 53: none, 54: 1, 63: 1, 64: none, 104: 2, 113: 2, 114: none, 154: 0,
	} {
		for site := range sites {
			want := map[bool]Decision{true: Abort, false: Commit}[site == against]
			if got := voteOf(round, site, sites, size); got != want {
				t.Errorf("site %d votes to %s transaction %d, want %s", site, got, round, want)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"site 0 begins the next transaction before site 1 has decided the first",
		"0:began+prepared:0 1:began+prepared:0 0-1:voted:0:commit 0:decided:0:commit 0:began:1 1:decided:0:commit",
		"prepare(0)=1ms prepare(1)=1ms hold(0)=3ms hold(1)=2ms decide(0)=2ms decide(1)=3ms outcome(0)=1ms outcome(1)=3ms",
	}})
}
