package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// noted is an observer that keeps everything that it receives.
type noted struct {
	mu        sync.Mutex
	exchanges int
	counts    wire.Counts // without bytes, which a notification does not tell
	over      []int64
	incidents []proxy.Incident
	resumed   int
}

func (n *noted) do(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *noted) Connected(_ int64, resumed bool, _ time.Duration) {
	n.do(func() {
		if resumed {
			n.resumed++
		}
	})
}
func (n *noted) Exchanged(_ int64, e wire.Exchange) {
	n.do(func() {
		n.exchanges++
		if e.Op == wire.OpCloseSession {
			return
		}
		n.counts.Requests[e.Op]++
		if e.Code != wire.OK {
			n.counts.Failed[e.Op]++
		}
		if e.Armed {
			n.counts.Watches[e.Op]++
		}
	})
}
func (n *noted) Notified(_ int64, e wire.Notification) {
	n.do(func() { n.counts.Notifications[e.Type]++ })
}
func (n *noted) Over(session int64, _ bool)          { n.do(func() { n.over = append(n.over, session) }) }
func (n *noted) Happened(i proxy.Incident)           { n.do(func() { n.incidents = append(n.incidents, i) }) }
func (n *noted) kinds() (kinds []proxy.IncidentKind) { return kindsOf(n.all()) }
func (n *noted) all() (incidents []proxy.Incident) {
	n.do(func() { incidents = slices.Clone(n.incidents) })
	return incidents
}

// await returns when what holds of what the observer got.
func (n *noted) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ensembletest.Await(t, func() (problem string) {
		n.do(func() {
			if !holds() {
				problem = fmt.Sprintf("%s is missing: %d sessions resumed, %d over, incidents %v", what, n.resumed, len(n.over), n.incidents)
			}
		})
		return problem
	})
}

func kindsOf(all []proxy.Incident) []proxy.IncidentKind {
	var kinds []proxy.IncidentKind
	for _, i := range all {
		kinds = append(kinds, i.Kind)
	}
	return kinds
}

func start(t *testing.T, servers ...string) (*proxy.Proxy, *noted) {
	t.Helper()
	return new(way).start(t, servers...)
}

func openSession(t *testing.T, at ensemble.Server) (*zk.Conn, *wire.Ledger) {
	t.Helper()
	ledger := wire.NewLedger(time.Now())
	conn := must.Get(ensemble.Connect(t.Context(), at, ledger, nil))(t)
	return conn, ledger
}

// The observer's counts equal those of the clients, to the last frame.
func TestObserverGetsWhatTheClientsCount(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		server := ensembletest.Embedded(t, embedded.Config{})
		p, n := w.start(t, w.front(t, server.Addr()))
		var clients sync.WaitGroup
		var want wire.Counts
		var mu sync.Mutex
		for i := range 20 {
			clients.Go(func() {
				conn, ledger := openSession(t, w.at(t, p.Addresses()[0]))
				contend(t, conn, i)
				conn.Close()
				mu.Lock()
				defer mu.Unlock()
				want.Add(ledger.Counts())
			})
		}
		clients.Wait()
		awaitClosed(t, p)
		got := n.counts
		if got.Requests != want.Requests || got.Failed != want.Failed || got.Watches != want.Watches ||
			got.Notifications != want.Notifications || want.TotalNotifications() == 0 {
			t.Errorf("the observer got\n%+v, the clients counted\n%+v", got, want)
		}
		if int64(n.exchanges) != want.TotalRequests()+20 {
			t.Errorf("the observer got %d exchanges of %d requests and 20 to close", n.exchanges, want.TotalRequests())
		}
		if len(n.over) != 20 || p.Sessions() != 0 || len(n.incidents) > 0 {
			t.Errorf("%d sessions were closed and %d are left, incidents %v", len(n.over), p.Sessions(), n.incidents)
		}
	})
}

