package tickets

import (
	"context"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// BackToBack is a line in which a client sends its first listing right behind its create, without waiting for the reply. It must
// not be copied.
type BackToBack struct {
	Line
	first []string // the children in the listing behind the last create; nil if it failed
}

// Enter takes an ephemeral ticket, and lists the line in the same round trip.
func (b *BackToBack) Enter(ctx context.Context) (Ticket, error) { return b.enter(ctx, b.createAndList) }

func (b *BackToBack) createAndList(ctx context.Context, mark string) (t Ticket, err error) {
	prefix := path.Join(b.Dir, mark+b.Marker)
	created, children, err := b.Session.CreateThenChildren(ctx, prefix, nil, zk.FlagEphemeral|zk.FlagSequence, b.Dir)
	b.first = children
	if err == nil {
		t, _ = Parse(path.Base(created), b.Marker)
	}
	return t, session.Attempted("create a ticket in "+b.Dir, err)
}

// AwaitTurn waits like [Line.AwaitTurn], but begins with the listing behind the create. If that listing failed or
// lacks mine, the line is listed again: a listing without mine is older than the ticket because a connection was lost.
func (b *BackToBack) AwaitTurn(ctx context.Context, mine Ticket) error {
	predecessor, waiting, err := b.Predecessor(mine, b.first)
	if err != nil {
		return b.Line.AwaitTurn(ctx, mine)
	}
	if !waiting {
		return nil
	}
	if err := b.AwaitWatch(ctx, predecessor); err != nil {
		return err
	}
	return b.Line.AwaitTurn(ctx, mine)
}
