package conformance_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// history is the requests and answers of clients, on servers that may have failed meanwhile. It is data: check examines it, and
// tests of check change it.
type history struct {
	lines   []*line
	effects map[int]zk.Stat // of the writes that took effect, by number: the stat, in the end, of a znode that each one created
	// leaders are the servers that led, by epoch. They are nil if leaders promise the same as other servers: see weak.
	leaders map[int64]int
}

// line is a connection of a session.
type line struct {
	session   int64
	server    int
	exchanges []*exchange // in the order in which they were sent
}

// exchange is a request and its answer.
type exchange struct {
	sent     int64 // its place among the requests of all clients
	floor    int64 // the last zxid that any client had been told as that of a write, when this was sent
	op       wire.Opcode
	read     read
	write    write // in a multi, after the creation of mark(number)
	number   int   // of a write
	life     bool  // its znode is an ephemeral below its mark: the mark shows when the session has ended
	belated  bool  // it was sent when the session had moved to another connection
	notified []notification
	answered bool // what follows is known
	zxid     int64
	ok       bool
	told     string
}

// mark returns the znode whose creation shows that a write in a multi has taken effect, and when.
func mark(number int) string { return fmt.Sprintf("%s/%d", logPath, number) }

// The znodes that exist from the beginning. Their stats are not compared.
const (
	logPath  = "/log"  // of marks
	keptPath = "/kept" // of znodes that are never deleted: their data are the numbers of writes that are alone
)

func (e *exchange) isRead() bool {
	return slices.Contains([]wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2}, e.op)
}

// lags reports whether the server had not yet applied a write that had been acknowledged before the request.
func (e *exchange) lags() bool { return e.answered && e.zxid < e.floor }

// outcome is an answer as text, without times: the servers' clocks are not compared.
func outcome(code wire.Code, text string, st zk.Stat) string {
	st.Ctime, st.Mtime = 0, 0
	return fmt.Sprintf("%s %q %+v; ", code, text, st)
}

// judge searches a history for contradictions. The zxids order everything: each write took effect at its own, and each read
// must show the tree as it was after the last write up to the zxid in the header of its reply.
type judge struct {
	history
	*model
	at      map[*exchange]int64 // the zxid of a write, or of the end of a session
	ends    map[int64]int64     // the zxids of the ends of sessions
	moments []moment
	wrong   []string
}

// moment is what is compared at a zxid.
type moment struct {
	zxid int64
	read bool // after the writes
	do   func()
}

// check returns the contradictions in a history.
func check(h history) []string {
	j := &judge{history: h, model: newModel(), at: map[*exchange]int64{}, ends: map[int64]int64{}}
	sessions := map[int64][]*exchange{}
	for _, l := range h.lines {
		sessions[l.session] = append(sessions[l.session], l.exchanges...)
		for _, e := range l.exchanges {
			j.settle(l, e)
		}
	}
	for id, end := range j.ends {
		j.moments = append(j.moments, moment{zxid: end, do: func() { j.end(end, id) }})
	}
	slices.SortStableFunc(j.moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.zxid, b.zxid), map[bool]int{a.read: 1}[true]-map[bool]int{b.read: 1}[true])
	})
	for _, m := range j.moments {
		m.do()
	}
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		j.checkSession(id, sessions[id])
	}
	for _, l := range h.lines {
		j.checkLine(l)
	}
	return j.wrong
}

func (j *judge) complain(l int64, e *exchange, format string, args ...any) {
	what := fmt.Sprintf("%s %s watch=%t", e.op, e.read.path, e.read.watch)
	if e.number > 0 {
		what = fmt.Sprintf("%s %d: %s", e.op, e.number, e.write)
	}
	j.wrong = append(j.wrong, fmt.Sprintf("session %x, request %d, %s, answered %t at %x: ", l, e.sent, what, e.answered, e.zxid)+
		fmt.Sprintf(format, args...))
}

// settle finds out when a request took effect, and plans its comparison.
func (j *judge) settle(l *line, e *exchange) {
	st, found := j.effects[e.number]
	switch {
	case e.isRead() && e.answered:
		j.moments = append(j.moments, moment{e.zxid, true, func() { j.compare(l, e, j.show(e.read)) }})
	case e.op == wire.OpClose && e.answered:
		j.at[e] = e.zxid
	case e.number == 0:
	case found && e.belated:
		j.complain(l.session, e, "a write on the old connection of a session that had moved took effect")
	case e.answered && e.ok && (!found || st.Czxid != e.zxid):
		j.complain(l.session, e, "an acknowledged write was lost: %t %+v", found, st)
	case e.answered && !e.ok && found:
		j.complain(l.session, e, "a write with an error took effect")
	case found:
		j.at[e] = st.Czxid
	case e.answered:
		j.at[e] = e.zxid
	}
	if zxid := j.at[e]; e.number > 0 && zxid > 0 {
		j.moments = append(j.moments, moment{zxid, false, func() {
			ok, told := j.apply(zxid, l.session, e)
			if !e.answered && !ok {
				j.complain(l.session, e, "a write took effect, where it should fail with %s", told)
			}
			j.compare(l, e, told)
		}})
	}
	if e.life && found {
		if end := j.ends[l.session]; end != 0 && end != st.Pzxid {
			j.complain(l.session, e, "the session ended at %x and at %x", end, st.Pzxid)
		}
		j.ends[l.session] = st.Pzxid
	}
}

