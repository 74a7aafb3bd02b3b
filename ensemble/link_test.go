package ensemble_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// linked is a session over a link, with its events.
type linked struct {
	*zk.Conn
	link   *ensemble.Link
	states chan zk.State
}

func openLinked(t *testing.T, servers ...string) linked {
	t.Helper()
	return openOn(t, ensemble.NewLink(wire.NewLedger(time.Now())), servers...)
}

func openOn(t *testing.T, link *ensemble.Link, servers ...string) linked {
	t.Helper()
	return openAt(t, link, ensembletest.At(servers...))
}

func openAt(t *testing.T, link *ensemble.Link, servers []ensemble.Server) linked {
	t.Helper()
	l := linked{link: link, states: make(chan zk.State, 1000)}
	conn := must.Get(ensemble.OpenSession(t.Context(), ensemble.SessionConfig{
		Servers: servers, Link: l.link, Timeout: 4 * time.Second,
		Observe: func(e zk.Event) {
			if e.Type == zk.EventSession {
				l.states <- e.State
			}
		},
	}))(t)
	t.Cleanup(conn.Close)
	l.Conn = conn
	l.await(t, zk.StateHasSession)
	return l
}

func (l linked) await(t *testing.T, want zk.State) {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case got := <-l.states:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("the session did not come to %s", want)
		}
	}
}

func (l linked) make(path string) error {
	_, err := l.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

func exists(t *testing.T, c linked, path string) bool {
	t.Helper()
	found, _, err := c.Exists(path)
	must.Do(t, err)
	return found
}

// A request that is cut before it is sent has no effect; one that is cut afterwards has. The session goes on.
func TestCuts(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	for _, tt := range []struct {
		name  string
		after bool
		count int64
	}{{"before", false, 0}, {"after", true, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			victim, other := openLinked(t, addr), openLinked(t, addr)
			id, path := victim.SessionID(), "/"+tt.name
			trap := wire.CutFirst([]*wire.Ledger{victim.link.Ledger()}, wire.OpCreate, tt.after)
			if exists(t, victim, path) {
				t.Fatal("the znode exists already")
			}
			select {
			case <-trap.Fired():
				t.Fatal("another request has sprung the trap")
			default:
			}
			if err := victim.make(path); !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("the create returned %v", err)
			}
			<-trap.Fired()
			if trap.Disarm() {
				t.Error("a trap that has fired was disarmed")
			}
			victim.await(t, zk.StateHasSession)
			l := victim.link.Ledger()
			if got := exists(t, other, path); got != tt.after {
				t.Errorf("made: %t, want %t", got, tt.after)
			}
			if c := l.Counts(); c.Requests[wire.OpCreate] != tt.count || c.LostReplies != tt.count || victim.SessionID() != id || l.Reconnects() != 1 {
				t.Errorf("%d creates, %d lost replies, %d reconnects, session %x after %x", c.Requests[wire.OpCreate], c.LostReplies, l.Reconnects(), victim.SessionID(), id)
			}
		})
	}
}

func TestDisarm(t *testing.T) {
	victim := openLinked(t, ensembletest.Embedded(t, embedded.Config{}).Addr())
	if trap := wire.CutFirst([]*wire.Ledger{victim.link.Ledger()}, wire.OpCreate, true); !trap.Disarm() || trap.Disarm() {
		t.Error("disarmed other than once")
	}
	wire.CutFirst([]*wire.Ledger{victim.link.Ledger()}, wire.OpGetChildren, false) // the library sends getChildren2
	must.Do(t, victim.make("/x"))
	if _, _, err := victim.Children("/"); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("getChildren returned %v", err)
	}
}

