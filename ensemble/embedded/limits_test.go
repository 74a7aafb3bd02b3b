package embedded

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// dialPiped connects to a server, in virtual time. The pipe has no buffers, so a write lasts until the frame is read.
func dialPiped(t *testing.T) (*Server, net.Conn) {
	t.Helper()
	return dialThrough(t, func(c net.Conn) net.Conn { return c })
}

// dialThrough is dialPiped with another layer at the server's end.
func dialThrough(t *testing.T, layer func(net.Conn) net.Conn) (*Server, net.Conn) {
	t.Helper()
	s := newQuorum(Config{}).servers[0]
	client, server := net.Pipe()
	s.open(layer(server))
	t.Cleanup(func() {
		client.Close()
		s.mu.Lock()
		for c := range s.connections { // frames could be held back for an hour
			s.drop(c)
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s, client
}

func shakeHands(t *testing.T, conn net.Conn) {
	t.Helper()
	must.Get(conn.Write(conversation(greeted, nil)))(t)
	must.Get(jute.ReadFrame(conn, 100))(t)
}

func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(2 * handshakeTimeout))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want the end of the connection", err)
	}
}

// A connection without a complete handshake is closed in time.
func TestHandshakeTimeout(t *testing.T) {
	for name, said := range map[string][]byte{
		"nothing": nil, "half a length": {0, 0}, "half a frame": conversation(greeted, nil)[:20],
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, conn := dialPiped(t)
				must.Get(conn.Write(said))(t)
				ended(t, conn)
			})
		})
	}
}

// A client that closes its session without reading the reply leaves nothing behind.
func TestFarewellTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conn := dialPiped(t)
		shakeHands(t, conn)
		var bye jute.Encoder
		bye.Int(1)
		bye.Int(int32(wire.OpClose))
		must.Get(conn.Write(append([]byte{0, 0, 0, 8}, bye.Bytes()...)))(t)
		s.running.Wait()
		must.Do(t, inspect(s))
	})
}

// The server reads no further requests of a client that leaves too many replies unread.
func TestOutboxIsBounded(t *testing.T) {
	synctest.Test(t, checkOutboxIsBounded)
}

func checkOutboxIsBounded(t *testing.T) {
	s, conn := dialPiped(t)
	shakeHands(t, conn)
	s.DelayNotifications(time.Hour)
	written := make(chan int)
	go func() {
		n := 0
		for request := conversation(framed, append([]byte{byte(wire.OpExists), 5}, 0, 0, 0, 0, 1))[len(conversation(greeted, nil)):]; ; n++ {
			if n == 1 { // holds up all later replies
				s.mu.Lock()
				for c := range s.connections {
					c.notify(event{typ: wire.NodeCreated, path: "/x"}, 1)
				}
				s.mu.Unlock()
			}
			_ = conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
			if _, err := conn.Write(request); err != nil {
				written <- n
				return
			}
		}
	}()
	if n := <-written; n > 2*outboxLimit/20 {
		t.Errorf("%d requests were read although nothing was taken", n)
	}
}

// Frames behind a held frame wait for it. The requests are executed nevertheless.
func TestFlushLeavesHeldFramesToTheWriter(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	o := newOutbox(server)
	o.put(item{frame: []byte("a"), until: make(chan struct{})})
	o.put(item{frame: []byte("b")})
	o.flush() // would not return
	if len(o.items) != 2 || o.busy {
		t.Errorf("%d items wait, busy %t", len(o.items), o.busy)
	}
}

// The sum of service delays is exact, although single ones are too short for a sleep.
func TestServiceDelays(t *testing.T) {
	const overrun = 300 * time.Microsecond
	for _, tt := range []struct {
		name    string
		delay   time.Duration
		between time.Duration // idle after each request
		n       int
		want    time.Duration
	}{
		{"long ones", 5 * time.Millisecond, 0, 10, 50 * time.Millisecond},
		{"short ones, in a herd", 50 * time.Microsecond, 0, 1000, 50 * time.Millisecond},
		{"none", 0, 0, 1000, 0},
		{"short ones, alone", 50 * time.Microsecond, 10 * time.Millisecond, 10, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, slept := newQuorum(Config{}).servers[0], time.Duration(0)
			s.sleep = func(d time.Duration) {
				time.Sleep(d + overrun)
				slept += d + overrun
			}
			for range tt.n {
				s.delay(tt.delay)
				time.Sleep(tt.between)
			}
			if diff := slept - tt.want; diff.Abs() > 2*time.Millisecond {
				t.Errorf("%s: %d delays of %s come to %s, want about %s", tt.name, tt.n, tt.delay, slept, tt.want)
			}
		})
	}
}

// A request counts for all traps that wait for it, even if it sets one of them off.
func TestTrapsCountIndependently(t *testing.T) {
	s := newQuorum(Config{}).servers[0]
	first := s.Inject(Fault{Op: wire.OpCreate, Nth: 1})
	second := s.Inject(Fault{Op: wire.OpCreate, Nth: 2})
	third := s.Inject(Fault{Op: wire.OpCreate, Nth: 2})
	other := s.Inject(Fault{Op: wire.OpDelete})
	for i, want := range []*Trap{first, second, third, nil} {
		if got := s.trapFor(1, wire.OpCreate); got != want {
			t.Errorf("create %d went into the wrong trap", i+1)
		}
	}
	if s.trapFor(1, wire.OpDelete) != other {
		t.Error("the delete did not go into its trap")
	}
}
