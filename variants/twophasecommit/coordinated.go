package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// coordinated is shared by the variants in which the coordinator collects the votes. They differ in the znodes that the
// sites vote in.
type coordinated struct {
	site
	ephemeral bool           // the sites vote in their own znodes, as in [CoordinatorEphemeral]
	watch     *session.Watch // on the transaction, at sites other than the coordinator
	verdict   Decision       // at the coordinator: the outcome that it writes, and no longer changes
}

func (c *coordinated) ballot(round int64, site int) string {
	if c.ephemeral {
		return c.member(site)
	}
	return c.site.ballot(round, site)
}

func (c *coordinated) member(site int) string {
	return path.Join(c.group.Dir, fmt.Sprintf("site-%d", site))
}

// prefix returns the beginning of each vote in a round.
func (c *coordinated) prefix(round int64) string {
	if c.ephemeral {
		return fmt.Sprintf("%d ", round)
	}
	return ""
}

func (c *coordinated) begin(int64) { c.watch, c.verdict = nil, "" }

// prepare opens the transaction, or waits for it. The watch that it sets is for the outcome.
func (c *coordinated) prepare(ctx context.Context, t *Transaction) error {
	if c.coordinates() {
		ballots := slots(1, c.group.Sites)
		if c.ephemeral {
			ballots = nil
		}
		return c.open(ctx, t, ballots, t.Round-1)
	}
	return c.await(ctx, func(tx string) error {
		query, stat, watch, err := c.session.GetW(ctx, tx)
		if err == nil && stat.Version > 0 {
			return session.Attempted("read "+tx, ErrDecided) // the outcome was read in place of the query
		}
		t.Query, c.watch = query, watch
		return session.Attempted("read "+tx, err)
	})
}

// resume returns the outcome of a transaction, or prepares it if there is none.
func (c *coordinated) resume(ctx context.Context, t *Transaction) (Decision, error) {
	var r reading
	var err error
	if tx := c.transaction(t.Round); c.coordinates() {
		r, err = c.read(ctx, tx)
	} else {
		r, err = c.observe(ctx, tx, &c.watch)
	}
	if err != nil || r.written {
		return Decision(r.data), err
	}
	t.Query = []byte(r.data)
	if c.coordinates() {
		return "", nil // no site knows an outcome, so that it may collect the votes again
	}
	r, err = c.read(ctx, c.ballot(t.Round, c.group.Site))
	if vote, ours := strings.CutPrefix(r.data, c.prefix(t.Round)); ours {
		c.vote = Decision(vote)
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
		r, err := c.observe(ctx, tx, &c.watch)
		if err != nil || r.written {
			return Decision(r.data), withdrawn(err)
		}
	}
}

// cast writes this site's vote. A later call may write it again: the vote stays the same.
func (c *coordinated) cast(ctx context.Context, round int64) error {
	err := c.write(ctx, c.ballot(round, c.group.Site), c.prefix(round)+string(c.vote))
	if c.ephemeral && errors.Is(err, zk.ErrNoNode) {
		return session.ErrSessionLost
	}
	return withdrawn(err)
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

// voteOf waits for the vote of a site. With ephemeral ballots, a site whose ballot is gone is dead.
func (c *coordinated) voteOf(ctx context.Context, other int) (Decision, error) {
	var watch *session.Watch
	round := c.current.Round
	for {
		r, err := c.observe(ctx, c.ballot(round, other), &watch)
		vote, ours := strings.CutPrefix(r.data, c.prefix(round))
		switch {
		case c.ephemeral && errors.Is(err, zk.ErrNoNode):
			return Abort, nil
		case err != nil:
			return "", withdrawn(err)
		case ours && vote != "":
			return Decision(vote), nil
		}
	}
}
