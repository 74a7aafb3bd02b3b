package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Link is a session's way to its servers, which can be made to fail. Its methods may be called concurrently.
//
// The client learns of the end of a connection at once, and the servers a round trip later. Frames that they have sent until then are
// counted, as lost. A link waits for that before it lets the client connect again.
//
// A link serves one session. Once the client knows that the servers have ended it, the link refuses further connections: the client
// library would open a new session, which does not own the old one's znodes.
type Link struct {
	ledger *wire.Ledger

	mu sync.Mutex
	linkState
	renews  bool           // the client may open a new session when the first has ended
	client  *Link          // of the client's first session, if this is a further one (see Further)
	further map[*Link]bool // of the client's further sessions, until they are detached
	dialing dial.Mutex     // locked while a connection begins, and while none may begin
}

// linkState is where a link leads. It is guarded by the mutex of the link.
type linkState struct {
	current *wire.Conn // nil before the first connection
	server  Server     // of the current connection
	servers []Server   // of the session
	severed bool
}

func (l *Link) state() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.linkState
}

// NewLink returns a link whose frames are counted in ledger.
func NewLink(ledger *wire.Ledger) *Link {
	return &Link{ledger: ledger, further: map[*Link]bool{}, dialing: dial.NewMutex()}
}

// Ledger returns the ledger in which the link's frames are counted.
func (l *Link) Ledger() *wire.Ledger { return l.ledger }

func (l *Link) serve(servers []Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = slices.Clone(servers)
}

// The errors of connections through a link that refuses them.
var (
	errSevered = errors.New("the link is severed")
	errOver    = errors.New("the session of the link has ended")
)

// Server returns the server of the current connection, or of the last one; the zero value before the first.
func (l *Link) Server() Server { return l.state().server }

// Established reports whether the session has a connection on which a server has answered the connect request.
func (l *Link) Established() bool {
	current := l.state().current
	return current != nil && current.Established()
}

func (l *Link) dial(address string, timeout time.Duration) (net.Conn, error) {
	conn, err := l.open(address, timeout)
	if err != nil {
		return nil, err
	}
	return dial.Impatient(conn, l.ledger.Patience(len(l.state().servers))), nil
}

// open opens a counted connection, after the server has noticed the end of the last one. It has the server's credentials, which are
// housekeeping of the session.
//
// Note: go-zookeeper allows a second for a connection. A thousand clients that come back at once take longer for their TLS handshakes, and
// would begin again without end. ZooKeeper's own client allows this part of the session timeout.
func (l *Link) open(address string, timeout time.Duration) (net.Conn, error) {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	_ = l.awaitEnd(context.Background()) // the error could only come from the context
	state := l.state()
	switch {
	case state.severed:
		return nil, errSevered
	case l.ledger.Over() && !l.renews:
		return nil, errOver
	}
	server := withAddress(state.servers, address)
	if server.hasTLS() {
		timeout = max(timeout, cmp.Or(l.ledger.SessionTimeout(), SessionTimeout)/time.Duration(max(len(state.servers), 1)))
	}
	conn, err := dialWithin(server, timeout)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.severed {
		conn.Close()
		return nil, errSevered
	}
	l.current, l.server = l.ledger.Wrap(conn), server
	return server.authenticate(l.current), nil
}

// awaitEnd waits until the server has noticed that the last connection has ended, if a cut has ended it. That takes a round trip, and at
// most two seconds.
func (l *Link) awaitEnd(ctx context.Context) error {
	current := l.state().current
	if current == nil || current.Drained() == nil {
		return nil
	}
	select {
	case <-current.Drained():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Further returns a link for a further session of the same client, whose frames are counted in a further ledger of l's. The traps of l,
// Cut, Sever and Settle apply to all sessions of the client. Expire ends only the first session. The caller detaches the further link
// when its session has been closed.
func (l *Link) Further() *Link {
	f := NewLink(l.ledger.Further())
	f.client = l
	l.mu.Lock()
	defer l.mu.Unlock()
	f.severed = l.severed
	l.further[f] = true
	return f
}

// Detach removes a further link from the link of its client's first session.
func (l *Link) Detach() {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	delete(l.client.further, l)
}

func (l *Link) all() []*Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Link{l}, slices.Collect(maps.Keys(l.further))...)
}

