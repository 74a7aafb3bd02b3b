package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Config holds a server's settings. Its zero value means ZooKeeper's defaults and no delays.
type Config struct {
	// Tick is the unit of session timeouts, which are from 2 to 20 ticks and end at a full tick. Zero means two seconds.
	Tick time.Duration
	// ReadDelay and WriteDelay are how long the server is busy with each read and each write. Requests queue up behind it.
	ReadDelay, WriteDelay time.Duration
	// Reap is how often empty containers are removed. Zero means once a minute.
	Reap time.Duration
}

// minTicks and maxTicks bound the session timeouts that are granted.
const (
	minTicks = 2
	maxTicks = 20
)

// Server is one ZooKeeper server in this process. Its methods may be called concurrently.
type Server struct {
	config   Config
	limits   limits
	listener net.Listener // nil in memory
	now      func() time.Time
	sleep    func(time.Duration)
	exact    bool // each delay is slept, however short: virtual time passes exactly
	started  time.Time
	stop     chan struct{}
	running  sync.WaitGroup

	mu                dial.Mutex // guards everything below, and is held while a request is served
	closed            bool
	zxid              int64
	tree              *tree
	watches           *watches
	sessions          map[int64]*session
	nextSession       int64
	accepted          int64 // connections so far
	connections       set[*connection]
	traps             []*Trap
	notificationDelay time.Duration
	received, sent    int64
	busyUntil         time.Time // by the service delays
}

// limits bound how long a client can block a goroutine of the server, and how much memory it can occupy.
type limits struct {
	handshake time.Duration // ZooKeeper's sessionlessCnxnTimeout
	lastWrite time.Duration // for the last replies, after the connection has ended
	outbox    int           // unsent bytes from which on no further request is read
}

func defaultLimits() limits { return limits{10 * time.Second, 10 * time.Second, 4 << 20} }

// session is the server's state of a client session. It outlives its connections.
type session struct {
	id         int64
	password   []byte
	timeout    time.Duration
	expires    time.Time
	connection *connection // nil while the client is disconnected
}

// Memory starts a server without a port. Connections to it are in memory, and are made by its DialContext. Close ends it.
func Memory(config Config) *Server {
	s := newServer(config)
	s.exact = true
	s.running.Go(s.runTimers)
	return s
}

// memoryAddr is the address of servers without a port, one that is reserved for documentation.
const memoryAddr = "192.0.2.1:2181"

// DialContext implements [dial.Dialer] for a server without a port.
func (s *Server) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := dial.Pipe()
	if !s.serve(server) {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	}
	return client, nil
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
	s.running.Go(s.runTimers)
	return s, nil
}

func newServer(config Config) *Server {
	config.Tick, config.Reap = cmp.Or(config.Tick, 2*time.Second), cmp.Or(config.Reap, time.Minute)
	now := time.Now()
	return &Server{
		config:      config,
		mu:          dial.NewMutex(),
		limits:      defaultLimits(),
		now:         time.Now,
		sleep:       time.Sleep,
		started:     now,
		stop:        make(chan struct{}),
		tree:        newTree(),
		watches:     newWatches(),
		sessions:    map[int64]*session{},
		nextSession: now.UnixMilli() << 16, // clients of an earlier server must not find their session ids here
		connections: set[*connection]{},
	}
}

// Addr returns the server's address.
func (s *Server) Addr() string {
	if s.listener == nil {
		return memoryAddr
	}
	return s.listener.Addr().String()
}

// Close ends all connections and returns when all goroutines of the server have ended.
func (s *Server) Close() error {
	var err error
	if s.listener != nil {
		err = s.listener.Close()
	}
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
		if err != nil { // such as too many open files
			time.Sleep(time.Millisecond)
			continue
		}
		s.serve(conn)
	}
}

// serve starts the two goroutines of a connection. It returns false if the server is closed.
func (s *Server) serve(conn net.Conn) bool {
	c := &connection{server: s, conn: conn, out: newOutbox(conn, s.limits)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
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

// drop ends a connection at once, without its session.
func (s *Server) drop(c *connection) {
	s.detach(c)
	delete(s.connections, c)
	c.out.abort()
}

// detach separates a connection from its session and watches. Further requests on it are ignored.
func (s *Server) detach(c *connection) {
	s.watches.drop(c)
	if c.session != nil && c.session.connection == c {
		c.session.connection = nil
	}
	c.session = nil
}

// runTimers expires sessions and removes empty containers.
func (s *Server) runTimers() {
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
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		if e := s.sessions[id]; now.After(e.expires) {
			s.expire(e)
		}
	}
}

// reapContainers removes the containers that have become empty, each in its own transaction.
func (s *Server) reapContainers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(s.tree.containers)) {
		if n := s.tree.nodes[path]; n.creates > 0 && len(n.children) == 0 {
			t := s.begin(0)
			t.remove(operation{path: path, version: anyVersion})
			s.publish(t)
		}
	}
}

// open creates a session in a transaction.
func (s *Server) open(timeout time.Duration) *session {
	s.nextSession++
	s.zxid++
	e := &session{id: s.nextSession, password: make([]byte, passwordSize), timeout: timeout}
	_, _ = rand.Read(e.password) // never fails
	s.sessions[e.id] = e
	return e
}

// passwordSize is the length of a session's password.
const passwordSize = 16

// renew starts a session's timeout anew.
func (s *Server) renew(e *session) { e.expires = s.now().Add(e.timeout) }

// end removes a session and its ephemeral znodes in one transaction.
func (s *Server) end(e *session) {
	delete(s.sessions, e.id)
	t := s.begin(e.id)
	for _, path := range slices.Sorted(maps.Keys(s.tree.ephemerals[e.id])) {
		t.remove(operation{path: path, version: anyVersion})
	}
	s.publish(t)
}

// expire ends a session and its connection. The client learns of the expiry when it connects again.
func (s *Server) expire(e *session) {
	c := e.connection
	s.end(e) // first, so that it fires the session's own watches: the counters of real servers include them
	if c != nil {
		s.drop(c)
	}
}

// begin starts a transaction. It uses up a zxid even if it fails.
func (s *Server) begin(session int64) *change {
	s.zxid++
	return &change{tree: s.tree, zxid: s.zxid, now: s.now().UnixMilli(), session: session}
}

// publish notifies the watchers of a transaction's changes.
func (s *Server) publish(t *change) {
	for _, e := range t.events {
		for _, c := range slices.SortedFunc(maps.Keys(s.watches.fire(e)), func(a, b *connection) int { return cmp.Compare(a.number, b.number) }) {
			c.notify(e, t.zxid)
		}
	}
}

// execute applies a single write.
func (s *Server) execute(session int64, o operation) (outcome, wire.Code) {
	t := s.begin(session)
	result, code := t.apply(o)
	s.publish(t)
	return result, code
}

// executeAll applies all operations of a multi or none. Those after the first failed one get the code RuntimeInconsistency.
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
	now := s.now()
	if now.Sub(s.busyUntil) > longestOverrun { // the server was idle
		s.busyUntil = now
	}
	s.busyUntil = s.busyUntil.Add(d)
	if wait := s.busyUntil.Sub(now); wait >= shortestSleep {
		s.sleep(wait)
	}
}
