package twophasecommit

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// coordinated is shared by the variants in which the coordinator collects the votes. They differ in the znodes that the
// sites vote in.
type coordinated struct {
	site
	ballots
	watch   *session.Watch // on the transaction, at sites other than the coordinator
	verdict Decision       // at the coordinator: the outcome that it writes, and no longer changes
}

// ballots describe the znodes that the sites vote in.
type ballots struct {
	children []string                           // below the transaction, made with it
	path     func(round int64, site int) string // of a site's ballot
	prefix   func(round int64) string           // the beginning of a vote in this round
	missing  func() (Decision, error)           // how the vote of a site counts if its ballot is missing
	gone     error                              // returned if the site's own ballot is missing
}

func (c *coordinated) begin(int64) { c.watch, c.verdict = nil, "" }

// prepare opens the transaction, or waits for it. The watch that it sets is for the outcome.
func (c *coordinated) prepare(ctx context.Context, t *Transaction) error {
	if c.coordinates() {
		return c.open(ctx, t, c.children, t.Round-1)
	}
	return c.await(ctx, func(tx string) error {
		query, stat, watch, err := c.session.GetW(ctx, tx)
		if err == nil && stat.Version > 0 {
			return ErrDecided // the outcome was read in place of the query
		}
		t.Query, c.watch = query, watch
		return err
	})
}

// resume returns the outcome of a transaction, or prepares it if there is none.
func (c *coordinated) resume(ctx context.Context, t *Transaction) (Decision, error) {
	read := c.readW
	if c.coordinates() {
		read = c.read
	}
	r, err := read(ctx, c.transaction(t.Round))
	if err != nil || r.written {
		return Decision(r.data), err
	}
	t.Query = []byte(r.data)
	if c.coordinates() {
		return "", nil // no site knows an outcome, so that it may collect the votes again
	}
	c.watch = r.watch
	c.vote, err = c.recall(ctx, t.Round)
	return "", err
}

func (c *coordinated) recall(ctx context.Context, round int64) (Decision, error) {
	r, err := c.read(ctx, c.path(round, c.group.Site))
	if text, ours := strings.CutPrefix(r.data, c.prefix(round)); ours && err == nil {
		return Decision(text), nil
	}
	return "", err
}

func (c *coordinated) decide(ctx context.Context) (Decision, error) {
	if c.coordinates() {
		return c.conclude(ctx)
	}
	round := c.current.Round
	if err := c.cast(ctx, round); err != nil {
		return "", err
	}
	tx := c.transaction(round)
	for {
		if c.watch == nil {
			r, err := c.readW(ctx, tx)
			if err != nil || r.written {
				return Decision(r.data), withdrawn(err)
			}
			c.watch = r.watch
		}
		if err := c.session.Await(ctx, c.watch); err != nil {
			return "", err
		}
		c.watch = nil
		r, err := c.read(ctx, tx)
		if err != nil || r.written {
			return Decision(r.data), withdrawn(err)
		}
	}
}

// cast writes this site's vote. A later call may write it again: the vote stays the same.
func (c *coordinated) cast(ctx context.Context, round int64) error {
	err := c.write(ctx, c.path(round, c.group.Site), c.prefix(round)+string(c.vote))
	if errors.Is(err, zk.ErrNoNode) {
		return c.gone
	}
	return err
}

// conclude collects the votes and writes the outcome. Once it has begun to write, it never collects again: a site whose
// vote it has counted may have died by then.
func (c *coordinated) conclude(ctx context.Context) (Decision, error) {
	if c.verdict == "" {
		verdict := c.vote
		for other := 1; other < c.group.Sites; other++ {
			vote, err := c.voteOf(ctx, other)
			if err != nil {
				return "", err
			}
			if vote != Commit {
				verdict = Abort
			}
		}
		c.verdict = verdict
	}
	return c.announce(ctx)
}

// announce writes the outcome, unless there is one. A former process of the coordinator may have written it later than it could
// know, as when its server was stopped for a while. The first outcome stands.
func (c *coordinated) announce(ctx context.Context) (Decision, error) {
	tx := c.transaction(c.current.Round)
	_, err := c.session.Set(ctx, tx, []byte(c.verdict), 0)
	if errors.Is(err, zk.ErrBadVersion) {
		r, err := c.read(ctx, tx)
		return Decision(r.data), withdrawn(err)
	}
	return c.verdict, withdrawn(session.Attempted("write "+tx, err))
}

func (c *coordinated) voteOf(ctx context.Context, other int) (Decision, error) {
	ballot := c.path(c.current.Round, other)
	for {
		r, err := c.readW(ctx, ballot)
		if vote, known, err := c.count(r, err); err != nil || known {
			return vote, err
		}
		if err := c.session.Await(ctx, r.watch); err != nil {
			return "", err
		}
		r, err = c.read(ctx, ballot)
		if vote, known, err := c.count(r, err); err != nil || known {
			return vote, err
		}
	}
}

// count returns the vote in a ballot; known is false if there is none in this round yet.
func (c *coordinated) count(r reading, err error) (vote Decision, known bool, _ error) {
	if errors.Is(err, zk.ErrNoNode) {
		vote, err := c.missing()
		return vote, true, err
	}
	if err != nil {
		return "", false, err
	}
	text, ours := strings.CutPrefix(r.data, c.prefix(c.current.Round))
	return Decision(text), ours && text != "", nil
}
