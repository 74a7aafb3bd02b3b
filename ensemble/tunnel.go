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

// Tunnel is an address at which a session of another program connects through a link: its frames are counted in the link's ledger, and
// the link can cut, sever and expire it. Everything else is forwarded unchanged. Like its link, a tunnel serves one session.
type Tunnel struct {
	link     *Link
	servers  []Server
	observe  func(zk.Event)
	listener net.Listener
	serving  sync.WaitGroup
	single   dial.Mutex // held by the connection that is forwarded, so that its end is reported before the next one begins
	turn     int        // the number of connections so far that have been given a server; guarded by single

	mu     sync.Mutex
	closed bool
	conns  []net.Conn // of the client, oldest first, beginning with the latest that has asked for the session
}

const tunnelTimeout = 5 * time.Second

// OpenTunnel listens on loopback, until Close. The session uses these servers, its home first; a client that connects again gets
// the next one. observe, if not nil, is called when the session has a connection, loses it, or has ended, like Observe of a
// [SessionConfig], and must not block.
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

// Address returns the host:port at which the tunnel listens.
func (t *Tunnel) Address() string { return t.listener.Addr().String() }

// Close ends the tunnel and its connections. It may be called for nil.
func (t *Tunnel) Close() {
	if t == nil {
		return
	}
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

// supersede closes the connections that the client has made before this one. The client no longer uses them.
func (t *Tunnel) supersede(client net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := max(slices.Index(t.conns, client), 0)
	for _, conn := range t.conns[:own] {
		conn.Close()
	}
	t.conns = t.conns[own:]
}

func (t *Tunnel) isSuperseded(client net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.Contains(t.conns, client)
}

// serve forwards one connection of the client until it ends, with one write for each frame.
func (t *Tunnel) serve(client net.Conn) {
	frame, err := jute.ReadFrame(client, mostFrame)
	id, known := wire.SessionToResume(frame) // of another session, if the client's own tunnel had the same port before
	if err != nil || !known || id != 0 && id != t.link.ledger.Session().ID {
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
		if _, err = server.Write(jute.Framed(frame)); err == nil {
			frame, err = jute.ReadFrame(client, mostFrame)
		}
	}
	_ = server.Close()
	replies.Wait()
	t.event(zk.StateDisconnected)
}

// receive forwards the bytes from the server. The first ones answer the connect request.
func (t *Tunnel) receive(client, server net.Conn) {
	buffer := make([]byte, 16<<10)
	for greeted := false; ; greeted = true {
		n, err := server.Read(buffer)
		if n > 0 && !greeted {
			t.event(map[bool]zk.State{true: zk.StateExpired, false: zk.StateHasSession}[t.link.ledger.Over()])
		}
		if _, failed := client.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (t *Tunnel) event(state zk.State) { t.observe(zk.Event{Type: zk.EventSession, State: state}) }

// mostFrame bounds the frames of a client, like the servers' jute.maxbuffer.
const mostFrame = 16 << 20