// contend makes requests of many kinds, which fail, set watches, and fire watches of others.
func contend(t *testing.T, conn *zk.Conn, seed int) {
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	path := func() string { return fmt.Sprintf("/n%d", random.IntN(5)) }
	acl := zk.WorldACL(zk.PermAll)
	for range 200 {
		var err error
		switch random.IntN(7) {
		case 0:
			_, err = conn.Create(path(), nil, 0, acl)
		case 1:
			err = conn.Delete(path(), -1)
		case 2:
			_, _, _, err = conn.ExistsW(path())
		case 3:
			_, _, _, err = conn.ChildrenW("/")
		case 4:
			_, err = conn.Set(path(), make([]byte, random.IntN(30_000)), -1)
		case 5:
			_, _, _, err = conn.GetW(path())
		case 6:
			_, err = conn.Multi(&zk.CheckVersionRequest{Path: path()}, &zk.CreateRequest{Path: "/s-", Flags: zk.FlagSequence, Acl: acl})
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrBadVersion) {
			t.Error(err)
			return
		}
	}
}

// A session that moves to another connection, or to another server, joins its account; one that has expired is over.
func TestSessionJoinsItsAccount(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	p, n := start(t, server.Addr(), server.Addr())
	ledger := wire.NewLedger(time.Now())
	link := ensemble.NewLink(ledger)
	conn := must.Get(ensemble.OpenSession(t.Context(), ensemble.SessionConfig{Servers: ensembletest.At(p.Addresses()...), Link: link}))(t)
	defer conn.Close()
	server.Inject(embedded.Fault{Op: wire.OpExists, Do: embedded.DropBefore})
	for range 2 {
		_, _, _ = conn.Exists("/a") // the first one fails
	}
	n.await(t, "a session that is resumed", func() bool { return n.resumed == 1 })
	if p.Sessions() != 1 {
		t.Errorf("%d sessions, want the one", p.Sessions())
	}
	server.Expire(conn.SessionID())
	n.await(t, "the end of the session", func() bool { return len(n.over) > 0 })
	if !slices.Contains(n.kinds(), proxy.EndedServer) {
		t.Errorf("incidents %v, want that the server has ended connections", n.all())
	}
}

// echo is a server that sends everything back, until the client has ended its half, and then a farewell.
func echo(conn net.Conn) {
	_, _ = io.Copy(conn, conn)
	_, _ = io.WriteString(conn, "farewell")
}

// Every byte of any protocol is forwarded, in both directions and in its order, and the end of a half does not end the other one.
func TestForwardsEveryByte(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		p, n := w.start(t, w.serve(t, echo))
		encrypted := proxy.Encrypted
		if w.toServers && !w.toClients {
			encrypted = proxy.ClientTLS
		}
		random := rand.New(rand.NewPCG(4, 4))
		noise := make([]byte, 300_000)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		frame := func(length int, body []byte) []byte {
			return append([]byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}, body...)
		}
		handshake := frame(44, make([]byte, 44))
		for _, tt := range []struct {
			name string
			sent []byte
			want []proxy.IncidentKind
		}{
			{"nothing", nil, nil},
			{"a four-letter command", []byte("ruok"), nil},
			{"TLS", append([]byte{0x16, 0x03, 0x01}, noise[:500]...), []proxy.IncidentKind{encrypted}},
			{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"noise", append([]byte{0xff}, noise...), []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"half a length", []byte{0, 0}, []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"half a handshake", handshake[:20], []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"a short frame", frame(8, make([]byte, 8)), []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"a negative length", []byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}, []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"100 MB announced before the handshake", frame(100<<20, noise[:100]), []proxy.IncidentKind{proxy.NotZooKeeper}},
			{"100 MB announced after the handshake", slices.Concat(handshake, frame(100<<20, noise[:100])), []proxy.IncidentKind{proxy.EndedClient}},
			{"noise after the handshake", slices.Concat(handshake, noise), []proxy.IncidentKind{proxy.EndedClient}},
			{"frames without a header", slices.Concat(handshake, frame(3, []byte("abc")), frame(0, nil)), []proxy.IncidentKind{proxy.EndedClient, proxy.Unmatched}},
		} {
			for _, piece := range []int{1, 7, 1 << 20} {
				before := len(n.all())
				got := w.converse(t, p.Addresses()[0], tt.sent, piece)
				if want := append(slices.Clone(tt.sent), "farewell"...); !bytes.Equal(got, want) {
					t.Errorf("%s, in pieces of %d: received %d bytes that are not the %d that were sent", tt.name, piece, len(got), len(want))
				}
				if piece == 1 && len(tt.sent) > 10_000 {
					continue
				}
				awaitClosed(t, p)
				if kinds := kindsOf(n.all()[before:]); !slices.Equal(kinds, tt.want) {
					t.Errorf("%s, in pieces of %d: incidents %v, want %v", tt.name, piece, n.all()[before:], tt.want)
				}
			}
		}
		if s := p.Stats(); s.Commands != 3 {
			t.Errorf("%d four-letter commands, want 3", s.Commands)
		}
	})
}

