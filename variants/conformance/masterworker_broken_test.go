package conformance_test

import (
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
)

// masterworkerGenerous is the session of a master that gives each task to two workers.
type masterworkerGenerous struct{ *zk.Conn }

// other returns the path of the same task at the other one of two workers.
func (masterworkerGenerous) other(assignment string) string {
	dir, task := path.Split(assignment)
	worker := map[string]string{"worker-a": "worker-b", "worker-b": "worker-a"}[path.Base(dir)]
	return path.Join(path.Dir(path.Clean(dir)), worker, task)
}

func (g masterworkerGenerous) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if _, err := g.Conn.Create(g.other(path), data, flags, acl); err != nil {
		return "", err
	}
	return g.Conn.Create(path, data, flags, acl)
}

func (g masterworkerGenerous) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		if create, ok := op.(*zk.CreateRequest); ok {
			second := *create
			second.Path = g.other(create.Path)
			ops = append(ops, &second)
		}
	}
	return g.Conn.Multi(ops...)
}

// A variant that may execute a task twice after a failure must not do so without one.
func TestMasterThatGivesEachTaskToTwoWorkersIsCaught(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, masterworkerVariants, func(t *testing.T, v venue, variant masterworkerVariant) {
		const tasks = 20
		s := newMasterworkerShop(t, v, variant)
		workers := s.workers(t, 2)
		c := clients(t, v, 1)[0]
		m := s.master(t, c.handle.Through(masterworkerGenerous{c.conn}))
		customer := s.newClient(t, tasks)
		must(t, m.Wait(testContext(t)))
		mustAssign(t, m, tasks)
		s.execute(t, workers...)
		s.learn(t, customer, tasks)
		closeAll(t, workers...)
		recipe := masterworker.Recipe()
		if violations := recipe.Violations(s.history); len(violations) != tasks {
			t.Errorf("%d violations, want one for each of %d tasks", len(violations), tasks)
		}
		mustBreak(t, recipe, s.history, "had executed")
		if variant.once {
			return
		}
		excuse := variants.Event{Kind: masterworker.Doubtful, Value: 1}
		h := append(variants.History{excuse}, s.history...)
		if violations := recipe.Violations(h); len(violations) != tasks-1 {
			t.Errorf("%d violations after one lost reply, want all but one of %d", len(violations), tasks)
		}
	})
}