func (j *judge) compare(l *line, e *exchange, want string) {
	if e.answered && e.told != want {
		j.complain(l.session, e, "got\n    %s, want\n    %s", e.told, want)
	}
}

// checkSession checks the order of what a session saw and wrote on all its connections. It sees no older state than before. Its
// writes take effect in the order in which it has sent them, and after all writes that were acknowledged to any client before.
// None takes effect after its end.
func (j *judge) checkSession(id int64, exchanges []*exchange) {
	slices.SortFunc(exchanges, func(a, b *exchange) int { return cmp.Compare(a.sent, b.sent) })
	var seen, written int64
	end, ended := j.ends[id]
	for _, e := range exchanges {
		if e.answered && e.zxid < seen {
			j.complain(id, e, "the session has seen %x", seen)
		}
		if e.answered {
			seen = max(seen, e.zxid)
		}
		zxid := j.at[e]
		if zxid == 0 {
			continue
		}
		if zxid <= written {
			j.complain(id, e, "it took effect at %x, before an earlier write of the session, at %x", zxid, written)
		}
		if zxid <= e.floor {
			j.complain(id, e, "it took effect at %x, before a write that had been acknowledged, at %x", zxid, e.floor)
		}
		if ended && (zxid > end || e.op == wire.OpClose && zxid != end) {
			j.complain(id, e, "it took effect at %x; the session ended at %x", zxid, end)
		}
		written = zxid
	}
}

// watched is what a watch waits for.
type watched struct {
	path  string
	child bool
}

func (w watched) isFiredBy(typ wire.EventType) bool {
	return typ == wire.NodeDeleted || w.child == (typ == wire.NodeChildrenChanged)
}

// checkLine checks the syncs and the notifications of a connection.
func (j *judge) checkLine(l *line) {
	armed := map[watched]int64{} // since when
	for _, e := range l.exchanges {
		for _, n := range e.notified {
			if !j.fire(armed, n) {
				j.complain(l.session, e, "no watch expects %s %s by %x", n.typ, n.path, n.zxid)
			}
		}
		if !e.answered {
			continue
		}
		for w, since := range armed {
			if c, ok := j.next(w, since); ok && c.zxid <= e.zxid {
				j.complain(l.session, e, "%+v was set at %x, and there was no notification of %s by %x", w, since, c.typ, c.zxid)
				delete(armed, w)
			}
		}
		if e.op == wire.OpSync && e.lags() && !j.weak(l, e) {
			j.complain(l.session, e, "the sync was answered before %x, which had been acknowledged when it was sent", e.floor)
		}
		w := watched{e.read.path, e.op == wire.OpGetChildren || e.op == wire.OpGetChildren2}
		if _, set := armed[w]; !set && e.read.watch && (e.ok || e.op == wire.OpExists) {
			armed[w] = e.zxid
		}
	}
}

// fire removes the watches that a notification answers, and reports whether there were any.
func (j *judge) fire(armed map[watched]int64, n notification) bool {
	expected := false
	for _, w := range []watched{{n.path, false}, {n.path, true}} {
		since, set := armed[w]
		if c, ok := j.next(w, since); set && ok && c == (change{n.zxid, n.typ}) {
			delete(armed, w)
			expected = true
		}
	}
	return expected
}

// next returns the first change after a zxid that fires a watch.
func (j *judge) next(w watched, since int64) (change, bool) {
	for _, c := range j.changes[w.path] {
		if c.zxid > since && w.isFiredBy(c.typ) {
			return c, true
		}
	}
	return change{}, false
}

// weak reports whether a sync promises nothing. A real leader answers the syncs of its own clients like reads, at once: before
// it has applied the commits that it has sent to others, and even if it has been replaced and has not noticed, as after a
// pause. So the promise of a sync is checked only if another server is known to have led in all epochs from the one that it
// shows to the one that it should show.
func (j *judge) weak(l *line, e *exchange) bool {
	if j.leaders == nil {
		return false
	}
	for epoch := e.zxid >> 32; epoch <= e.floor>>32; epoch++ {
		if leader, known := j.leaders[epoch]; !known || leader == l.server {
			return true
		}
	}
	return false
}