func awaitClosed(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	ensembletest.Await(t, func() string {
		if s := p.Stats(); s.Open > 0 {
			return fmt.Sprintf("%d connections are open", s.Open)
		}
		return ""
	})
}

// converse sends some bytes in pieces, ends its half, and returns what it receives.
func (w *way) converse(t *testing.T, addr string, sent []byte, piece int) []byte {
	t.Helper()
	conn := must.Get(w.at(t, addr).Dial(t.Context()))(t)
	defer conn.Close()
	if len(sent) > 10_000 {
		piece = max(piece, 1000)
	}
	go func() {
		for p := range slices.Chunk(sent, piece) {
			_, _ = conn.Write(p)
		}
		_ = dial.CloseWrite(conn)
	}()
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return got
}

// The client learns of the server's end in the way in which the server ends: by the end of the stream, or by a reset. The
// server learns of the client's end in the same way.
func TestEndsAreForwarded(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		for _, tt := range []struct {
			name  string
			reset bool
		}{{"the end of the stream", false}, {"a reset", true}} {
			t.Run(tt.name, func(t *testing.T) {
				seen := make(chan error, 1)
				server := w.serve(t, func(conn net.Conn) {
					first := make([]byte, 4)
					_, _ = io.ReadFull(conn, first)
					if string(first) == "stop" {
						end(conn, tt.reset)
						return
					}
					_, _ = io.WriteString(conn, "here") // a reset discards what has not been forwarded
					_, err := conn.Read(first)
					seen <- err
				})
				p, _ := w.start(t, server)
				for _, word := range []string{"stop", "wait"} {
					conn := w.dial(t, p.Addresses()[0])
					_, _ = io.WriteString(conn, word)
					var err error
					if word == "stop" {
						_, err = conn.Read(make([]byte, 1))
					} else {
						_, _ = io.ReadFull(conn, make([]byte, len("here")))
						end(conn, tt.reset)
						err = <-seen
					}
					if errors.Is(err, syscall.ECONNRESET) != tt.reset || errors.Is(err, io.EOF) == tt.reset {
						t.Errorf("%s: the other side sees %v", word, err)
					}
				}
			})
		}
	})
}

// A server that does not listen ends the connection of the client, and is reported. Further clients are refused, as the server
// would refuse them, until it listens again.
func TestServerThatDoesNotListen(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := listener.Addr().String()
	listener.Close()
	p, n := start(t, server)
	addr := p.Addresses()[0]
	if conn, err := net.Dial("tcp", addr); err == nil { // the reset may be there before the connection is returned
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection stays open")
		}
	}
	n.await(t, "an incident", func() bool { return len(n.incidents) > 0 })
	if all := n.all(); len(all) != 1 || all[0].Kind != proxy.Unreachable || !strings.Contains(all[0].Detail, "refused") {
		t.Errorf("incidents %v", all)
	}
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a second client sees %v, want it to be refused", err)
	}
	listener, err := net.Listen("tcp", server)
	if err != nil {
		t.Skip("another process has the port by now")
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			echo(conn)
			conn.Close()
		}
	}()
	ensembletest.Await(t, func() string {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return "the server listens, and the proxy does not: " + err.Error()
		}
		conn.Close()
		return ""
	})
	if got := new(way).converse(t, addr, []byte("ruok"), 4); string(got) != "ruokfarewell" {
		t.Errorf("received %q", got)
	}
	if p.Addresses()[0] != addr {
		t.Errorf("the address was %s and is %s", addr, p.Addresses()[0])
	}
}