// Cut ends the current connections at once. The client library connects again.
func (l *Link) Cut() {
	for _, link := range l.all() {
		link.end()
	}
}

func (l *Link) end() {
	if current := l.state().current; current != nil {
		current.End()
	}
}

// Sever ends the connections and refuses all further ones, as when the client's process has died: no close request is sent.
func (l *Link) Sever() {
	l.sever() // first, so that further sessions that begin from now on are severed, too
	for _, link := range l.all() {
		link.sever()
		link.end()
	}
}

func (l *Link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = true
}

// Settle returns when the counts of connections that were ended through the link are final. Before the client has connected again, or
// when the link is severed, that takes a round trip, and at most two seconds.
func (l *Link) Settle(ctx context.Context) error {
	for _, link := range l.all() {
		if err := link.awaitEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Expire ends the session at the servers by a second connection with the same id and password, which closes it. It returns
// [ErrNoSession] if the session does not exist. The client's own connection ends first, so that its counts are exact. When Expire
// returns, the client can connect again and learn of the end of its session. Servers close all connections while they elect a leader:
// Expire tries again for up to 30 seconds.
func (l *Link) Expire(ctx context.Context) error {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	s := l.ledger.Session()
	if s.ID == 0 {
		return ErrNoSession
	}
	l.end()
	if err := l.awaitEnd(ctx); err != nil {
		return err
	}
	if err := l.closeSession(ctx, s); err != nil {
		return fmt.Errorf("expire session %#x: %w", s.ID, err)
	}
	l.ledger.Closed()
	return nil
}

// An election takes a few seconds, even on a busy machine.
const (
	expirePatience = 30 * time.Second       // how long Expire waits for a server that closes the session
	expirePause    = 100 * time.Millisecond // between two rounds of asking all servers
)

// closeSession asks each of the session's servers, its last one first, until one has closed the session. It tries again for expirePatience.
func (l *Link) closeSession(ctx context.Context, s wire.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, expirePatience, fmt.Errorf("no server closed the session within %s", expirePatience))
	defer cancel()
	state := l.state()
	others := slices.DeleteFunc(slices.Clone(state.servers), func(s Server) bool { return s == state.server })
	for {
		var errs []error
		for _, server := range append([]Server{state.server}, others...) {
			err := closeSession(ctx, server, s)
			if err == nil || errors.Is(err, ErrNoSession) {
				return err
			}
			errs = append(errs, fmt.Errorf("%s: %w", server.Addr, err))
		}
		if late := Sleep(ctx, expirePause); late != nil {
			return errors.Join(late, errors.Join(errs...))
		}
	}
}

// ErrNoSession is the error of Expire if the servers do not have the session.
var ErrNoSession = errors.New("the session does not exist")

const maxReply = 1 << 20

const closeTimeout = 5 * time.Second

// closeSession resumes a session on a new connection to a server, and closes it.
func closeSession(ctx context.Context, server Server, s wire.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, closeTimeout, fmt.Errorf("the session was not closed within %s", closeTimeout))
	defer cancel()
	conn, err := server.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn = server.authenticate(conn)
	err = resume(conn, s)
	if err == nil {
		out := jute.NewFrame(8)
		out.Int(1) // the xid
		out.Int(int32(wire.OpClose))
		_, err = exchange(conn, out.Frame())
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// resume moves a session to a connection. It returns ErrNoSession if the server does not have the session.
func resume(conn net.Conn, s wire.Session) error {
	out := jute.NewFrame(64)
	out.Int(0)  // the version of the protocol
	out.Long(0) // the last zxid seen: any server will do
	out.Int(int32(SessionTimeout.Milliseconds()))
	out.Long(s.ID)
	out.Buffer(s.Password)
	frame, err := exchange(conn, out.Frame())
	if err != nil {
		return err
	}
	d := jute.NewDecoder(frame)
	d.Int() // the version
	d.Int() // the timeout
	if id := d.Long(); d.Err() == nil && id != s.ID {
		return ErrNoSession
	}
	return d.Err()
}

func exchange(conn net.Conn, frame []byte) ([]byte, error) {
	if _, err := conn.Write(frame); err != nil {
		return nil, err
	}
	return jute.ReadFrame(conn, maxReply)
}
