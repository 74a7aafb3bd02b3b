package revocable

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records in addition to those of package exclusion.
const (
	agreed       = exclusion.Further + iota // value: the grace, after which no client may use force
	agreedForced                            // value: the grace, after which a client may use force
	ousted                                  // a release found that the lock had been taken away by force; value: the token
)

// NewParticipant makes a participant of a lock, which records first what all have agreed upon. It holds until it is asked to give up or
// has held for long enough.
func NewParticipant(l session.Lock, terms variants.EventKind, env variants.Env) variants.Participant {
	env.Record(terms, int64(revocation.Grace))
	return exclusion.NewParticipant(&pliant{Lock: l, env: env}, env)
}

// pliant is a lock whose holder continues when it is forced out, until it notices as it releases.
type pliant struct {
	session.Lock
	env   variants.Env
	token int64
}

func (p *pliant) Acquire(ctx context.Context) (session.Grant, error) {
	grant, err := p.Lock.Acquire(ctx)
	p.token, grant.Lost = grant.Token, p.env.Session.Lost() // which is not closed when it is forced out
	return grant, err
}

func (p *pliant) Release(ctx context.Context) error {
	err := p.Lock.Release(ctx)
	if errors.Is(err, ErrForced) { // the holder was too slow, which is not an error
		p.env.Record(ousted, p.token)
		return nil
	}
	return err
}

func join[L session.Lock](terms variants.EventKind, open func(*session.Session, string) L) variants.JoinFunc {
	return variants.JoinNew(open, func(l L, env variants.Env) variants.Participant { return NewParticipant(l, terms, env) })
}
