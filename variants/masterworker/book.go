package masterworker

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

func newBookMaster(s *session.Session, dir string) *Master {
	m := newMaster(s, dir, window)
	m.tasks.always = true
	m.random = newChoice()
	return m
}

// The random numbers of newChoice are the same in each run, so that a run can be repeated. With this seed, each of up
// to 200 workers gets a task of the first batch.
func newChoice() *rand.Rand { return rand.New(rand.NewPCG(4, 2013)) }

// specify makes the clients create their tasks in a directory of this master, and finds the directories of former
// masters. No client creates a task in these any more, because the version of master-path that it would check has
// changed.
func (m *Master) specify(ctx context.Context) error {
	if err := m.session.Ensure(ctx, m.tasks.dir, nil, 0); err != nil {
		return err
	}
	if err := m.direct(ctx); err != nil {
		return err
	}
	root := path.Dir(m.at.masterPath)
	names, err := list(ctx, m.session, root)
	for _, name := range names {
		if strings.HasPrefix(name, path.Base(m.at.tasks)) && name != path.Base(m.tasks.dir) {
			m.former = append(m.former, path.Join(root, name))
		}
	}
	return err
}

// direct writes the path of the master's directory to master-path, for the clients.
//
// The version of the write is read before the session is known to be alive. A request that has waited in the client
// library until its session ended may be sent in the next one, after another master has taken over: then the version
// has changed. If the former master writes between the read and the write of this one, this one must begin again.
func (m *Master) direct(ctx context.Context) error {
	var stat *zk.Stat
	err := m.session.Synced(ctx, m.at.masterPath, func(c session.Conn) (err error) {
		_, stat, err = c.Get(m.at.masterPath)
		return err
	})
	if err := errors.Join(err, m.session.Alive()); err != nil {
		return session.Attempted("read "+m.at.masterPath, err)
	}
	repeated, err := m.session.Set(ctx, m.at.masterPath, []byte(m.tasks.dir), stat.Version)
	if !errors.Is(err, zk.ErrBadVersion) {
		return session.Attempted("write "+m.at.masterPath, err)
	}
	if repeated {
		data, _, err := m.session.Get(ctx, m.at.masterPath)
		if err != nil || string(data) == m.tasks.dir { // an attempt whose reply was lost has taken effect
			return session.Attempted("read "+m.at.masterPath, err)
		}
	}
	return ErrDeposed
}

func (m *Master) inherit(ctx context.Context) (int, error) {
	n, err := m.empty(ctx, m.former[0])
	if err == nil {
		m.former = m.former[1:]
	}
	return n, err
}
