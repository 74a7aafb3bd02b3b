package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// serve connects a ledger to a server that answers the i-th frame of the client with answer(i). When the client has sent its
// last byte, the server closes the connection, and sends all that it received.
func serve(t *testing.T, l *wire.Ledger, answer func(i int) []byte) (client *wire.Conn, received <-chan [][]byte) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	done := make(chan [][]byte, 1)
	go func() {
		server, err := listener.Accept()
		if err != nil {
			return
		}
		defer server.Close()
		var got [][]byte
		for head := make([]byte, 4); ; {
			if _, err := io.ReadFull(server, head); err != nil {
				break
			}
			body := make([]byte, binary.BigEndian.Uint32(head))
			if _, err := io.ReadFull(server, body); err != nil {
				break
			}
			got = append(got, body)
			_, _ = server.Write(answer(len(got) - 1))
		}
		done <- got
	}()
	dialed := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
	return l.Wrap(dialed), done
}

func send(t *testing.T, conn net.Conn, frames ...[]byte) {
	t.Helper()
	for _, f := range frames {
		must.Get(conn.Write(f))(t)
	}
}

func readFull(t *testing.T, conn net.Conn, frames ...[]byte) {
	t.Helper()
	want := join(frames...)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %x, %v; want %x", got, err, want)
	}
}

func atEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 100)); n > 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("read %d bytes, %v; want the end", n, err)
	}
}

func opened(id int64) []byte { return frame(int32s(0, 4000), int64s(id), str("0123456789abcdef")) }

func removed(code int32) []byte { return reply(1<<31-2, 9, code) }

// Frames that the server sends after the end of a connection are counted as lost. The watch is removed before the server
// closes.
func TestEndCountsWhatIsLost(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		removal                []byte
		notifications, unknown int64
	}{
		{"nothing happens", removed(0), 0, 0},
		{"the watch fires before it is removed", join(notification(8, wire.NodeDataChanged, "/w"), removed(-121)), 1, 0},
		{"a server that removes no watches", removed(-6), 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := wire.NewLedger(time.Now())
			ended := make(chan struct{})
			watched := reply(1, 5, 0, make([]byte, 80)...)
			conn, received := serve(t, l, func(i int) []byte {
				if i == 2 {
					<-ended
				}
				return [][]byte{opened(7), watched, reply(2, 6, 0), tt.removal}[i]
			})
			send(t, conn, connectRequest(), request(1, wire.OpGetData, "/w", 1))
			readFull(t, conn, opened(7), watched)
			send(t, conn, request(2, wire.OpCreate, "/x"))
			conn.End()
			close(ended)
			send(t, conn, request(3, wire.OpCreate, "/never"))
			atEnd(t, conn)
			<-conn.Drained()
			got := <-received
			if len(got) != 4 || !bytes.Equal(got[3], join(int32s(1<<31-2, 18), str("/w"), int32s(2))) {
				t.Errorf("the server received %q", got)
			}
			c := l.Counts()
			writes, _ := c.Writes()
			if writes != 1 || c.LostReplies != 1 || c.LostNotifications != tt.notifications || c.UnknownNotifications != tt.unknown || c.UnknownTransactions != 0 {
				t.Errorf("counts %+v", c)
			}
			if l.Unmatched() > 0 || l.LastZxid() != 5 || len(l.TakeNotifications(nil)) > 0 {
				t.Errorf("unmatched %d, last zxid %d: lost frames count as received", l.Unmatched(), l.LastZxid())
			}
		})
	}
}

// A trap loses the reply to its request and all later frames. Earlier frames arrive.
func TestTrapAfter(t *testing.T) {
	l := wire.NewLedger(time.Now())
	before, after := notification(4, wire.NodeCreated, "/before"), notification(6, wire.NodeCreated, "/after")
	conn, received := serve(t, l, func(i int) []byte {
		return [][]byte{opened(7), join(before, reply(1, 5, 0, str("/x")...), after)}[i]
	})
	send(t, conn, connectRequest())
	readFull(t, conn, opened(7))
	trap := wire.CutFirst([]*wire.Ledger{l}, wire.OpCreate, true)
	send(t, conn, request(1, wire.OpCreate, "/x"))
	readFull(t, conn, before)
	atEnd(t, conn)
	<-trap.Fired()
	<-conn.Drained()
	<-received
	if c := l.Counts(); c.LostReplies != 1 || c.LostNotifications != 1 || c.TotalNotifications() != 1 {
		t.Errorf("counts %+v", c)
	}
}

