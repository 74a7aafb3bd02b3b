package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// Config is what can be chosen about a server. Its zero value is a server with ZooKeeper's defaults and no delays.
type Config struct {
	// Tick is the unit of session timeouts, which are granted from 2 to 20 ticks and end at the next full tick; two
	// seconds if zero.
	Tick time.Duration
	// ReadDelay and WriteDelay are how long the server is busy with each read and each write, one after the other.
	ReadDelay, WriteDelay time.Duration
	// Reap is how often containers that have become empty are removed; a minute if zero.
	Reap time.Duration
}

const (
	defaultTick = 2 * time.Second
	defaultReap = time.Minute
)

// minTicks and maxTicks bound the session timeouts that are granted.
const (
	minTicks = 2
	maxTicks = 20
)

// Server is one ZooKeeper server in this process. Its methods may be called concurrently.
type Server struct {
	config   Config
	limits   limits
	listener net.Listener
	now      func() time.Time
	sleep    func(time.Duration)
	started  time.Time
	stop     chan struct{}
	running  sync.WaitGroup

	mu                sync.Mutex // guards everything below, and is held while a request is served
	closed            bool
	zxid              int64
	tree              *tree
	watches           *watches
	sessions          map[int64]*session
	nextSession       int64
	connections       set[*connection]
	traps             []*Trap
	notificationDelay time.Duration
	received, sent    int64
	busyUntil         time.Time // by the service delays
}

// limits bound what a client can keep the server waiting for, or make it keep.
type limits struct {
	handshake time.Duration // ZooKeeper's sessionlessCnxnTimeout
	farewell  time.Duration // for reading the last replies
	outbox    int           // bytes that may wait for a client before its next request is read
}

func defaultLimits() limits { return limits{10 * time.Second, 10 * time.Second, 4 << 20} }

// session is a client as the server knows it; it outlives its connections.
type session struct {
	id         int64
	password   []byte
	timeout    time.Duration
	expires    time.Time
	connection *connection // nil while the client is away
}

// Listen starts a server on a free port of the loopback address. Close ends it.
func Listen(config Config) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	s := newServer(config)
	s.listener = listener
	s.running.Go(s.accept)
	s.running.Go(s.watchTheClock)
	return s, nil
}

func newServer(config Config) *Server {
	if config.Tick == 0 {
		config.Tick = defaultTick
	}
	if config.Reap == 0 {
		config.Reap = defaultReap
	}
	now := time.Now()
	return &Server{
		config:      config,
		limits:      defaultLimits(),
		now:         time.Now,
		sleep:       time.Sleep,
		started:     now,
		stop:        make(chan struct{}),
		tree:        newTree(),
		watches:     newWatches(),
		sessions:    map[int64]*session{},
		nextSession: now.UnixMilli() << 16, // clients must not take the sessions of an earlier server for their own
		connections: set[*connection]{},
	}
}

// Addr is where clients find the server.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close cuts all connections and returns when everything that belongs to the server has ended.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	for c := range s.connections {
		s.drop(c)
	}
	s.mu.Unlock()
	s.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: the next client may have more luck
			time.Sleep(time.Millisecond)
			continue
		}
		s.serve(conn)
	}
}

// serve gives a connection its two goroutines, which end with it.
func (s *Server) serve(conn net.Conn) {
	c := &connection{server: s, conn: conn, out: newOutbox(conn, s.limits)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return
	}
	s.connections.add(c)
	s.running.Go(c.read)
	s.running.Go(func() {
		c.out.write()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(c) // before its client can see the end of it
	})
}

// drop ends a connection at once; its session goes on.
func (s *Server) drop(c *connection) {
	s.detach(c)
	delete(s.connections, c)
	c.out.abort()
}

// detach takes a connection's session and watches away from it: whatever it still sends is ignored.
func (s *Server) detach(c *connection) {
	s.watches.drop(c)
	if c.session != nil && c.session.connection == c {
		c.session.connection = nil
	}
	c.session = nil
}

