package conformance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
)

func (h history) clone() history {
	h.effects = maps.Clone(h.effects)
	h.lines = slices.Clone(h.lines)
	for i, l := range h.lines {
		own := &line{session: l.session, server: l.server}
		for _, e := range l.exchanges {
			same := *e
			same.notified = slices.Clone(e.notified)
			own.exchanges = append(own.exchanges, &same)
		}
		h.lines[i] = own
	}
	return h
}

// find returns the first exchange that a test wants to change, the next one on its connection, and the last zxid that its
// session had seen.
func (h history) find(wanted func(l *line, i int, seen int64) bool) (e, next *exchange, seen int64) {
	last := map[int64]int64{}
	for _, l := range h.lines {
		for i, e := range l.exchanges {
			if wanted(l, i, last[l.session]) {
				return e, append(l.exchanges, nil)[i+1], last[l.session]
			}
			last[l.session] = max(last[l.session], e.zxid)
		}
	}
	return nil, nil, 0
}

// older returns an answer to a read before a zxid. If than is not nil, it is an answer to the same read, with another content.
func (h history) older(zxid int64, than *exchange) *exchange {
	found, _, _ := h.find(func(l *line, i int, _ int64) bool {
		e := l.exchanges[i]
		return e.answered && e.isRead() && e.zxid < zxid &&
			(than == nil || e.told != than.told && e.read.op == than.read.op && e.read.path == than.read.path)
	})
	return found
}

// spoiler changes a history as if the servers had an error.
type spoiler struct {
	name, complaint string
	spoil           func(h history)
}

func spoilers() []spoiler {
	notified := func(l *line, i int, _ int64) bool { return l.exchanges[i].answered && len(l.exchanges[i].notified) > 0 }
	written := func(l *line, i int, _ int64) bool { return l.exchanges[i].ok && l.exchanges[i].number > 0 }
	return []spoiler{
		{"a read shows an older state than that of its header", "want", func(h history) {
			e, _, _ := h.find(func(l *line, i int, _ int64) bool {
				e := l.exchanges[i]
				return e.answered && e.isRead() && h.older(e.zxid, e) != nil
			})
			e.told = h.older(e.zxid, e).told
		}},
		{"a server accepts a session that has seen more than it has", "the session has seen", func(h history) {
			e, _, seen := h.find(func(l *line, i int, seen int64) bool {
				return i == 0 && l.exchanges[0].answered && l.exchanges[0].isRead() && h.older(seen, nil) != nil
			})
			old := h.older(seen, nil)
			e.op, e.read, e.zxid, e.told, e.ok = old.op, read{op: old.op, path: old.read.path}, old.zxid, old.told, old.ok
		}},
		{"a sync is answered at once", "the sync was answered before", func(h history) {
			e, _, seen := h.find(func(l *line, i int, seen int64) bool {
				e := l.exchanges[i]
				return e.op == wire.OpSync && e.answered && seen < e.floor
			})
			e.zxid = seen
		}},
		{"a notification is lost", "there was no notification", func(h history) {
			e, _, _ := h.find(notified)
			e.notified = e.notified[1:]
		}},
		{"a notification comes after the reply that shows the change", "there was no notification", func(h history) {
			e, next, _ := h.find(func(l *line, i int, seen int64) bool { return notified(l, i, seen) && i+1 < len(l.exchanges) })
			next.notified, e.notified = slices.Concat(e.notified, next.notified), nil
		}},
		{"a notification comes twice", "no watch expects", func(h history) {
			e, _, _ := h.find(notified)
			e.notified = append(e.notified, e.notified[0])
		}},
		{"a notification is of another change", "no watch expects", func(h history) {
			e, _, _ := h.find(notified)
			e.notified[0].zxid++
		}},
		{"an acknowledged write is lost", "an acknowledged write was lost", func(h history) {
			e, _, _ := h.find(written)
			delete(h.effects, e.number)
		}},
		{"a session that has moved writes on its old connection", "of a session that had moved", func(h history) {
			e, _, _ := h.find(func(l *line, i int, _ int64) bool { return l.exchanges[i].belated })
			h.effects[e.number] = zk.Stat{Czxid: e.floor + 1}
		}},
		{"a session writes after its end", "the session ended at", func(h history) {
			e, _, _ := h.find(func(l *line, i int, _ int64) bool { return written(l, i, 0) && l.exchanges[i].life })
			h.effects[e.number] = zk.Stat{Czxid: e.zxid, Pzxid: e.zxid}
		}},
		{"a write takes effect before one that had been acknowledged", "before a write that had been acknowledged", func(h history) {
			e, _, seen := h.find(func(l *line, i int, seen int64) bool {
				return written(l, i, 0) && 0 < seen && seen < l.exchanges[i].floor
			})
			e.zxid = seen + 1
			h.effects[e.number] = zk.Stat{Czxid: seen + 1}
		}},
	}
}

// brief records two clients of healthy servers. Each error can be inserted into that history.
func brief(t *testing.T) history {
	t.Helper()
	s := embeddedSite(t, embedded.Config{Voters: 3})
	d := newStand(s, patience)
	a, b := d.client(1, 0), d.client(1, 1)
	ask := func(c *client, e *exchange) {
		if !c.ask(e, patience) {
			t.Fatalf("%s was not answered", e.op)
		}
	}
	exists := func() *exchange { return &exchange{op: wire.OpExists, read: read{wire.OpExists, "/a", true}} }
	a.attach(0)
	b.attach(1)
	ask(a, exists())
	n := int(d.number.Add(1))
	ask(b, &exchange{op: wire.OpMulti, number: n, write: write{op: wire.OpCreate, path: "/a"}})
	ask(a, &exchange{op: wire.OpSync})
	ask(a, exists())
	ask(b, b.kept())
	ask(a, a.kept())
	from := a.current
	a.attach(2)
	ask(a, exists())
	a.belated(from)
	d.over.Store(true)
	a.run()
	b.run()
	return history{lines: slices.Concat(a.lines, b.lines), effects: survey(s, d.acked.Load())}
}

func TestCheckFindsErrors(t *testing.T) {
	t.Parallel()
	good := brief(t)
	if wrong := check(good); len(wrong) > 0 {
		t.Fatalf("the check complains of healthy servers: %q", wrong)
	}
	for _, s := range spoilers() {
		h := good.clone()
		s.spoil(h)
		if wrong := strings.Join(check(h), "\n"); !strings.Contains(wrong, s.complaint) {
			t.Errorf("%s, and the check complains of %q", s.name, wrong)
		}
	}
}