// The effects of requests and watches are unknown if the connection ends otherwise.
func TestUnknownAfterAnEndOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		out, in                    []byte
		notifications, transaction int64
	}{
		{"at rest", nil, nil, 0, 0},
		{"a read", request(1, wire.OpGetData, "/x", 0), nil, 0, 0},
		{"a read that sets a watch", request(1, wire.OpGetData, "/x", 1), nil, 1, 0},
		{"a watch that was set, and is being set again", join(request(1, wire.OpGetData, "/x", 1), request(2, wire.OpGetData, "/x", 1)), reply(1, 5, 0), 2, 0},
		{"writes", join(request(1, wire.OpCreate, "/x"), request(2, wire.OpMulti, "/x")), nil, 0, 2},
		{"an answered write", request(1, wire.OpCreate, "/x"), reply(1, 5, -110), 0, 0},
		{"watches on two paths, one twice", join(request(1, wire.OpExists, "/x", 1), request(2, wire.OpGetData, "/x", 1), request(3, wire.OpGetChildren2, "/x", 1)),
			join(reply(1, 5, -101), reply(2, 5, 0), reply(3, 5, 0)), 2, 0},
		{"watches that have fired", join(request(1, wire.OpGetData, "/x", 1), request(2, wire.OpGetChildren2, "/x", 1)),
			join(reply(1, 5, 0), reply(2, 5, 0), notification(6, wire.NodeDeleted, "/x")), 0, 0},
	} {
		l := wire.NewLedger(time.Now())
		exchange(t, l, join(connectRequest(), tt.out), join(opened(7), tt.in), func() int { return 1000 })
		if c := l.Counts(); c.UnknownNotifications != tt.notifications || c.UnknownTransactions != tt.transaction {
			t.Errorf("%s: %d notifications and %d transactions are unknown, want %d and %d", tt.name, c.UnknownNotifications, c.UnknownTransactions, tt.notifications, tt.transaction)
		}
	}
	l := wire.NewLedger(time.Now())
	exchange(t, l, connectRequest(), nil, func() int { return 1000 })
	if c := l.Counts(); c.SessionsOpened != 1 || c.UnknownTransactions != 2 {
		t.Errorf("no answer to the handshake: %+v", c)
	}
}

// Notifications for watches that were set again are counted apart, and the session is not idle until they are set.
func TestResentNotifications(t *testing.T) {
	l := wire.NewLedger(time.Now())
	all := func() int { return 1 << 20 }
	exchange(t, l, join(connectRequest(), request(1, wire.OpGetData, "/x", 1), request(2, wire.OpGetData, "/y", 1)),
		join(opened(7), reply(1, 5, 0), reply(2, 5, 0)), all)
	in := &pipe{step: all}
	conn := l.Wrap(in)
	for _, step := range []struct {
		name    string
		out, in []byte
		idle    bool
	}{
		{"resumed", connectRequest(), opened(7), false},
		{"missed", frame(int32s(3, 101), make([]byte, 20)), notification(-1, wire.NodeDataChanged, "/x"), false},
		{"set again", nil, reply(3, 6, 0), true},
		{"fired", nil, notification(7, wire.NodeDataChanged, "/y"), false},
	} {
		send(t, conn, step.out)
		receive(t, conn, in, step.in, make([]byte, 4096))
		if l.Idle() != step.idle {
			t.Errorf("%s: idle is %t", step.name, l.Idle())
		}
	}
	if c := l.Counts(); c.ResentNotifications != 1 || c.TotalNotifications() != 2 || c.SessionsOpened != 1 {
		t.Errorf("counts %+v", c)
	}
}

