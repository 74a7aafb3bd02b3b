package twophasecommit

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Coordinator is the two-phase commit in which only the coordinator watches the votes, and tells the sites the outcome.
//
//  1. The coordinator creates <dir>/tx-<round> with the query in it, and an empty s-<site> below it for each other site,
//     in one multi.
//  2. Each other site reads tx-<round> with a watch, which will fire at the outcome; if it is not there yet, the site
//     waits for it with exists.
//  3. Each of them processes the query, and votes by writing to its own znode. The coordinator's vote needs none.
//  4. The coordinator goes through the sites' znodes: it reads one with a watch and, unless the vote is there, waits and
//     reads again. A slow site costs a notification; a site that has voted by then does not.
//  5. The coordinator writes the outcome over the query, commit if all votes are for it, once.
//  6. The watch from step 2 fires at each site, which reads the outcome.
//
// Cost of one transaction in a lockstep run, where the coordinator votes first and so waits for every site:
//
//	requests       1 multi, 1 outcome, and for each of the N-1 others: its read of the query, its vote, two reads by the
//	               coordinator, its read of the outcome  =  5N-3
//	writes         1 multi, N-1 votes, 1 outcome  =  N+1
//	notifications  N-1 of votes, each to the coordinator alone, and N-1 of the outcome, from one write  =  2(N-1)
//
// In closed mode, a site that comes too early reads the query twice, and asks once whether it exists: 2(N-1) requests
// and N-1 notifications more. A read by the coordinator that finds a vote saves a read and leaves its watch behind, which
// fires when the znode is deleted: with the multi of the transaction after the next, which also wakes those who wait for
// that one, so that it may set off 2(N-1) notifications.
//
// The decision comes two writes after the last vote was sent instead of one. The znodes are persistent, as the
// coordinator creates them: a site that dies before it has voted blocks all others until it joins again, and so does the
// coordinator. The outcome is written only over the query, so that there is never a second one.
//
// Bound: in the outcome phase, any algorithm needs one write, the last vote, and one notification of each other site. If the sites
// are to get fewer than N² notifications, one client must collect the votes and write the outcome: two writes. This variant has two
// writes on its path, each with a notification and a read after it. The first notification and read are the price of a collector
// that is always the coordinator: the last site to vote could read the votes itself.
//
// Source: as written, but with one multi that creates the transaction, and without a znode for the coordinator's vote: ZooKeeper
// recipes page, Two-phased Commit, first remedy.
func Coordinator(sess *session.Session, group Group) Site {
	s := &coordinated{}
	s.site = newSite(sess, group, s)
	return s
}

func coordinatorVariant() variants.Variant {
	return variants.Variant{
		Name:     "coordinator",
		Kind:     variants.Optimized,
		Summary:  "only the coordinator watches the votes, and writes the outcome",
		BadAt:    "failures: a site that dies before it has voted blocks all others until it joins again, as does the coordinator",
		Forgoes:  []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{Requests: "(5N-3)/N", Writes: "(N+1)/N", FailedWrites: "0", Notifications: "2(N-1)/N", HerdMax: "N-1"},
		Free:     variants.Cost{Requests: "(7N-5)/N", Writes: "(N+1)/N", FailedWrites: "0", Notifications: "3(N-1)/N", HerdMax: "2(N-1)"},
		Join:     joinAs(Coordinator),
	}
}
