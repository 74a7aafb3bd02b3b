// Package doublebarrier compares four ways to let a group of clients begin a computation together, and end it together.
//
// The promise of all variants, round after round: no client starts before all have entered, and no client is let out
// before all have finished. A client that dies in a round counts as finished, since its znode ends with its session.
//
// With N clients, one round costs
//
//	variant         znodes                                                notifications  requests
//	children-watch  <dir>/<guid>-member-<number>                          N(N+1)         N(N+3)
//	ready-race      <dir>/<guid>-member-<number>, <dir>/ready             2N             7N+1
//	ready-node      <dir>/<guid>-member-<number>, <dir>/ready             2N             7N+1
//	counted         <dir>/<guid>-member-<number>, <dir>/anchor, ephemeral 2N-1           4N+1
//
// A barrier that is used again invites two mistakes. A fast client may be back, for the next round, before a slow one
// has seen the last of this round go: the slow one must not take the new znode for one that it still has to wait for
// (ZOOKEEPER-1011). And a fast client may leave before a slow one has seen that all had come: the slow one must not wait
// for it to come. The variants tell rounds apart by the numbers of the znodes, and by what stays behind when a client leaves.
//
// A client that dies after it has entered counts as entered as long as its session lasts: the round may begin with it. Then
// the client is missing until it is back with a new session, or until another takes its place. The others wait as long as
// their contexts let them. A client that is back while a round is under way waits for the next one. In children-watch it cannot
// always know, and may start too early: this variant keeps its promise only as long as no client fails.
//
// A member that is back deletes the znodes of its earlier session first (see [Group]), so that the group does not count it twice. A
// request of that session may still be on its way, and reach the server later. A znode that it creates then counts until that session
// has run out, or opens a later round, so that a round may begin before all have entered. No variant prevents that: each write of a
// member would have to check a version that its next session has raised.
//
// A step of the workload takes a client through one round of as many barriers as the size says: it enters them all, one after
// another, and then leaves them in the same order. A client that fails in such a series, and is back, cannot know at which barrier
// the others are. So a load with faults has one barrier.
package doublebarrier

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Group says which clients a barrier is for.
type Group struct {
	Dir  string // an existing znode, persistent, and the group's alone
	Size int    // how many take part in each round
	// Member is the client's own name in the group, which it keeps in its next session. A client with a name deletes what its
	// earlier session has left. One without a name must not come back before that session has run out.
	Member string
}

// Barrier is one client's view of a double barrier. Its methods may be called concurrently and then run one after
// another.
type Barrier interface {
	// Enter waits until the whole group has entered. When it fails the client has withdrawn, and may try again.
	Enter(ctx context.Context) error
	// Leave says that the client has finished, and waits until the whole group has. It cannot be undone: when ctx ends
	// first, the client waits on by calling Leave again.
	Leave(ctx context.Context) error
	// Close gives up all that the client has, without waiting for the others, as its death would.
	Close(ctx context.Context) error
	// Round returns the number of the round that the client is in, or enters next, as far as it knows. The first round has
	// number 0.
	Round() int64
}

// The errors of calls that are not possible at the moment.
var (
	// ErrInside is returned by Enter to a client that has entered and not left yet.
	ErrInside = errors.New("the barrier has been entered already")
	// ErrOutside is returned by Leave to a client that has not entered.
	ErrOutside = errors.New("the barrier has not been entered")
)

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "doublebarrier",
		Summary:     "no client starts before all have entered, none leaves before all have finished",
		Source:      "ZooKeeper recipes page, Double Barriers",
		Variants:    []variants.Variant{childrenWatchVariant(), readyRaceVariant(), readyNodeVariant(), countedVariant()},
		JoinDriven:  joinDriven(),
		DrivenFixed: true, // nothing tells a client that comes back which round the others are in
		Broken:      []variants.Variant{Curator(), Kazoo()},
		Phases:      phases(),
		Operation:   phaseLeave,
		Workload: variants.Workload{
			Collective:  true,
			Size:        "barriers that each client enters in a step, one after another, before it leaves them all",
			SizeIsBatch: true,
		},
		Losses: []variants.Loss{variants.OutOfStep, variants.Blocked},
		Events: []string{
			"joins", "begins to enter", "believes that all are in", "begins to leave", "believes that all have finished", "gives up",
		},
		Calls:       []variants.EventKind{arrived, finished},
		NewObserver: func(out variants.Findings) variants.Observer { return append(out.Timed(phases()), &series{out: out}) },
		Code:        code,
		Prepare:     prepare,
		Bound: variants.Bound{Phase: phaseLeave, Writes: "2 (0 for N=1)", Reads: "0", Notifications: "2(N-1)/N",
			Why: "Each client must write that it has entered and that it has finished; of the last to do so, all others are notified"},
	}
}
