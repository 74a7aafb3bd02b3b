package wire_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// gate is a connection that sends nothing.
type gate struct {
	net.Conn
	write func()
}

func (g gate) Write(p []byte) (int, error) {
	g.write()
	return len(p), nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A request that is made when the channel is closed cannot overtake the awaited one, which is being sent by the only Write.
func TestAwaitSend(t *testing.T) {
	l := wire.NewLedger(time.Now())
	var writes []bool // whether the request had been announced before the write
	var sent <-chan struct{}
	conn := l.Wrap(gate{write: func() { writes = append(writes, closed(sent)) }})
	sent, forget := l.AwaitSend("/dir/a-lock-")
	defer forget()
	for _, frame := range [][]byte{
		connectRequest(), request(1, wire.OpGetChildren2, "/dir", 0), request(2, wire.OpCreate, "/dir/b-lock-"),
		request(3, wire.OpCreate, "/dir/a-lock-"),
	} {
		if closed(sent) {
			t.Fatal("a request for another path, or none, counts as sent")
		}
		must.Get(conn.Write(frame))(t)
	}
	if len(writes) != 4 || !writes[3] {
		t.Errorf("announced before each write: %v, want it before the last", writes)
	}
	if _, err := conn.Write(request(4, wire.OpCreate, "/dir/a-lock-")); err != nil { // would close the channel twice
		t.Fatal(err)
	}
}

// The channel is not closed for a path that the caller has forgotten, on a connection that has ended, or for a path that is too
// long.
func TestAwaitSendInVain(t *testing.T) {
	l := wire.NewLedger(time.Now())
	conn := l.Wrap(gate{write: func() {}})
	forgotten, forget := l.AwaitSend("/a")
	forget()
	again, forgetAgain := l.AwaitSend("/a")
	defer forgetAgain()
	forget() // has no effect on those who wait for the same path later
	long := "/" + strings.Repeat("x", 2000)
	tooLong, forgetLong := l.AwaitSend(long)
	defer forgetLong()
	for _, frame := range [][]byte{connectRequest(), request(1, wire.OpCreate, long), request(2, wire.OpDelete, "/a")} {
		must.Get(conn.Write(frame))(t)
	}
	if closed(forgotten) || !closed(again) || closed(tooLong) {
		t.Errorf("announced: %v, %v and %v, want only the second", closed(forgotten), closed(again), closed(tooLong))
	}
}