// A trap for the first of several sessions cuts the one that sends the operation, and none after it.
func TestCutFirst(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	idle, first, second := openLinked(t, addr), openLinked(t, addr), openLinked(t, addr)
	trap := wire.CutFirst([]*wire.Ledger{idle.link.Ledger(), first.link.Ledger(), second.link.Ledger()}, wire.OpCreate, false)
	if err := first.make("/first"); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("the first create returned %v", err)
	}
	<-trap.Fired()
	if trap.Victim() != 1 || trap.Disarm() {
		t.Error("the trap has another victim, or was disarmed after it fired")
	}
	if err := second.make("/second"); err != nil {
		t.Errorf("the second create: %v", err)
	}
	first.await(t, zk.StateHasSession)
	if err := first.make("/first"); err != nil {
		t.Errorf("the first create, again: %v", err)
	}
}

// A severed session is left to the server: its znodes stay, and no close request is sent.
func TestSever(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	victim, other := openLinked(t, addr), openLinked(t, addr)
	must.Do(t, victim.make("/x"))
	victim.link.Sever()
	victim.await(t, zk.StateDisconnected)
	victim.Close()
	must.Do(t, victim.link.Settle(t.Context()))
	l := victim.link.Ledger()
	if c := l.Counts(); !exists(t, other, "/x") || c.SessionsOpened != 1 || c.SessionsClosed != 0 || l.Reconnects() != 0 {
		t.Errorf("exists %t, %d sessions opened, %d closed, %d reconnects", exists(t, other, "/x"), c.SessionsOpened, c.SessionsClosed, l.Reconnects())
	}
	if err := victim.link.Expire(t.Context()); err != nil || exists(t, other, "/x") {
		t.Errorf("expired with %v, the znode exists: %t", err, exists(t, other, "/x"))
	}
}

// Expire ends the session, its client learns of it, and gets no other session through the link.
func TestExpire(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	victim, other := openLinked(t, addr), openLinked(t, addr)
	must.Do(t, victim.make("/x"))
	requests := victim.link.Ledger().Traffic().Requests
	must.Do(t, victim.link.Expire(t.Context()))
	if exists(t, other, "/x") {
		t.Error("the session's znode is still there")
	}
	victim.await(t, zk.StateExpired)
	if err := victim.link.Expire(t.Context()); !errors.Is(err, ensemble.ErrNoSession) {
		t.Errorf("expired again: %v", err)
	}
	if err := victim.make("/y"); err == nil {
		t.Error("the link leads to another session")
	}
	l := victim.link.Ledger()
	if c := l.Counts(); c.SessionsOpened != 1 || c.SessionsClosed != 1 || l.Traffic().Requests != requests {
		t.Errorf("%d sessions opened, %d closed, %d requests after %d", c.SessionsOpened, c.SessionsClosed, l.Traffic().Requests, requests)
	}
}

func TestExpireReportsAMissingSession(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	if err := ensemble.NewLink(wire.NewLedger(time.Now())).Expire(t.Context()); !errors.Is(err, ensemble.ErrNoSession) {
		t.Errorf("before any session: %v", err)
	}
	victim := openLinked(t, server.Addr())
	victim.link.Sever()
	if !server.Expire(victim.SessionID()) {
		t.Fatal("the server did not have the session")
	}
	if err := victim.link.Expire(t.Context()); !errors.Is(err, ensemble.ErrNoSession) {
		t.Errorf("of a session that has run out: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := openLinked(t, server.Addr()).link.Expire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// Servers that elect a leader close all connections, and end sessions later.
func TestExpireWaitsForAnElection(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{}).Addr()
	var refusals atomic.Int32
	voter := ensembletest.Listen(t, func(conn net.Conn) {
		if refusals.Add(-1) < 0 {
			forward(conn, conn, server)
		}
	})
	victim := openLinked(t, voter, voter)
	refusals.Store(5) // two rounds of asking both, and a half
	if err := victim.link.Expire(t.Context()); err != nil {
		t.Errorf("while servers elect: %v", err)
	}
	victim.await(t, zk.StateExpired)
	if left := refusals.Load(); left >= 0 {
		t.Errorf("%d connections were not refused: the test tests nothing", left+1)
	}
}

// A session begins at its home, and goes to the next server when its connection ends.
func TestSessionMovesInTurn(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{}).Addr()
	first, second := fakeServer(t, 0, srvr, server), fakeServer(t, 0, srvr, server)
	c := openLinked(t, first, second)
	var visited []string
	for range 4 {
		visited = append(visited, c.Server())
		c.link.Cut()
		c.await(t, zk.StateHasSession)
	}
	if want := []string{first, second, first, second}; !slices.Equal(visited, want) {
		t.Errorf("servers %v, want %v", visited, want)
	}
	if n := c.link.Ledger().Counts().SessionsOpened; n != 1 {
		t.Errorf("%d sessions, want one", n)
	}
}

// quiet accepts connections, and says nothing on them.
type quiet struct{}

func (quiet) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := dial.Pipe()
	go func() { _, _ = io.Copy(io.Discard, server) }()
	return client, nil
}