// A server that refuses a session, and one that ends with requests under way, are reported with all known details.
func TestServerThatGoesAway(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	p, n := start(t, server.Addr())
	conn, _ := openSession(t, ensemble.Server{Addr: p.Addresses()[0]})
	defer conn.Close()
	server.Inject(embedded.Fault{Op: wire.OpDelete, Do: embedded.DropAfter})
	_ = conn.Delete("/a", -1)
	n.await(t, "the end of a connection with one request without a reply", func() bool {
		return slices.ContainsFunc(n.incidents, func(i proxy.Incident) bool {
			return i.Kind == proxy.EndedServer && i.Unanswered == 1 && i.Session != 0 && i.Client != ""
		})
	})
	resume := append([]byte{0, 0, 0, 44}, make([]byte, 44)...)
	resume[27] = 7 // a session that does not exist
	raw := must.Get(net.Dial("tcp", p.Addresses()[0]))(t)
	defer raw.Close()
	_, _ = raw.Write(resume)
	_, _ = io.ReadAll(raw)
	n.await(t, "a refusal", func() bool {
		return slices.ContainsFunc(n.incidents, func(i proxy.Incident) bool {
			return i.Kind == proxy.Refused && strings.Contains(i.Detail, "session 0x7 does not exist")
		})
	})
}

// A client that sends its last requests and ends its half without waiting is counted like any other: the replies are not lost,
// and the session is closed.
func TestClientThatDoesNotWait(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		server := ensembletest.Embedded(t, embedded.Config{})
		p, n := w.start(t, w.front(t, server.Addr()))
		conn := w.dial(t, p.Addresses()[0])
		hello := append([]byte{0, 0, 0, 44}, make([]byte, 44)...)
		hello[19] = 0x10 // a timeout of 4 s
		hello[18] = 0x10
		exists := []byte{0, 0, 0, 14, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1, '/', 0}
		end := []byte{0, 0, 0, 8, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xf5}
		_, _ = conn.Write(slices.Concat(hello, exists, end))
		_ = dial.CloseWrite(conn)
		_, _ = io.ReadAll(conn)
		awaitClosed(t, p)
		if kinds := n.kinds(); len(kinds) > 0 || n.exchanges != 2 || len(n.over) != 1 || p.Sessions() != 0 {
			t.Errorf("incidents %v, %d exchanges, %d sessions over, %d left", n.all(), n.exchanges, len(n.over), p.Sessions())
		}
	})
}

// A session whose client has vanished is over when its timeout has passed, although no other client connects.
func TestSessionThatRanOut(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{Tick: 100 * time.Millisecond})
	p, n := start(t, server.Addr())
	conn := must.Get(net.Dial("tcp", p.Addresses()[0]))(t)
	hello := append([]byte{0, 0, 0, 44}, make([]byte, 44)...)
	hello[19] = 1 // the shortest timeout that the server grants
	_, _ = conn.Write(hello)
	_, _ = conn.Read(make([]byte, 41))
	conn.Close()
	n.await(t, "the end of the session", func() bool { return len(n.over) > 0 })
	if p.Sessions() != 0 || !slices.Contains(n.kinds(), proxy.EndedClient) {
		t.Errorf("%d sessions are left, incidents %v", p.Sessions(), n.all())
	}
}

