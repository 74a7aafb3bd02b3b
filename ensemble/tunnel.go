package ensemble

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/dial"
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

	mu     sync.Mutex
	next   int // index in servers
	closed bool
	conns  map[net.Conn]int // of the client, with their numbers in the order in which they were made
	made   int              // connections so far
	latest int              // the largest number of a connection that has asked for the session
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
	t := &Tunnel{link: l, servers: servers, observe: observe, listener: listener, single: dial.NewMutex(), conns: map[net.Conn]int{}}
	t.serving.Go(t.accept)
	return t, nil
}

// Address returns where the tunnel listens.
func (t *Tunnel) Address() string { return t.listener.Addr().String() }

// Close ends the tunnel and its connections.
func (t *Tunnel) Close() {
	t.mu.Lock()
	t.closed = true
	for conn := range t.conns {
		conn.Close()
	}
	t.mu.Unlock()
	t.listener.Close()
	t.serving.Wait()
}

func (t *Tunnel) accept() {
	for {
		client, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(settlePause)
			continue
		}
		if !t.add(client) {
			return
		}
		t.serving.Go(func() {
			defer t.remove(client)
			t.serve(client)
		})
	}
}

// settlePause follows an error of accept, such as too many open files.
const settlePause = 50 * time.Millisecond

func (t *Tunnel) add(client net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		client.Close()
		return false
	}
	t.made++
	t.conns[client] = t.made
	return true
}

// turn returns the server of the next connection.
func (t *Tunnel) turn() Server {
	t.mu.Lock()
	defer t.mu.Unlock()
	server := t.servers[t.next%len(t.servers)]
	t.next++
	return server
}

func (t *Tunnel) remove(client net.Conn) {
	client.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, client)
}

// supersede closes the connections that the client has made before this one: it has given them up.
func (t *Tunnel) supersede(client net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.conns[client]
	t.latest = max(t.latest, number)
	for conn, other := range t.conns {
		if other < number {
			conn.Close()
		}
	}
}

// isSuperseded reports whether a connection is not to be forwarded: the client has made a later one, or the tunnel is closed.
func (t *Tunnel) isSuperseded(client net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed || t.conns[client] < t.latest
}

// serve forwards one connection of the client until it ends.
func (t *Tunnel) serve(client net.Conn) {
	hello, err := readFrame(client, nil)
	if err != nil || t.isForeign(hello) {
		return
	}
	t.supersede(client)
	t.single.Lock()
	defer t.single.Unlock()
	if t.isSuperseded(client) {
		return
	}
	server, err := t.link.open(t.turn().Addr, tunnelTimeout)
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
	if _, err := server.Write(hello); err == nil {
		forwardFrames(server, client)
	}
	_ = server.Close()
	replies.Wait()
	t.event(zk.StateDisconnected)
}

// receive forwards what the server sends. The first of it answers the connect request.
func (t *Tunnel) receive(client net.Conn, server *trappedConn) {
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

// forwardFrames copies a stream, with one write for each frame.
func forwardFrames(to io.Writer, from io.Reader) {
	var frame []byte
	for {
		var err error
		if frame, err = readFrame(from, frame); err != nil {
			return
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

// errFrame is the error of a frame that no server would accept.
var errFrame = errors.New("a frame of an impossible length")

// readFrame reads one frame with its length, into the memory of an earlier one if that is large enough.
func readFrame(from io.Reader, frame []byte) ([]byte, error) {
	if cap(frame) < tunnelBuffer {
		frame = make([]byte, tunnelBuffer)
	}
	if _, err := io.ReadFull(from, frame[:headerSize]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(frame[:headerSize])))
	if n < 0 || n > mostFrame {
		return nil, errFrame
	}
	if need := headerSize + n; need > cap(frame) {
		frame = append(make([]byte, 0, need), frame[:headerSize]...)
	}
	frame = frame[:headerSize+n]
	_, err := io.ReadFull(from, frame[headerSize:])
	return frame, err
}

// isForeign reports whether a connect request is for another session than the tunnel's, such as that of a client whose own tunnel had the
// same port before.
func (t *Tunnel) isForeign(hello []byte) bool {
	id, known := wire.SessionToResume(hello[headerSize:])
	return !known || id != 0 && id != t.link.ledger.Session().ID
}
