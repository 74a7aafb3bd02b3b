// Package election compares ways to elect a leader, and to find the next one when it has gone.
//
// The promise of all variants: at any moment at most one participant leads; every term has an epoch that is larger than
// the epoch of any earlier term; and when a leader has resigned or lost its session, one of the candidates succeeds it. A
// leader that is cut off learns of it before its session can expire at the server, if the clocks of both run alike. Where
// that is not enough, what it leads must refuse commands of an older epoch than the newest it has seen.
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
//
// Each variant's own comment has the steps and the exact formulas. `zkbench run election-drain` checks the formulas,
// except for the ones of the polling variants, which never come to rest.
package election

import (
	"context"
	"embed"
	"errors"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Election is one client's part in the elections to one office. Its methods may be called concurrently and then run one
// after another.
type Election interface {
	// Campaign waits until the client leads. When ctx ends first, the client withdraws and the context's error comes
	// back within about a second even from a session that does not answer. The withdrawal then continues in the background,
	// and a later Campaign waits for it. session.ErrSessionLost means that the session was lost while the client waited.
	Campaign(ctx context.Context) (Term, error)
	// Resign ends the term; it costs one write, and nothing if the client does not lead. session.ErrSessionLost means that
	// the term had already ended, and that there may have been a successor since. After any other error it is not known
	// whether the client still leads: act as if it did not, and call Resign again.
	Resign(ctx context.Context) error
}

// Term is one time of leading.
type Term struct {
	// Epoch grows with every term. Send it along with every command, so that commands of a deposed leader can be
	// refused.
	Epoch int64
	// Lost is closed when the session is lost or must be assumed to be. The leader must then stop.
	Lost <-chan struct{}
}

// ErrLeading is returned by Campaign to a client that leads already.
var ErrLeading = errors.New("the client leads already")

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
		Libraries:  []variants.Variant{CuratorLatch(), Kazoo()},
		JoinDriven: joinDriven(),
		Phases:     phases(),
		Operation:  phaseResign,
		Workload: variants.Workload{
			CountFrom:      variants.FromLineUp,
			SingleThreaded: true,
		},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events(),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
	}
}

type office struct{ exclusive *session.Exclusive[Term] }

func (o office) Campaign(ctx context.Context) (Term, error) { return o.exclusive.Acquire(ctx) }

func (o office) Resign(ctx context.Context) error { return o.exclusive.Release(ctx) }

// master is shared by the variants with one znode. They differ in when they try to create it.
type master struct {
	office
	node  session.FencedNode
	epoch int64 // while the client leads
}

func (m *master) init(ctx context.Context, s *session.Session, dir string, campaign func(context.Context) (int64, error)) error {
	m.node = session.FencedNode{Session: s, Path: path.Join(dir, "master"), Fence: path.Join(dir, "fence")}
	m.exclusive = session.NewExclusive(s, ErrLeading, func(ctx context.Context) (term Term, err error) {
		if m.epoch, err = campaign(ctx); err != nil {
			return term, err
		}
		return Term{Epoch: m.epoch, Lost: s.Lost()}, nil
	}, func(ctx context.Context) error { return m.node.Give(ctx, m.epoch) })
	return m.node.EnsureFence(ctx)
}

const marker = "-n_"

// sequential is one client's place in the line. The variants that share it differ in how they wait.
type sequential struct {
	office
	tickets.Line
}

func (s *sequential) init(sess *session.Session, dir string, wait func(context.Context, tickets.Ticket) error) {
	s.Line = tickets.New(sess, dir, marker)
	s.exclusive = newOffice(sess, &s.Line, wait)
}

// newOffice returns an office that is held while a ticket is held. The ticket's number is the epoch.
func newOffice(s *session.Session, place tickets.Place, wait func(context.Context, tickets.Ticket) error) *session.Exclusive[Term] {
	return tickets.NewExclusive(s, place, ErrLeading, wait, func(mine tickets.Ticket) Term {
		return Term{Epoch: int64(mine.Seq), Lost: s.Lost()}
	})
}
