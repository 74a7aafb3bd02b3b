package conformance_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/session"
)

// A leader is acknowledged when it knows that it leads, and no longer than it leads: the successor of one that resigns may have won and not
// know it yet.
func TestAcknowledgementSaysWhoKnows(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 2)
		slow, cable := cabled(t, v, ensemble.SessionTimeout)
		first, second := election.NewAcknowledged(cs[0].session(), dir), election.NewAcknowledged(slow.session(), dir)
		noLeader := func() {
			t.Helper()
			catchUp(t, cs[1], dir)
			if epoch, known, err := election.Leader(testContext(t), cs[1].session(), dir); err != nil || known {
				t.Errorf("epoch %d is acknowledged (%v), want none", epoch, err)
			}
		}
		noLeader()
		term, err := first.Acquire(testContext(t))
		must(t, err)
		mustHaveAcknowledged(t, cs[1], dir, term)
		elected := acquires(testContext(t), second)
		awaitWaiting(t, slow)
		cable.freeze()
		must(t, first.Release(testContext(t)))
		mustContend(t, cs[1], dir, 1)
		noLeader()
		cable.thaw()
		mustHaveAcknowledged(t, cs[1], dir, mustBeGranted(t, elected))
		must(t, second.Release(testContext(t)))
		noLeader()
	})
}

// A client that gives up while it acknowledges takes both znodes back.
func TestAcknowledgementOfAClientThatGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		c := clients(t, v, 1)[0]
		ctx, cancel := context.WithCancel(testContext(t))
		dropping := &droppedCreate{Conn: c.conn, nth: 2, then: cancel}
		hit := election.NewAcknowledged(c.handle.Through(dropping), dir)
		_, err := hit.Acquire(ctx)
		wantError(t, "Acquire", err, context.Canceled)
		mustBeEmpty(t, v, dir)
	})
}

// droppedCreate is a session in which the reply to the nth create is lost.
type droppedCreate struct {
	session.Conn
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

// pause is where a client stops until the test lets it go on.
type pause struct{ reached, over chan struct{} }

func newPause() pause { return pause{make(chan struct{}), make(chan struct{})} }

func (p pause) stop() {
	close(p.reached)
	<-p.over
}

// A client whose session counts as lost before the server ends it, with the reply to its acknowledgement, leaves nothing behind that
// stops its successor.
func TestAcknowledgementFaultsBeforeTheSessionEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 2)
		lost, created := make(chan struct{}), newPause()
		hit := election.NewAcknowledged(session.NewSession(&droppedCreate{Conn: cs[0].conn, nth: 2, then: created.stop}, lost), dir)
		ended := acquires(testContext(t), hit)
		<-created.reached
		next := opened(cs[1], election.NewAcknowledged(cs[1].session(), dir))
		elected := untilWaiting(testContext(t), t, next, func(ctx context.Context) <-chan outcome { return acquires(ctx, next) })
		close(lost)
		close(created.over)
		wantError(t, "Acquire", (<-ended).err, session.ErrSessionLost)
		mustLeadNext(t, v, cs[1], dir, next, elected)
	})
}

// A client that finds an acknowledgement that was created under the next session of a former leader leads when that is gone, and not before.
func TestAcknowledgementFaultsUnderTheNextSession(t *testing.T) {
	t.Parallel()
	for _, repeated := range []bool{false, true} {
		bubbles.run(t, fmt.Sprint("repeated ", repeated), func(t *testing.T, v venue) {
			dir, old := directory(t, v), oblivious(t, v, &cable{})
			slow, cable := cabled(t, v, ensemble.SessionTimeout)
			lost, creating := make(chan struct{}), newPause()
			creates := 0
			late := hooked{old.conn, func(op, _ string) {
				if op == "create" {
					if creates++; creates == 2 {
						creating.stop()
					}
				}
			}}
			hit := election.NewAcknowledged(session.NewSession(late, lost), dir)
			ended := acquires(testContext(t), hit)
			<-creating.reached
			next := opened(slow, election.NewAcknowledged(slow.session(), dir))
			elected := untilWaiting(testContext(t), t, next, func(ctx context.Context) <-chan outcome { return acquires(ctx, next) })
			var traps []*embedded.Trap
			if repeated {
				traps = append(traps, inject(embeddedServer(t, v), slow, wire.OpCreate, embedded.DropBefore))
			}
			cable.freeze() // until the former leader's create has taken effect
			expire(t, v, old)
			close(lost)
			close(creating.over)
			wantError(t, "Acquire", (<-ended).err, session.ErrSessionLost)
			untilWaiting(testContext(t), t, next, func(context.Context) <-chan outcome {
				cable.thaw()
				return elected
			})
			mustHaveFired(t, traps...)
			old.Close()
			mustLeadNext(t, v, slow, dir, next, elected)
		})
	}
}

// expire ends a session at the server, and returns when the client library has the next one.
func expire(t *testing.T, v venue, c *client) {
	t.Helper()
	expired := c.conn.SessionID()
	embeddedServer(t, v).Expire(expired)
	awaitNextSession(t, c, expired)
}

// mustLeadNext fails unless a client leads, is acknowledged, and leaves nothing behind.
func mustLeadNext(t *testing.T, v venue, c *client, dir string, e session.Lock, elected <-chan outcome) {
	t.Helper()
	mustHaveAcknowledged(t, c, dir, mustBeGranted(t, elected))
	mustRelease(t, e)
	mustBeEmpty(t, v, dir)
}

func mustHaveAcknowledged(t *testing.T, c *client, dir string, term session.Grant) {
	t.Helper()
	catchUp(t, c, dir)
	if epoch, known, err := election.Leader(testContext(t), c.session(), dir); err != nil || !known || epoch != term.Token {
		t.Errorf("epoch %d is acknowledged (%v, %v), want %d", epoch, known, err, term.Token)
	}
}
