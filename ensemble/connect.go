package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
)

// SessionTimeout is the session timeout that zkbench asks for. It is long enough that a stalled machine does not end a
// measurement. Servers reduce it to 20 ticks; the ledger has the timeout that was granted.
const SessionTimeout = 30 * time.Second

// Note: the client makes two buffers of 1.5 MB for each session (see [SessionBuffers]), which the kernel backs with memory as
// they are touched. A session takes 50 kB, including the embedded server's part, and 4,000 sessions take 210 MB. That
// requires that the pages of new buffers and of big frames are given back (see releaseSendBuffer and smallBufferConn). The runtime
// fills a buffer that it makes of used memory with zeros.

// SessionConfig selects the servers, the timeout and the link of a session.
type SessionConfig struct {
	// Servers are those to connect to. The first one is the session's home. With more, a session whose connection has
	// ended moves to the next one in turn, as the client library does.
	Servers []Server
	Timeout time.Duration  // the session timeout to ask for; 0 means [SessionTimeout]
	Link    *Link          // connects the session to the servers, and no other session; nil if the servers are a [Tunnel]
	Observe func(zk.Event) // called with every event; must not block; may be nil
}

// Connect opens one session, pinned to one server, and returns when it exists. All its frames are counted in ledger. observe,
// if not nil, is called with every event and must not block. Each participant has its own session: servers key watches by
// connection, so that participants with a common session would share notifications and hide the herd. If the session expires,
// the client library opens a new one.
func Connect(ctx context.Context, s Server, ledger *wire.Ledger, observe func(zk.Event)) (*zk.Conn, error) {
	link := NewLink(ledger)
	link.renews = true
	return OpenSession(ctx, SessionConfig{Servers: []Server{s}, Link: link, Observe: observe})
}

// OpenSession opens one session, and returns when it exists. When it has expired, all operations fail.
func OpenSession(ctx context.Context, c SessionConfig) (*zk.Conn, error) {
	if len(c.Servers) == 0 {
		return nil, errors.New("connect: no servers")
	}
	home := c.Servers[0].Addr
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect to %s: %w", home, context.Cause(ctx))
	}
	way := func(address string, timeout time.Duration) (net.Conn, error) { //nolint:contextcheck // the library gives no context
		return dialWithin(withAddress(c.Servers, address), timeout)
	}
	if c.Link != nil {
		c.Link.serve(c.Servers)
		way = c.Link.dial
	}
	run := ctx
	ctx, giveUp := context.WithCancelCause(run)
	defer giveUp(nil)
	opening := &opening{ready: make(chan struct{}), enough: make(chan string, 1), observer: c.Observe}
	addresses := list.Map(c.Servers, func(s Server) string { return s.Addr })
	conn, _, err := zk.Connect(addresses, cmp.Or(c.Timeout, SessionTimeout),
		zk.WithHostProvider(&rotation{servers: addresses}),
		zk.WithDialer(func(_, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := way(address, timeout)
			if dial.IsLasting(err) {
				giveUp(err) // the library tries again without end
			}
			if err != nil {
				return nil, err
			}
			return &smallBufferConn{Conn: &reporting{conn, giveUp}}, nil
		}),
		releaseSendBuffer,
		zk.WithEventCallback(opening.observe), // the event channel drops events when it is full
		zk.WithLogger(log.New(io.Discard, "", 0)),
		zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", home, err)
	}
	if err := awaitSession(ctx, c.Servers, opening); err != nil {
		if run.Err() == nil && dial.IsLasting(err) {
			// Closing waits up to a second for a reply that the library never gives if its last attempt has ended. There is no session.
			go conn.Close()
		} else {
			conn.Close()
		}
		return nil, fmt.Errorf("no session at %s: %w", home, err)
	}
	return conn, nil
}

// reporting is a connection that reports the errors that no further attempt mends.
type reporting struct {
	net.Conn
	report context.CancelCauseFunc
}

func (c *reporting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if dial.IsLasting(err) {
		c.report(err)
	}
	return n, err
}

func dialWithin(s Server, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.Dial(ctx)
}

func withAddress(servers []Server, address string) Server {
	if i := slices.IndexFunc(servers, func(s Server) bool { return s.Addr == address }); i >= 0 {
		return servers[i]
	}
	return Server{Addr: address}
}