// Sessions that come and go leave nothing behind: neither accounts nor goroutines.
func TestNothingIsLeft(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		server := w.front(t, ensembletest.Embedded(t, embedded.Config{}).Addr())
		before := runtime.NumGoroutine()
		p, n := w.start(t, server)
		for range 50 {
			conn, _ := openSession(t, w.at(t, p.Addresses()[0]))
			_, _, _ = conn.Exists("/")
			conn.Close()
		}
		awaitClosed(t, p)
		if got := n.counts.TotalRequests(); got != 50 || len(n.over) != 50 {
			t.Errorf("%d requests, %d sessions closed, want 50 of each", got, len(n.over))
		}
		if n := p.Accounts(); n != 0 {
			t.Errorf("%d accounts are left", n)
		}
		open, _ := openSession(t, w.at(t, p.Addresses()[0]))
		p.Close()
		if _, err := net.Dial("tcp", p.Addresses()[0]); err == nil {
			t.Error("a closed proxy listens")
		}
		open.Close()
		ensembletest.Await(t, func() string {
			if n := runtime.NumGoroutine(); n > before {
				return fmt.Sprintf("%d goroutines, %d before", n, before)
			}
			return ""
		})
	})
}

// An address that is in use is an error, after which no other address stays in use.
func TestAddressThatIsTaken(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	ports := must.Get(ensemble.FreePorts(1))(t)
	free := fmt.Sprintf("127.0.0.1:%d", ports[0])
	_, err := proxy.Start(context.Background(), proxy.Config{Servers: []string{"a:1", "b:1"}, Listen: []string{free, listener.Addr().String()}, Observer: &noted{}})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error %v", err)
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the first address is still taken: %v", err)
	}
	again.Close()
	if _, err := proxy.Start(t.Context(), proxy.Config{Servers: []string{"a:1", "b:1"}, Listen: []string{free}, Observer: &noted{}}); err == nil {
		t.Error("one address for two servers is accepted")
	}
}

// The watches that are set now are those of the sessions that are connected.
func TestWatchesNow(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	p, _ := start(t, server.Addr())
	conn, _ := openSession(t, ensemble.Server{Addr: p.Addresses()[0]})
	id := conn.SessionID()
	for _, path := range []string{"/zookeeper", "/missing"} {
		_, _, _, err := conn.ExistsW(path)
		must.Do(t, err)
	}
	got := p.Watches()[id]
	if slices.Sort(got); !slices.Equal(got, []string{"/missing", "/zookeeper"}) {
		t.Errorf("watches %q", got)
	}
	must.Get(conn.Create("/missing", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	if got := p.Watches()[id]; !slices.Equal(got, []string{"/zookeeper"}) {
		t.Errorf("after one has fired: watches %q", got)
	}
	conn.Close()
	awaitClosed(t, p)
	if got := p.Watches()[id]; len(got) > 0 {
		t.Errorf("after the end: watches %q", got)
	}
}

// A client beyond those that fit is reset and reported as such. The others go on, the address stays open, and a place that becomes free
// is used.
func TestMoreClientsThanFit(t *testing.T) {
	full := fmt.Errorf("two clients fit: %w", dial.ErrOwnLimit)
	n := &noted{}
	servers := []string{ensembletest.Listen(t, echo), ensembletest.Listen(t, echo)}
	p := must.Get(proxy.Start(t.Context(), proxy.Config{Servers: servers, Epoch: time.Now(), Observer: n, Most: 2, Full: full}))(t)
	t.Cleanup(p.Close)
	one, two := p.Addresses()[0], p.Addresses()[1]
	open := func(addr string) net.Conn { return must.Get(net.Dial("tcp", addr))(t) }
	first, second := open(one), open(two)
	exchange := func(conn net.Conn) error {
		_, err := conn.Write([]byte("ruok"))
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, 4))
		}
		return err
	}
	must.Do(t, errors.Join(exchange(first), exchange(second)))
	for range 3 {
		conn, err := net.Dial("tcp", two)
		if err == nil {
			err = exchange(conn)
		}
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a third client: %v, want a reset", err)
		}
	}
	must.Do(t, errors.Join(exchange(first), exchange(second)))
	first.Close()
	ensembletest.Await(t, func() string {
		if p.Stats().Open > 1 {
			return "the place is not free"
		}
		return ""
	})
	third := open(two)
	must.Do(t, errors.Join(exchange(third), exchange(second)))
	s := p.Stats()
	if s.Incidents[proxy.OwnLimit] != 3 || len(s.Incidents) != 1 || s.Limit != full.Error() || s.Connections != 6 {
		t.Errorf("%+v", s)
	}
}
