// Package election compares ways to elect a leader, and to find the next one when it has gone.
//
// The promise of all variants: at any moment at most one participant leads; every term has an epoch that is larger than
// the epoch of any earlier term; and when a leader has resigned or lost its session, one of the candidates succeeds it. A
// leader that is cut off learns of it before its session can expire at the server, if the clocks of both run alike. Where
// that is not enough, what it leads must refuse commands of an older epoch than the newest it has seen.
//
// An election is a [session.Lock] on an office: a client campaigns by Acquire and resigns by Release, and the token of a grant is
// the epoch of its term.
//
//	variant            znodes                  cost of one failover with m candidates left
//	poll-1s, poll-50ms <dir>/master  ephemeral  no notification, but m requests per interval for as long as a leader leads
//	master-znode       <dir>/master  ephemeral  m notifications, m attempts of which m-1 fail, m-1 exists
//	leader-watch       <dir>/<guid>-n_<seq>     m notifications, m listings of m children, m-1 getData
//	predecessor-watch  <dir>/<guid>-n_<seq>     1 notification, 1 listing
//	resigned-mark      <dir>/<guid>-n_<seq>     1 notification, and 1 listing if the leader has died
//	acknowledged       <dir>/<guid>-n_<seq>     1 notification, 1 listing, 1 create
//
// Beside <dir>/master stands <dir>/fence, persistent, whose version is the epoch. With acknowledged, a leader that knows that it leads
// has <dir>/acknowledged, ephemeral, which any other client can look at. A leader that crashes is missed only
// when its session has expired, which takes far longer than a failover; the costs are the same then.
package election

import (
	"embed"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Recipe returns the election recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "election",
		Summary: "at most one leader at a time, and a successor when it goes",
		Source:  "ZooKeeper recipes page, Leader Election; Junqueira and Reed, ZooKeeper, chapter 4",
		Variants: []variants.Variant{
			pollVariant(slow), pollVariant(fast), masterZnodeVariant(), leaderWatchVariant(), predecessorWatchVariant(),
			resignedMarkVariant(), acknowledgedVariant(),
		},
		Libraries:   []variants.Variant{CuratorLatch(), Kazoo()},
		JoinDriven:  joinDriven(),
		Phases:      phases(),
		Operation:   phaseResign,
		Workload:    variants.Workload{SingleThreaded: true},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events(),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: phaseFailoverClean, Writes: "1", Reads: "0", Notifications: "(N-1)/N",
			Why: "A resignation must be written, as the next leader learns of it by a notification alone"},
	}
}

const marker = "-n_"

// master returns the znode that only the leader has, with the fence whose version is the epoch.
func master(s *session.Session, dir string) session.FencedNode {
	return session.FencedNode{Session: s, Path: path.Join(dir, "master"), Fence: path.Join(dir, "fence")}
}
