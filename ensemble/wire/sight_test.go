package wire_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// zxidOf describes a write's zxid.
type zxidOf struct {
	zxid        int64
	sent, final bool
}

func stateOf(w *wire.Write) zxidOf {
	zxid, final := w.Zxid()
	return zxidOf{zxid, w.Sent(), final}
}

// A client has seen the transactions that replies and notifications name. Only answers bind its reads, because another server
// does not learn of the rest.
func TestSight(t *testing.T) {
	l := wire.NewLedger(time.Now())
	frames := [][]byte{
		opened(7), reply(1, 5, 0, make([]byte, 80)...), notification(6, wire.NodeDataChanged, "/w"), reply(-2, 8, 0), reply(2, 9, 0),
		notification(-1, wire.NodeDataChanged, "/w"),
	}
	arriving := 0
	conn := l.Wrap(&pipe{incoming: join(frames...), step: func() int { return len(frames[arriving]) }})
	send(t, conn, connectRequest(), request(1, wire.OpGetData, "/w", 1), request(2, wire.OpCreate, "/x"))
	for i, want := range [][2]int64{{0, 0}, {5, 5}, {6, 5}, {8, 5}, {9, 9}, {-1, 9}} {
		arriving = i
		readFull(t, conn, frames[i])
		if seen, shown, _ := l.Sight(); [2]int64{seen, shown} != want {
			t.Errorf("after frame %d: seen %d, shown %d, want %v", i, seen, shown, want)
		}
	}
	further := l.Further()
	exchange(t, further, join(connectRequest(), request(1, wire.OpCreate, "/y")), join(opened(8), reply(1, 12, 0)), func() int { return 1000 })
	if seen, shown, _ := l.Sight(); seen != 12 || shown != 9 {
		t.Errorf("with a further session: seen %d, shown %d, want 12 and 9", seen, shown)
	}
}

// The next write is the first request after the question that changes something, on any of the client's sessions.
func TestNextWrite(t *testing.T) {
	l := wire.NewLedger(time.Now())
	frames := [][]byte{opened(7), reply(1, 5, 0, make([]byte, 80)...), reply(2, 6, 0), reply(3, 7, -110)}
	conn := l.Wrap(&pipe{incoming: join(frames...), step: func() int { return 1000 }})
	send(t, conn, connectRequest())
	_, _, next := l.Sight()
	check := func(when string, w *wire.Write, want zxidOf) {
		t.Helper()
		if got := stateOf(w); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	send(t, conn, request(1, wire.OpGetData, "/w", 0), request(2, wire.OpSync, "/w"))
	check("a read and a sync", next, zxidOf{})
	if _, _, same := l.Sight(); same != next {
		t.Error("the next write changed although none was sent")
	}
	send(t, conn, request(3, wire.OpCreate, "/x"))
	check("sent", next, zxidOf{sent: true})
	_, _, later := l.Sight()
	readFull(t, conn, frames...)
	check("answered with an error", next, zxidOf{7, true, true})
	check("the one after that", later, zxidOf{})
	send(t, conn, request(4, wire.OpDelete, "/x"))
	must.Do(t, conn.Close())
	check("without a reply", later, zxidOf{sent: true, final: true})
}

// The zxid of a write is known even if the client does not receive the reply.
func TestNextWriteOfALostReply(t *testing.T) {
	l := wire.NewLedger(time.Now())
	conn, _ := serve(t, l, func(i int) []byte { return [][]byte{opened(7), reply(1, 6, 0)}[i] })
	send(t, conn, connectRequest())
	readFull(t, conn, opened(7))
	_, _, next := l.Sight()
	wire.CutFirst([]*wire.Ledger{l}, wire.OpCreate, true)
	send(t, conn, request(1, wire.OpCreate, "/x"))
	atEnd(t, conn)
	<-conn.Drained()
	seen, _, _ := l.Sight()
	if got := stateOf(next); got != (zxidOf{6, true, true}) || seen != 0 {
		t.Errorf("the write is %+v, and the client has seen %d", got, seen)
	}
}
