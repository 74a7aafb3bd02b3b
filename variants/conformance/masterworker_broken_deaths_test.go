package conformance_test

import (
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/planted"
)

// masterworkerBurier is the session of a master that removes the tasks of a dead worker without assigning them again.
type masterworkerBurier struct {
	*zk.Conn
	dead string // the directory of the worker
}

func (b masterworkerBurier) Create(to string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if exists, _, err := b.Exists(path.Join(b.dead, path.Base(to))); err != nil || exists {
		return to, err
	}
	return b.Conn.Create(to, data, flags, acl)
}

func (b masterworkerBurier) Multi(ops ...any) ([]zk.MultiResponse, error) {
	var kept []any
	burying := false
	for _, op := range ops {
		if d, ok := op.(*zk.DeleteRequest); ok {
			burying = burying || d.Path == b.dead
		}
	}
	for _, op := range ops {
		if _, creates := op.(*zk.CreateRequest); !creates || !burying {
			kept = append(kept, op)
		}
	}
	return b.Conn.Multi(kept...)
}

// masterworkerWorkerDies lets a worker die with tasks, of which the master makes what its session lets it.
func masterworkerWorkerDies(t *testing.T, s *masterworkerShop, session func(*client) variants.Conn) {
	t.Helper()
	const tasks = 4
	dying, other := s.worker(t, 0, clients(t, s.venue, 1)[0]), s.worker(t, 1, clients(t, s.venue, 1)[0])
	c := clients(t, s.venue, 1)[0]
	m := s.master(t, c.handle.Through(session(c)))
	customer := s.newClient(t, tasks)
	must(t, m.Wait(testContext(t)))
	mustAssign(t, m, tasks)
	dying.client.Close()
	eventually(t, "the session of a dead worker goes on", func() bool {
		return len(children(t, c, path.Join(s.dir, "workers"))) == 1
	})
	must(t, errorOf(m.Assign(testContext(t))))
	s.execute(t, other)
	mustBreak(t, masterworker.Recipe(), s.history, "was never executed")
	must(t, customer.Finish(testContext(t)))
	must(t, errorOf(s.newMaster(t).Assign(testContext(t)))) // and removes what is left
	s.execute(t, other)
	closeAll(t, other)
}

func TestMasterThatForgetsDeadWorkersIsCaught(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, masterworkerVariants, func(t *testing.T, v venue, variant masterworkerVariant) {
		masterworkerWorkerDies(t, newMasterworkerShop(t, v, variant), func(c *client) variants.Conn { return planted.NewForgetfulConn(c.conn) })
	})
}

func TestMasterThatBuriesTasksIsCaught(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, masterworkerVariants, func(t *testing.T, v venue, variant masterworkerVariant) {
		s := newMasterworkerShop(t, v, variant)
		masterworkerWorkerDies(t, s, func(c *client) variants.Conn {
			return masterworkerBurier{c.conn, path.Join(s.dir, "assign", "worker-a")}
		})
	})
}
