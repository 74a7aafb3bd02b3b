package embedded

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
)

// Config holds the settings of servers. Its zero value means one server with ZooKeeper's defaults and no delays.
type Config struct {
	// Voters is how many servers there are; zero means one. Each applies the same transactions to its own tree.
	Voters int
	// Ports are the ports on which Listen serves, one per server. If empty, free ones are found.
	Ports []int
	// Lag is the delay before servers that do not lead apply a transaction that is committed.
	Lag time.Duration
	// Tick is the unit of session timeouts, which are from 2 to 20 ticks and end at a full tick. Zero means two seconds.
	Tick time.Duration
	// Expiry is an additional delay before a silent session expires.
	Expiry time.Duration
	// ReadDelay and WriteDelay are how long all servers are busy with each read and each write. Requests queue up behind it.
	ReadDelay, WriteDelay time.Duration
	// Reap is how often empty containers and znodes whose time to live is over are removed. Zero means once a minute.
	Reap time.Duration
	// Scheme is the scheme by which clients must authenticate, such as digest, as with ZooKeeper's enforce.auth.schemes. If empty,
	// they need not.
	Scheme string
	// TLS, if not nil, is how Listen's ports encrypt. They then refuse clients that do not.
	TLS *tls.Config
	// Ordered, if not nil, is called when the leader orders a write of a session. It must not call the server.
	Ordered func(session int64)
}

// minTicks and maxTicks bound the session timeouts that are granted.
const (
	minTicks = 2
	maxTicks = 20
)

// Server is one ZooKeeper server in this process. Its methods may be called concurrently.
type Server struct {
	*quorum  // shared with the other servers; its lock guards everything below
	member   // its part in the quorum
	index    int
	listener net.Listener // nil in memory

	tree           *tree
	watches        *watches
	accepted       int64 // connections so far
	connections    set[*connection]
	attached       map[int64]*connection // by session
	received, sent int64
	busyUntil      time.Time // when all service delays so far are over
}

// The bounds on how long a client can block a goroutine of the server, and how much memory it can occupy.
const (
	handshakeTimeout = 10 * time.Second // ZooKeeper's sessionlessCnxnTimeout
	lastWriteTimeout = 10 * time.Second // for the last replies, after the connection has ended
	outboxLimit      = 4 << 20          // unsent bytes above which no further request is read
)

// session is the servers' state of a client session. It outlives its connections.
type session struct {
	id       int64
	password []byte
	timeout  time.Duration
	expires  time.Time
	owner    *Server // the server of its client's connection; nil if a new leader does not know it yet
}

// Memory starts servers without ports, and returns the first. DialContext of a server returns a connection in memory. Close ends all of
// them.
func Memory(config Config) *Server {
	q := newQuorum(config)
	q.exact = true
	q.running.Go(q.runTimers)
	return q.servers[0]
}

// DialContext implements [dial.Dialer] for a server without a port.
func (s *Server) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := dial.Pipe()
	if !s.open(server) {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	}
	return client, nil
}

// Listen starts servers on ports of the loopback address, and returns the first. Close ends all of them.
func Listen(config Config) (*Server, error) {
	q := newQuorum(config)
	ports := config.Ports
	if len(ports) == 0 {
		ports = make([]int, len(q.servers))
	}
	if len(ports) != len(q.servers) {
		return nil, errors.Join(fmt.Errorf("embedded server: %d ports for %d servers", len(ports), len(q.servers)), q.Close())
	}
	for i, s := range q.servers {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports[i]))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("embedded server: %w", err), q.Close())
		}
		s.listener = listener
		if config.TLS != nil {
			listener = tls.NewListener(listener, config.TLS)
		}
		q.running.Go(func() { dial.Accept(listener, func(error) {}, func(conn net.Conn) { s.open(conn) }) })
	}
	q.running.Go(q.runTimers)
	return q.servers[0], nil
}

// Members returns all servers, in the order of their ids.
func (q *quorum) Members() []*Server { return q.servers }

// Addr returns the server's address. Without a port, it is one that is reserved for documentation.
func (s *Server) Addr() string {
	if s.listener == nil {
		return fmt.Sprintf("192.0.2.%d:2181", s.index+1)
	}
	return s.listener.Addr().String()
}

// Close ends all connections to all servers, and returns when all their goroutines have ended.
func (q *quorum) Close() error {
	var errs []error
	for _, s := range q.servers {
		if s.listener == nil {
			continue
		}
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	q.mu.Lock()
	q.stop()
	for _, s := range q.servers {
		s.dropAll()
	}
	q.mu.Unlock()
	q.running.Wait()
	return errors.Join(errs...)
}

// open starts the two goroutines of a connection. It returns false if the server is closed or has been killed.
func (s *Server) open(conn net.Conn) bool {
	c := &connection{server: s, conn: conn, out: newOutbox(conn), ids: []identity{peerOf(conn)}, answered: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Err() != nil || s.fault == ensemble.Kill {
		conn.Close()
		return false
	}
	s.accepted++
	c.number = s.accepted
	s.connections.add(c)
	s.running.Go(c.read)
	s.running.Go(func() {
		c.out.write()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(c) // removes it before the client sees its end
	})
	return true
}

func (s *Server) drop(c *connection) {
	s.detach(c)
	delete(s.connections, c)
	c.out.abort()
}

func (s *Server) dropAll() {
	for c := range s.connections {
		s.drop(c)
	}
}

// detach separates a connection from its session and watches. Further requests on it are ignored.
func (s *Server) detach(c *connection) {
	s.watches.data.drop(c)
	s.watches.child.drop(c)
	if c.session != nil && s.attached[c.session.id] == c {
		delete(s.attached, c.session.id)
	}
	c.session = nil
}

func (s *Server) take(t *transaction) {
	s.applied = t.zxid
	c := &change{tree: s.tree, transaction: t}
	answer := t.run(s, c)
	for _, e := range c.events {
		for _, w := range slices.SortedFunc(maps.Keys(s.watches.fire(e)), func(a, b *connection) int { return cmp.Compare(a.number, b.number) }) {
			if e.acl.allows(zk.PermRead, w.ids) {
				w.notify(e, t.zxid)
			}
		}
	}
	if answer != nil {
		answer()
	}
}

// The accuracy of service delays: the operating system sleeps for at least about a millisecond, and often for too long.
const (
	shortestSleep  = time.Millisecond
	longestOverrun = 2 * time.Millisecond
)

// delay makes the locked server busy for d. Delays that are too short for a sleep add up, and a sleep that was too long
// shortens the next ones: under load the average delay is exact, and single delays are not.
func (s *Server) delay(d time.Duration) {
	if d <= 0 {
		return
	}
	if s.exact {
		s.sleep(d)
		return
	}
	now := time.Now()
	if now.Sub(s.busyUntil) > longestOverrun { // the server was idle
		s.busyUntil = now
	}
	s.busyUntil = s.busyUntil.Add(d)
	if wait := s.busyUntil.Sub(now); wait >= shortestSleep {
		s.sleep(wait)
	}
}