// watchTheClock expires sessions and removes empty containers.
func (s *Server) watchTheClock() {
	tick, reap := time.NewTicker(s.config.Tick), time.NewTicker(s.config.Reap)
	defer tick.Stop()
	defer reap.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			s.expireSilent(now)
		case <-reap.C:
			s.reapContainers()
		}
	}
}

func (s *Server) expireSilent(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.sessions {
		if now.After(e.expires) {
			s.expire(e)
		}
	}
}

// reapContainers removes the containers that have had children and have none any more, each in a transaction.
func (s *Server) reapContainers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.tree.containers {
		if n := s.tree.nodes[path]; n.creates > 0 && len(n.children) == 0 {
			t := s.begin(0)
			t.remove(operation{path: path, version: anyVersion})
			s.publish(t)
		}
	}
}

// open creates a session, which is a transaction.
func (s *Server) open(timeout time.Duration) *session {
	s.nextSession++
	s.zxid++
	e := &session{id: s.nextSession, password: make([]byte, passwordSize), timeout: timeout}
	_, _ = rand.Read(e.password) // never fails
	s.sessions[e.id] = e
	return e
}

// passwordSize is how long a session's password is.
const passwordSize = 16

// touch puts off the end of a session.
func (s *Server) touch(e *session) { e.expires = s.now().Add(e.timeout) }

// end removes a session with its ephemeral znodes, in one transaction.
func (s *Server) end(e *session) {
	delete(s.sessions, e.id)
	t := s.begin(e.id)
	for path := range s.tree.ephemerals[e.id] {
		t.remove(operation{path: path, version: anyVersion})
	}
	s.publish(t)
}

// expire ends a session and its connection. The client learns of it when it connects again.
func (s *Server) expire(e *session) {
	c := e.connection
	s.end(e) // which still fires the session's own watches, as a real server's counters tell
	if c != nil {
		s.drop(c)
	}
}

// begin starts a transaction; one that fails has used up its zxid, too.
func (s *Server) begin(session int64) *change {
	s.zxid++
	return &change{tree: s.tree, zxid: s.zxid, now: s.now().UnixMilli(), session: session}
}

// publish notifies whoever watches what a transaction has changed.
func (s *Server) publish(t *change) {
	for _, e := range t.events {
		for c := range s.watches.fire(e) {
			c.notify(e, t.zxid)
		}
	}
}

// execute serves a write that is not a multi.
func (s *Server) execute(session int64, o operation) (outcome, wire.Code) {
	t := s.begin(session)
	result, code := t.apply(o)
	s.publish(t)
	return result, code
}

// executeAll serves a multi: all operations or none. The first one that fails tells why; those before it would have
// succeeded, and those after it were not tried.
func (s *Server) executeAll(session int64, operations []operation) ([]outcome, []wire.Code) {
	t := s.begin(session)
	results, codes := make([]outcome, len(operations)), make([]wire.Code, len(operations))
	for i, o := range operations {
		results[i], codes[i] = t.apply(o)
		if codes[i] != wire.OK {
			t.rollback()
			for later := i + 1; later < len(codes); later++ {
				codes[later] = wire.RuntimeInconsistency
			}
			return nil, codes
		}
	}
	s.publish(t)
	return results, codes
}

// The grain of service delays. The operating system does not sleep for less than about a millisecond, and often for
// somewhat longer than it was asked to.
const (
	shortestSleep  = time.Millisecond
	longestOverrun = 2 * time.Millisecond
)

// pace makes the server busy for a while. It is locked, so that requests queue up behind each other. What is too short
// to be slept adds up until it is not, and what was slept too long is taken off the next delays: under load the delays
// come to what was asked for, though not each of them.
func (s *Server) pace(d time.Duration) {
	if d <= 0 {
		return
	}
	now := s.now()
	if now.Sub(s.busyUntil) > longestOverrun { // idle in the meantime
		s.busyUntil = now
	}
	s.busyUntil = s.busyUntil.Add(d)
	if wait := s.busyUntil.Sub(now); wait >= shortestSleep {
		s.sleep(wait)
	}
}