// A session whose next server accepts its connection and does not answer goes on to another one before its timeout ends.
func TestSessionLeavesASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.Memory(embedded.Config{})
		defer server.Close()
		servers := []ensemble.Server{{Addr: "192.0.2.1:2181", Dialer: server}, {Addr: "192.0.2.2:2181", Dialer: quiet{}}}
		c := openAt(t, ensemble.NewLink(wire.NewLedger(time.Now())), servers)
		session := c.SessionID()
		c.link.Cut()
		c.await(t, zk.StateDisconnected)
		c.await(t, zk.StateHasSession)
		if c.SessionID() != session {
			t.Error("the session is another one")
		}
		c.Close()
		time.Sleep(time.Minute) // for the client library, which is closing
	})
}

// A session with several servers is opened although its home does not answer.
func TestOpenSessionElsewhere(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{}).Addr()
	if got := openLinked(t, "127.0.0.1:1", server).Server(); got != server {
		t.Errorf("connected to %s", got)
	}
	if _, err := ensemble.OpenSession(t.Context(), ensemble.SessionConfig{}); err == nil {
		t.Error("connected to no server")
	}
}

// A further session shares its client's traps, cuts and counts, and outlives an expiry of the first one.
func TestFurtherLink(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{}).Servers()[0].Addr
	first := openLinked(t, server)
	further := openOn(t, first.link.Further(), server)
	trap := wire.CutFirst([]*wire.Ledger{first.link.Ledger()}, wire.OpCreate, true)
	if _, err := further.Create("/cut", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
		t.Error("the reply arrived although a trap was set")
	}
	<-trap.Fired()
	if trap.Victim() != 0 {
		t.Error("the victim is not the client's first session")
	}
	must.Do(t, first.link.Expire(t.Context()))
	further.await(t, zk.StateHasSession)
	if _, _, err := further.Get("/cut"); err != nil {
		t.Errorf("the further session ended with the first: %v", err)
	}
	first.link.Sever()
	if _, _, err := further.Get("/cut"); err == nil {
		t.Error("a request of a further session was answered although the client is severed")
	}
	further.link.Detach()
	if c := first.link.Ledger().Counts(); c.Requests[wire.OpCreateSession] != 1 || c.Requests[wire.OpCreate] != 1 || c.LostReplies != 1 {
		t.Errorf("counts %+v", c)
	}
}

// Servers that demand a user do not close a session for a connection without one.
func TestExpireWithCredentials(t *testing.T) {
	c, _, err := ensemble.ReadCredentials("digest:" + credentials(t, secret, 0o600))
	must.Do(t, err)
	servers := ensembletest.At(ensembletest.Embedded(t, embedded.Config{Scheme: ensemble.Digest}).Addr())
	servers[0].Auth = c
	victim, other := openAt(t, ensemble.NewLink(wire.NewLedger(time.Now())), servers), openAt(t, ensemble.NewLink(wire.NewLedger(time.Now())), servers)
	must.Do(t, victim.make("/x"))
	must.Do(t, victim.link.Expire(t.Context()))
	if exists(t, other, "/x") {
		t.Error("the session's znode is still there")
	}
}
