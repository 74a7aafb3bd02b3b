package ensemble

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Tunnel is an address at which a session of another program takes the way of a link: its frames are counted in the link's ledger, and the
// link can cut, sever and expire it. Everything else is forwarded unchanged. Like its link, a tunnel serves one session.
type Tunnel struct {
	link     *Link
	servers  []Server
	observe  func(zk.Event)
	listener net.Listener
	serving  sync.WaitGroup
	single   dial.Mutex // held by the connection that is forwarded, so that its end is reported before the next one begins
	turn     int        // how many connections have been given a server; guarded by single

	mu     sync.Mutex
	closed bool
	conns  []net.Conn // of the client, in the order in which they were made, from the latest that has asked for the session
}

// tunnelTimeout is how long a server may take to accept a connection of a tunnel.
const tunnelTimeout = 5 * time.Second

// OpenTunnel listens on loopback, until Close. The servers are those of the session, its home first; a client that connects again gets the
// next one. observe, if not nil, is called when the session has a connection, loses it, or has ended, as it is for a session of
// [OpenSession], and must not block.
func (l *Link) OpenTunnel(ctx context.Context, servers []Server, observe func(zk.Event)) (*Tunnel, error) {
	if observe == nil {
		observe = func(zk.Event) {}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l.serve(servers)
	t := &Tunnel{link: l, servers: servers, observe: observe, listener: listener, single: dial.NewMutex()}
	t.serving.Go(func() { dial.Accept(listener, func(error) {}, t.begin) })
	return t, nil
}

// Address returns where the tunnel listens.
func (t *Tunnel) Address() string { return t.listener.Addr().String() }

// Close ends the tunnel and its connections.
func (t *Tunnel) Close() {
	t.mu.Lock()
	t.closed = true
	for _, conn := range t.conns {
		conn.Close()
	}
	t.conns = nil
	t.mu.Unlock()
	t.listener.Close()
	t.serving.Wait()
}

// begin serves a connection in the background, unless the tunnel is closed.
func (t *Tunnel) begin(client net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		client.Close()
		return
	}
	t.conns = append(t.conns, client)
	t.serving.Go(func() {
		defer t.end(client)
		t.serve(client)
	})
}

func (t *Tunnel) end(client net.Conn) {
	client.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = slices.DeleteFunc(t.conns, func(c net.Conn) bool { return c == client })
}

// supersede closes the connections that the client has made before this one: it has given them up.
func (t *Tunnel) supersede(client net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := max(slices.Index(t.conns, client), 0)
	for _, conn := range t.conns[:own] {
		conn.Close()
	}
	t.conns = t.conns[own:]
}

// isSuperseded reports whether a connection is not to be forwarded: the client has made a later one, or the tunnel is closed.
func (t *Tunnel) isSuperseded(client net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.Contains(t.conns, client)
}

// serve forwards one connection of the client until it ends, with one write for each frame.
func (t *Tunnel) serve(client net.Conn) {
	frame, err := jute.ReadFrame(client, mostFrame)
	if err != nil || t.isForeign(frame) {
		return
	}
	t.supersede(client)
	t.single.Lock()
	defer t.single.Unlock()
	if t.isSuperseded(client) {
		return
	}
	server, err := t.link.open(t.servers[t.turn%len(t.servers)].Addr, tunnelTimeout)
	t.turn++
	if errors.Is(err, errOver) || errors.Is(err, errSevered) {
		t.event(zk.StateExpired)
	}
	if err != nil {
		return
	}
	var replies sync.WaitGroup
	replies.Go(func() {
		defer client.Close()
		t.receive(client, server)
	})
	for err == nil {
		whole := jute.NewFrame(len(frame))
		whole.Raw(frame)
		if _, err = server.Write(whole.Frame()); err == nil {
			frame, err = jute.ReadFrame(client, mostFrame)
		}
	}
	_ = server.Close()
	replies.Wait()
	t.event(zk.StateDisconnected)
}

// receive forwards what the server sends. The first of it answers the connect request.
func (t *Tunnel) receive(client net.Conn, server *wire.Conn) {
	buffer := make([]byte, tunnelBuffer)
	for greeted := false; ; greeted = true {
		n, err := server.Read(buffer)
		if n > 0 && !greeted {
			t.greeted()
		}
		if _, failed := client.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

const tunnelBuffer = 16 << 10

// greeted reports what the answer to a connect request means.
func (t *Tunnel) greeted() {
	if t.link.ledger.Over() {
		t.event(zk.StateExpired)
	} else {
		t.event(zk.StateHasSession)
	}
}

func (t *Tunnel) event(state zk.State) { t.observe(zk.Event{Type: zk.EventSession, State: state}) }

// mostFrame bounds the frames of a client, like the servers' jute.maxbuffer.
const mostFrame = 16 << 20

// isForeign reports whether a connect request is for another session than the tunnel's, such as that of a client whose own tunnel had the
// same port before.
func (t *Tunnel) isForeign(hello []byte) bool {
	id, known := wire.SessionToResume(hello)
	return !known || id != 0 && id != t.link.ledger.Session().ID
}
