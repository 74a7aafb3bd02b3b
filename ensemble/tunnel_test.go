package ensemble_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// through is a session of a client library that connects through a tunnel and does not know the link.
type through struct {
	linked
	tunnel *ensemble.Tunnel
	seen   chan zk.State // by the tunnel
	own    *wire.Ledger  // in the client's process
}

func openThrough(t *testing.T, servers ...string) through {
	t.Helper()
	s := through{seen: make(chan zk.State, 1000), own: wire.NewLedger(time.Now())}
	link := ensemble.NewLink(wire.NewLedger(time.Now()))
	tunnel := must.Get(link.OpenTunnel(t.Context(), ensembletest.At(servers...), func(e zk.Event) { s.seen <- e.State }))(t)
	t.Cleanup(tunnel.Close)
	s.tunnel = tunnel
	s.linked = openOn(t, ensemble.NewLink(s.own), tunnel.Address())
	s.link = link
	s.sees(t, zk.StateHasSession)
	return s
}

func (s through) sees(t *testing.T, want zk.State) {
	t.Helper()
	linked{states: s.seen}.await(t, want)
}

// A tunnel's counts equal the client's own, to the last frame and byte.
func TestTunnelCountsWhatTheClientCounts(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	s := openThrough(t, server.Addr())
	data := make([]byte, 100_000) // in several pieces
	for i := range 50 {
		path := fmt.Sprintf("/n%d", i%7)
		_, err := s.Create(path, data, 0, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
		if _, _, _, err := s.GetW(path); err != nil {
			t.Fatal(err)
		}
		must.Do(t, s.Delete(path, -1))
	}
	s.Close()
	s.sees(t, zk.StateDisconnected)
	got, want := s.link.Ledger().Counts(), s.own.Counts()
	if !reflect.DeepEqual(got, want) || got.TotalNotifications() != 50 {
		t.Errorf("the tunnel counted\n%+v, the client\n%+v", got, want)
	}
}

// The link of a tunnel can lose a reply, cut the connection and expire the session of the client, which it reports.
func TestTunnelFails(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{Tick: 2 * time.Second})
	s := openThrough(t, server.Addr())
	trap := wire.CutFirst([]*wire.Ledger{s.link.Ledger()}, wire.OpCreate, true)
	if _, err := s.Create("/made", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
		t.Error("the reply to the create was not lost")
	}
	<-trap.Fired()
	s.sees(t, zk.StateDisconnected)
	s.sees(t, zk.StateHasSession)
	s.await(t, zk.StateHasSession)
	if !exists(t, s.linked, "/made") {
		t.Error("the create whose reply was lost has not been made")
	}
	if c := s.link.Ledger().Counts(); c.LostReplies != 1 {
		t.Errorf("%d replies were lost, want 1", c.LostReplies)
	}
	s.link.Cut()
	s.sees(t, zk.StateHasSession)
	s.await(t, zk.StateHasSession)
	must.Do(t, s.link.Expire(t.Context()))
	s.sees(t, zk.StateExpired)
	s.await(t, zk.StateExpired)
}

// A client that connects again gets the next server, and one whose link is severed gets none.
func TestTunnelRoams(t *testing.T) {
	first, second := ensembletest.Embedded(t, embedded.Config{}), ensembletest.Embedded(t, embedded.Config{})
	s := openThrough(t, first.Addr(), second.Addr())
	if s.link.Server().Addr != first.Addr() {
		t.Errorf("the session began at %s, want its home %s", s.link.Server().Addr, first.Addr())
	}
	stranger := must.Get(net.Dial("tcp", s.tunnel.Address()))(t)
	defer stranger.Close()
	hello := append([]byte{0, 0, 0, 44}, make([]byte, 44)...)
	hello[27] = 7 // the session of another client
	_, _ = stranger.Write(hello)
	if _, err := stranger.Read(make([]byte, 1)); err == nil || s.link.Ledger().Over() {
		t.Errorf("a client of another session gets an answer: %v", err)
	}
	s.link.Cut()
	ensembletest.Await(t, func() string {
		if got := s.link.Server().Addr; got != second.Addr() {
			return fmt.Sprintf("the session is at %s, want the second server %s", got, second.Addr())
		}
		return ""
	})
	s.link.Sever()
	s.sees(t, zk.StateExpired)
	s.tunnel.Close()
	if _, err := net.Dial("tcp", s.tunnel.Address()); err == nil {
		t.Error("a closed tunnel listens")
	}
}

// A client that connects again before its former connection has ended does not count as disconnected when that ends.
func TestTunnelOfTwoConnections(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	seen := make(chan zk.State, 10)
	link := ensemble.NewLink(wire.NewLedger(time.Now()))
	tunnel := must.Get(link.OpenTunnel(t.Context(), server.Servers(), func(e zk.Event) { seen <- e.State }))(t)
	t.Cleanup(tunnel.Close)
	session := make([]byte, 8+4+16) // the id, and the password with its length
	session[11] = 16
	for range 3 {
		conn := must.Get(net.Dial("tcp", tunnel.Address()))(t)
		t.Cleanup(func() { conn.Close() })
		hello := append([]byte{0, 0, 0, 44, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x75, 0x30}, session...)
		answer := make([]byte, 4+4+4+len(session))
		must.Get(conn.Write(hello))(t)
		must.Get(io.ReadFull(conn, answer))(t)
		session = answer[12:]
	}
	for i, want := range []zk.State{zk.StateHasSession, zk.StateDisconnected, zk.StateHasSession, zk.StateDisconnected, zk.StateHasSession} {
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("event %d is %s, want %s", i, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %d, %s, is missing", i, want)
		}
	}
}