// enoughRefusals is how many connections in a row a server may close before a session exists. The client library retries
// once a second without end, but users should learn the reason within five seconds.
const enoughRefusals = 2

// opening counts the connections that servers close before a session exists, such as during an election. It passes events on once the
// session exists, since a connection that ends earlier takes no session away. Until then, one goroutine of the client calls it.
type opening struct {
	ready     chan struct{} // closed when the session exists
	connected bool          // to a server that has not opened or refused the session yet
	refusals  int
	enough    chan string    // capacity 1; receives the server's address after every enoughRefusals in a row
	observer  func(zk.Event) // may be nil
}

func (o *opening) observe(e zk.Event) {
	if e.State == zk.StateHasSession && !o.exists() {
		close(o.ready)
	}
	switch {
	case o.exists():
		if o.observer != nil {
			o.observer(e)
		}
	case e.State == zk.StateConnected:
		o.connected = true
	case e.State == zk.StateDisconnected && o.connected:
		o.connected = false
		if o.refusals++; o.refusals%enoughRefusals == 0 {
			select {
			case o.enough <- e.Server:
			default:
			}
		}
	}
}

func (o *opening) exists() bool {
	select {
	case <-o.ready:
		return true
	default:
		return false
	}
}

// rotation tries a session's servers in turn, beginning with the first one. The client library's own order begins at random. With one
// server, the library would pause for a second before the first attempt to reconnect, which is a third of a short session timeout.
type rotation struct {
	mu      sync.Mutex
	servers []string
	next    int // index in servers
	tries   int // since the last connection
}

// Init implements [zk.HostProvider]. An unknown host is an error at once. The library has shuffled its list, which is ignored.
func (r *rotation) Init(shuffled []string) error { return zk.NewDNSHostProvider().Init(shuffled) }

// Len implements [zk.HostProvider].
func (r *rotation) Len() int { return len(r.servers) }

// Next implements [zk.HostProvider]. It asks for a pause of a second after each round in which no server was connected.
func (r *rotation) Next() (server string, pause bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server, pause = r.servers[r.next], r.tries > 0 && r.tries%len(r.servers) == 0
	r.next = (r.next + 1) % len(r.servers)
	r.tries++
	return server, pause
}

// Connected implements [zk.HostProvider].
func (r *rotation) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = 0
}

// awaitSession returns when the session exists. It returns an error if a server closes connections although no election or failure
// explains it. A server that serves when it is asked may have elected a leader just before. So another reason is assumed only if the
// server then closes further connections and still serves, or if there is still no session at the deadline of ctx.
func awaitSession(ctx context.Context, servers []Server, o *opening) error {
	served := "" // the server that served when it was last asked
	for {
		select {
		case <-o.ready:
			return nil
		case addr := <-o.enough:
			_, err := Srvr(ctx, withAddress(servers, addr))
			switch {
			case o.exists(): // the session was opened since the server was asked
				return nil
			case errors.Is(err, ErrUnanswered), err == nil && served != "":
				return refusedWithoutFailure(addr)
			case err == nil:
				served = addr
			case ctx.Err() == nil: // an answer that the deadline cuts off says nothing
				served = ""
			}
		case <-ctx.Done():
			if served != "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return refusedWithoutFailure(served)
			}
			return context.Cause(ctx)
		}
	}
}

// Fence makes the session's server catch up with the leader by a sync. Notifications of transactions up to there arrive before
// the reply. A leader answers syncs of its own sessions at once, although it may lag behind a follower that has applied the
// newest transaction. A caller that needs a certain transaction checks Ledger.LastZxid and repeats the fence.
func Fence(conn *zk.Conn) error {
	if _, err := conn.Sync(wire.FencePath); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// refusedWithoutFailure returns the error for a server that closes connections although it neither elects a leader nor has failed. A
// server at its limit of connections also closes connections for four-letter commands.
func refusedWithoutFailure(addr string) error {
	return fmt.Errorf("%s closes connections before a session exists, and no election explains it: "+
		"it may be out of connections for this address (maxClientCnxns, 60 by default) or in all (maxCnxns): "+
		"raise the limit there, or ask for fewer clients", addr)
}
