package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
)

// acknowledging is how a client's election is opened that should acknowledge its terms.
type acknowledging func(c *client, dir string) election.Election

// acknowledgementProblem lets a leader resign whose successor has won and cannot know it, and returns in words what the acknowledgement
// says wrong on the way.
func acknowledgementProblem(t *testing.T, v venue, open acknowledging) string {
	t.Helper()
	dir, cs := directory(t, v), clients(t, v, 2)
	slow, cable := cabled(t, v, ensemble.SessionTimeout)
	first, second := open(cs[0], dir), open(slow, dir)
	says := func(want string) string {
		t.Helper()
		catchUp(t, cs[1], dir)
		got := "none"
		switch epoch, known, err := election.Leader(testContext(t), cs[1].session(), dir); {
		case err != nil:
			t.Fatal(err)
		case known:
			got = fmt.Sprint("epoch ", epoch)
		}
		if got == want {
			return ""
		}
		return fmt.Sprintf("%s is acknowledged, want %s; ", got, want)
	}
	problems := says("none")
	term, err := first.Campaign(testContext(t))
	must(t, err)
	problems += says(fmt.Sprint("epoch ", term.Epoch))
	ctx := testContext(t)
	elected := background(func() (err error) { term, err = second.Campaign(ctx); return err })
	awaitWaiting(t, slow)
	cable.freeze()
	must(t, first.Resign(testContext(t)))
	if n := contenders(t, cs[1], dir); n != 1 {
		t.Fatalf("%d znodes stand for the successor", n)
	}
	problems += says("none")
	cable.thaw()
	must(t, <-elected)
	problems += says(fmt.Sprint("epoch ", term.Epoch))
	must(t, second.Resign(testContext(t)))
	return problems + says("none")
}

// A leader is acknowledged when it knows that it leads, and no longer than it leads.
func TestAcknowledgementSaysWhoKnows(t *testing.T) {
	onEmbedded(t, func(t *testing.T, v venue) {
		problem := acknowledgementProblem(t, v, func(c *client, dir string) election.Election { return election.NewAcknowledged(c.session(), dir) })
		if problem != "" {
			t.Error(problem)
		}
	})
}

// lasting is a leader that does not take its acknowledgement back.
type lasting struct {
	*election.PredecessorWatch
	conn *zk.Conn
	path string
}

func (l lasting) Campaign(ctx context.Context) (election.Term, error) {
	term, err := l.PredecessorWatch.Campaign(ctx)
	epoch := []byte(strconv.FormatInt(term.Epoch, 10))
	if _, err := l.conn.Create(l.path, epoch, 0, variants.WorldACL()); errors.Is(err, zk.ErrNodeExists) {
		_, err = l.conn.Set(l.path, epoch, -1)
		return term, err
	}
	return term, err
}

// The check above must be able to fail.
func TestWrongAcknowledgementsAreCaught(t *testing.T) {
	t.Parallel()
	v := embeddedVenue(t)
	for _, tt := range []struct {
		name string
		open acknowledging
		want string
	}{
		{"none", func(c *client, dir string) election.Election { return election.NewPredecessorWatch(c.session(), dir) }, "none is acknowledged, want epoch 0"},
		{"one that lasts", func(c *client, dir string) election.Election {
			return lasting{election.NewPredecessorWatch(c.session(), dir), c.conn, dir + "/acknowledged"}
		}, "epoch 0 is acknowledged, want none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v.begin(t)
			if got := acknowledgementProblem(t, v, tt.open); !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

// After a fault at the write that acknowledges, the client leads or leaves nothing behind, and the next one can acknowledge.
func TestAcknowledgementFaults(t *testing.T) {
	t.Parallel()
	v := embeddedVenue(t)
	for _, tt := range writeFaults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, cs := directory(t, v), clients(t, v, 2)
			hit, next := election.NewAcknowledged(cs[0].session(), dir), election.NewAcknowledged(cs[1].session(), dir)
			trap := embeddedServer(t, v).Inject(embedded.Fault{Session: cs[0].conn.SessionID(), Op: wire.OpCreate, Nth: 2, Do: tt.do})
			term, err := hit.Campaign(testContext(t))
			<-trap.Fired()
			if tt.lost {
				wantError(t, "Campaign", err, variants.ErrSessionLost)
			} else {
				must(t, err)
				mustHaveAcknowledged(t, cs[1], dir, term)
				must(t, hit.Resign(testContext(t)))
			}
			term, err = next.Campaign(testContext(t))
			must(t, err)
			mustHaveAcknowledged(t, cs[1], dir, term)
			must(t, next.Resign(testContext(t)))
			mustBeEmpty(t, v, dir)
		})
	}
}

// A client that gives up while it acknowledges takes both znodes back.
func TestAcknowledgementOfAClientThatGivesUp(t *testing.T) {
	t.Parallel()
	v := embeddedVenue(t)
	dir := directory(t, v)
	c := clients(t, v, 1)[0]
	ctx, cancel := context.WithCancel(testContext(t))
	dropping := &droppedCreate{Conn: c.conn, nth: 2, then: cancel}
	hit := election.NewAcknowledged(variants.NewSession(dropping, c.monitor.Lost()), dir)
	_, err := hit.Campaign(ctx)
	wantError(t, "Campaign", err, context.Canceled)
	mustBeEmpty(t, v, dir)
}

// droppedCreate is a session in which the reply to the nth create is lost.
type droppedCreate struct {
	variants.Conn
	nth  int
	then func()
}

func (d *droppedCreate) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := d.Conn.Create(path, data, flags, acl)
	if d.nth--; d.nth == 0 {
		d.then()
		return "", zk.ErrConnectionClosed
	}
	return created, err
}

func mustHaveAcknowledged(t *testing.T, c *client, dir string, term election.Term) {
	t.Helper()
	if epoch, known, err := election.Leader(testContext(t), c.session(), dir); err != nil || !known || epoch != term.Epoch {
		t.Errorf("epoch %d is acknowledged (%v, %v), want %d", epoch, known, err, term.Epoch)
	}
}
