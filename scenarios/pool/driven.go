package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// OwnSession is the session of a client, as far as the runner uses it.
type OwnSession interface {
	// Fence is [ensemble.Fence].
	Fence() error
	Close()
}

type goSession struct {
	*zk.Conn
	closing dial.Mutex // is locked while it is being closed: its monitor and the runner may close it at the same time
}

func newGoSession(conn *zk.Conn) goSession { return goSession{conn, dial.NewMutex()} }

// Close implements [OwnSession]. To wait for the library's own lock would stop the clock in a bubble of testing/synctest.
func (s goSession) Close() {
	s.closing.Lock()
	defer s.closing.Unlock()
	s.Conn.Close()
}

func (s goSession) Fence() error { return ensemble.Fence(s.Conn) }

// drivenSession is a client in a driver whose answers count only if its session still exists. A library may answer before it
// knows: LeaderLatch of Curator, for example, resigns in the background.
type drivenSession struct {
	*drivers.Client
	life *Life
}

const confirmPoll = time.Millisecond

func (s drivenSession) Call(ctx context.Context, verb string) (string, error) {
	s.life.calling.Store(true)
	result, err := s.Client.Call(ctx, verb)
	s.life.calling.Store(false)
	if err != nil {
		return "", err
	}
	for !s.life.Over() {
		switch established := s.life.Link.Established(); {
		case s.life.Ledger.Over():
			return "", session.ErrSessionLost
		case established:
			return result, nil
		}
		if err := Sleep(ctx, confirmPoll); err != nil {
			return "", err
		}
	}
	return "", session.ErrSessionLost
}

func (s drivenSession) Reconnects() int { return s.life.Ledger.Reconnects() }

// drivenTimeout bounds what a driver does without waiting for other clients: opening, syncing and closing a session.
const drivenTimeout = ensemble.SessionTimeout

func inTime(call func(context.Context) error) error {
	late := fmt.Errorf("the driver did not answer within %s", drivenTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), drivenTimeout, late)
	defer cancel()
	return call(ctx)
}

func (s drivenSession) Fence() error {
	return inTime(func(ctx context.Context) error {
		_, err := s.Client.Call(ctx, "sync "+wire.FencePath)
		return err
	})
}

// Close implements [OwnSession]. A driver that does not answer is ended at the end of the measurement.
func (s drivenSession) Close() { _ = inTime(s.Client.Close) }

// newSession returns a handle on a session with a server, with whose credentials it creates znodes.
func newSession(conn session.Conn, monitor *session.Monitor, server ensemble.Server) *session.Session {
	s := session.NewMonitoredSession(conn, monitor)
	s.CreateWith(server.ACL())
	return s
}

// openSession opens the session of the client's present life: in the driver if there is one, and in a tunnel if the
// scenario has one for any of its variants.
func (c *Client) openSession(ctx context.Context, at Config) (s *session.Session, driven variants.Caller, err error) {
	servers := at.serversOf(c.server)
	config := ensemble.SessionConfig{Servers: servers, Timeout: at.Timeout, Link: c.Link, Observe: c.Monitor.Observe}
	if at.Tunnelled {
		observe := c.Monitor.Observe
		if at.driver == nil {
			observe = nil // the client library reports the same
		}
		if c.tunnel, err = c.Link.OpenTunnel(ctx, servers, observe); err != nil {
			return nil, nil, err
		}
		config.Servers, config.Link = []ensemble.Server{{Addr: c.tunnel.Address()}}, nil
	}
	if at.driver != nil {
		d, err := c.openDriven(ctx, at)
		unusable := struct{ session.Conn }{} // the session is in the driver
		return newSession(unusable, c.Monitor, c.server), d, err
	}
	conn, err := ensemble.OpenSession(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	own := newGoSession(conn)
	c.setOwn(own)
	return newSession(conn, c.Monitor, c.server), nil, nil
}

func (c *Client) openDriven(ctx context.Context, at Config) (variants.Caller, error) {
	timeout := cmp.Or(at.Timeout, ensemble.SessionTimeout)
	name := fmt.Sprintf("%d.%d", c.ID, c.opened) // a new name: the session of the former may still be closing
	s := drivenSession{at.driver.Client(name), c.Life}
	c.opened++
	c.setOwn(s)
	open := fmt.Sprintf("open %s %s %d %d", c.tunnel.Address(), at.Root, timeout.Milliseconds(), at.Clients)
	if _, err := s.Client.Call(ctx, open); err != nil {
		return nil, err
	}
	if c.Ledger.Session().ID == 0 {
		return nil, fmt.Errorf("the driver has opened no session at %s, but answered that it has", c.tunnel.Address())
	}
	return s, nil
}

func (c *Client) setOwn(s OwnSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Own = s
}

const pings = 300

// StartDriver starts the driver of a variant and measures the pipe. It returns nil for a variant without a driver.
func StartDriver(ctx context.Context, r variants.Recipe, v variants.Variant) (*drivers.Process, *results.Driver, error) {
	if v.Driver == nil {
		return nil, nil, nil
	}
	if err := drivers.CheckRunnable(r.Name, v); err != nil {
		return nil, nil, err
	}
	d, err := drivers.Start(ctx, r.Code, *v.Driver)
	if err != nil {
		return nil, nil, err
	}
	took, err := d.Ping(ctx, pings)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	slices.Sort(took)
	return d, &results.Driver{Program: path.Base(v.Driver.Program), PipeP50: took[pings/2], PipeP99: took[pings*99/100]}, nil
}