// A read that overtakes the request to set the watches again sets a watch that the server keeps, although it then sends the
// notification of the former watch again. The end of the connection removes that watch, or leaves it in doubt.
func TestResentNotificationLeavesTheWatchOfARead(t *testing.T) {
	for _, tt := range []struct {
		name           string
		late, closes   bool // the notification arrives after the end of the connection; the client closes it
		removals       int
		unknown, again int64
	}{
		{"before the end", false, false, 1, 0, 1},
		{"after the end", true, false, 1, 0, 0},
		{"before the client closes", false, true, 0, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := wire.NewLedger(time.Now())
			exchange(t, l, join(connectRequest(), request(1, wire.OpGetData, "/w", 1)), join(opened(7), reply(1, 5, 0)),
				func() int { return 1 << 20 })
			before := l.Counts().UnknownNotifications
			ended := make(chan struct{})
			read, again := reply(2, 6, 0, make([]byte, 80)...), join(notification(-1, wire.NodeDataChanged, "/w"), reply(3, 6, 0))
			conn, received := serve(t, l, func(i int) []byte {
				if i == 2 && tt.late {
					<-ended
				}
				return [][]byte{opened(7), read, again, removed(0)}[i]
			})
			send(t, conn, connectRequest(), request(2, wire.OpGetData, "/w", 1))
			readFull(t, conn, opened(7), read)
			send(t, conn, frame(int32s(3, 101), make([]byte, 20)))
			if !tt.late {
				readFull(t, conn, again)
				if held := l.WatchesNow(); len(held) > 0 {
					t.Errorf("the client still holds watches of %q", held)
				}
			}
			if tt.closes {
				must.Do(t, conn.Close())
			} else {
				conn.End()
				close(ended)
				<-conn.Drained()
			}
			if got := <-received; len(got) != 3+tt.removals {
				t.Errorf("the server received %q", got)
			}
			c := l.Counts()
			if unknown := c.UnknownNotifications - before; unknown != tt.unknown || c.ResentNotifications != tt.again || c.LostNotifications != 0 {
				t.Errorf("%d notifications are unknown, want %d: %+v", unknown, tt.unknown, c)
			}
		})
	}
}

// Sessions are counted when they are opened and ended, on any connection.
func TestSessions(t *testing.T) {
	all := func() int { return 1 << 20 }
	closing := frame(int32s(1, -11))
	for _, tt := range []struct {
		name           string
		use            func(*wire.Ledger)
		opened, closed int64
		over           bool
	}{
		{"moved", func(l *wire.Ledger) { exchange(t, l, connectRequest(), opened(7), all) }, 1, 0, false},
		{"closed", func(l *wire.Ledger) {
			exchange(t, l, join(connectRequest(), closing), join(opened(7), reply(1, 9, 0)), all)
		}, 1, 1, false},
		{"closed, without a reply", func(l *wire.Ledger) { exchange(t, l, join(connectRequest(), closing), opened(7), all) }, 1, 0, false},
		{"expired", func(l *wire.Ledger) { exchange(t, l, connectRequest(), opened(0), all) }, 1, 1, true},
		{"closed by another connection, then expired", func(l *wire.Ledger) {
			l.Closed()
			exchange(t, l, connectRequest(), opened(0), all)
		}, 1, 1, true},
		{"another session", func(l *wire.Ledger) {
			exchange(t, l, connectRequest(), opened(0), all)
			exchange(t, l, connectRequest(), opened(8), all)
		}, 2, 1, true},
	} {
		l := wire.NewLedger(time.Now())
		exchange(t, l, connectRequest(), opened(7), all)
		if s := l.Session(); s.ID != 7 || string(s.Password) != "0123456789abcdef" {
			t.Errorf("session %+v", s)
		}
		tt.use(l)
		if c := l.Counts(); c.SessionsOpened != tt.opened || c.SessionsClosed != tt.closed || l.Over() != tt.over {
			t.Errorf("%s: %d opened, %d closed, over is %t", tt.name, c.SessionsOpened, c.SessionsClosed, l.Over())
		}
	}
}

// FuzzEnd ends a connection after a part of any stream. Each frame is counted once: as received, or as lost.
func FuzzEnd(f *testing.F) {
	out, in := session()
	f.Add(out, in, uint16(100))
	f.Add(out, in, uint16(0))
	f.Add(int32s(-1, 1<<30), int32s(1<<30), uint16(3))
	f.Fuzz(func(t *testing.T, out, in []byte, at uint16) {
		all := func() int { return 1 << 20 }
		whole := wire.NewLedger(time.Now())
		exchange(t, whole, out, in, all)
		l := wire.NewLedger(time.Now())
		p := &pipe{incoming: in, step: all}
		conn := l.Wrap(p)
		send(t, conn, out)
		first := in[:min(int(at), len(in))]
		p.incoming = first
		for len(p.incoming) > 0 {
			if _, err := conn.Read(make([]byte, 1<<20)); err != nil {
				break
			}
		}
		p.incoming = in[len(first):]
		conn.End()
		<-conn.Drained()
		got, want := l.Counts(), whole.Counts()
		if got.Requests != want.Requests {
			t.Errorf("requests %v, want %v", got.Requests, want.Requests)
		}
		received := got.TotalNotifications() + got.LostNotifications
		if lostResent := want.ResentNotifications - got.ResentNotifications; received != want.TotalNotifications()-lostResent {
			t.Errorf("%d notifications received and %d lost, want %d in all, %d of them again", got.TotalNotifications(), got.LostNotifications, want.TotalNotifications(), want.ResentNotifications)
		}
	})
}
