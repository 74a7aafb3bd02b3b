package observe

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	mostFamilies = 500
	mostChildren = 1 << 14 // znodes that are remembered by the session that has created them
	mostLine     = 1 << 10 // ephemeral znodes of a directory that are known in their order
	mostNames    = 20      // folded names of sequential znodes in a directory
)

// family has the evidence about a folded path: the znode itself, and the znodes in it.
type family struct {
	path      string
	self, in  evidence
	names     []string // of sequential znodes in it, folded
	listWakes wakes    // by watches on its list
}

// families holds the families by folded path. When there are too many, those that look least like a recipe are forgotten.
type families struct {
	ranked[string, family]
	made  latest[string, origin]
	ends  map[int64][]string // the ephemeral znodes of sessions
	lines map[string]line    // by directory
}

// origin says which session has created a znode, 0 if it is gone, and which one has created the znode of that path before. The reply to
// a delete may be seen after the reply to the create that followed it, on another connection.
type origin struct{ session, zxid, before int64 }

func (o origin) by(zxid int64) int64 {
	if zxid < o.zxid {
		return o.before
	}
	return o.session
}

// line has the ephemeral znodes of a directory, and the one with the lowest number once its session has listed.
type line struct {
	paths  []string
	looked string
}

func newFamilies() families {
	return families{
		made: latest[string, origin]{most: mostChildren, by: map[string]origin{}}, ends: map[int64][]string{}, lines: map[string]line{},
		ranked: ranked[string, family]{
			by: map[string]*family{}, most: mostFamilies, dropped: func(*family) {}, merge: (*family).plus,
			fresh: func(path string) *family {
				return &family{path: path, self: evidence{sessions: map[int64]uint32{}}, in: evidence{sessions: map[int64]uint32{}}}
			},
			compare: func(a, b *family) int {
				return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.path, b.path))
			},
		},
	}
}

func (f *family) plus(other *family) {
	f.self.plus(other.self)
	f.in.plus(other.in)
	f.listWakes.plus(other.listWakes)
	f.take(other.names...)
}

// take adds the names of sequential znodes.
func (f *family) take(names ...string) {
	for _, name := range names {
		if len(f.names) < mostNames && !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
}

func (f *family) weight() (n int64) {
	for _, r := range []role{creates, refused, waits, follows, watchesOther, writesOther} {
		n += f.self.n[r] + f.in.n[r]
	}
	return n
}

// around returns the families of a path and of its directory.
func (fs *families) around(path string) (f, directory *family) {
	folded := fold(path)
	fs.of(folded) // makes room: the families that are returned are not merged into others
	directory = fs.of(parentOf(folded))
	return fs.of(folded), directory
}

// add counts an operation on a znode, as evidence about it and about its directory.
func (fs *families) add(s *session, path string, does ...role) {
	f, directory := fs.around(path)
	f.self.add(s.id, does...)
	directory.in.add(s.id, does...)
}

func (fs *families) exchanged(s *session, e wire.Exchange) {
	own := fs.made.by[e.Path].by(e.Zxid) == s.id
	switch e.Op {
	case wire.OpMulti:
		for _, p := range e.Parts {
			fs.exchanged(s, wire.Exchange{Op: p.Op, Path: p.Path, Code: e.Code, Zxid: e.Zxid, Sequential: p.Sequential, Flags: p.Flags})
		}
	case wire.OpGetChildren, wire.OpGetChildren2:
		fs.listed(s, e)
	case wire.OpExists, wire.OpGetData:
		fs.read(s, e, own)
	case wire.OpSetData, wire.OpDelete:
		fs.changed(s, e, own)
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		fs.created(s, e)
	case wire.OpCloseSession:
		fs.over(s)
	}
}

func (fs *families) listed(s *session, e wire.Exchange) {
	in := &fs.of(fold(e.Path)).in
	switch {
	case e.Code != wire.OK:
	case !e.Armed:
		in.add(s.id, lists)
	case !fs.has(s, e.Path, func(string) bool { return true }):
		in.add(s.id, follows)
	default:
		in.add(s.id, waits)
		l := fs.lines[e.Path]
		if first := l.first(); fs.made.by[first].session == s.id {
			if l.looked == first {
				in.add(s.id, relists)
			}
			fs.lines[e.Path] = line{l.paths, first}
		}
	}
}

func (fs *families) read(s *session, e wire.Exchange, own bool) {
	switch {
	case e.Armed && own:
		fs.add(s, e.Path, watchesOwn)
	case e.Armed && e.Code == wire.NoNode && !isSequential(e.Path):
		fs.add(s, e.Path, awaits)
	case e.Armed && fs.has(s, parentOf(e.Path), func(own string) bool { return byNumber(own, e.Path) < 0 }):
		fs.add(s, e.Path, watchesOther, watchesLater)
	case e.Armed:
		fs.add(s, e.Path, watchesOther)
	case e.Op == wire.OpGetData && e.Code == wire.OK:
		fs.add(s, e.Path, reads)
	}
}

func (fs *families) changed(s *session, e wire.Exchange, own bool) {
	switch {
	case e.Code != wire.OK:
	case e.Op == wire.OpSetData && own:
		fs.add(s, e.Path, writesOwn)
	case e.Op == wire.OpSetData:
		fs.add(s, e.Path, writesOther)
	case own && fs.lines[parentOf(e.Path)].first() == e.Path:
		fs.gone(s, e.Path, e.Zxid, deletesOwn, deletesFirst)
	case own:
		fs.gone(s, e.Path, e.Zxid, deletesOwn)
	default:
		fs.gone(s, e.Path, e.Zxid, deletesOther)
	}
}

func (fs *families) created(s *session, e wire.Exchange) {
	if e.Code == wire.NodeExists {
		fs.add(s, e.Path, refused)
	}
	if e.Code != wire.OK {
		return
	}
	does, before := []role{creates}, fs.made.by[e.Path].session
	fs.forget(before, e.Path) // its end was not seen, or not yet
	switch e.Flags {
	case 1, 3: // as those of [zk.Conn.Create]
		does = append(does, ephemeral)
		l := fs.lines[parentOf(e.Path)]
		if len(l.paths) > 0 {
			does = append(does, joins)
		}
		fs.lines[parentOf(e.Path)] = line{append(l.paths[max(len(l.paths)-mostLine+1, 0):], e.Path), l.looked}
		fs.ends[s.id] = append(fs.ends[s.id], e.Path)
	case wire.UnknownFlags:
	default:
		does = append(does, persistent)
	}
	if e.Sequential {
		does = append(does, sequential)
		f, directory := fs.around(e.Path)
		directory.take(f.path)
	}
	fs.add(s, e.Path, does...)
	fs.made.add(e.Path, origin{s.id, e.Zxid, before})
}

// first returns the path with the lowest number; empty if there is none.
func (l line) first() string {
	if len(l.paths) == 0 {
		return ""
	}
	return slices.MinFunc(l.paths, byNumber)
}

func byNumber(a, b string) int {
	return strings.Compare(a[max(len(a)-sequenceDigits, 0):], b[max(len(b)-sequenceDigits, 0):])
}

// has reports whether a session has such an ephemeral znode in a directory.
func (fs *families) has(s *session, directory string, such func(path string) bool) bool {
	return slices.ContainsFunc(fs.ends[s.id], func(path string) bool { return parentOf(path) == directory && such(path) })
}

// gone counts the end of a znode by a session.
func (fs *families) gone(s *session, path string, zxid int64, does ...role) {
	if o := fs.made.by[path]; zxid >= o.zxid {
		if l := fs.lines[parentOf(path)]; len(l.paths) == 1 && l.paths[0] == path && does[0] == deletesOwn {
			does = append(does, deletesLast)
		}
		fs.made.add(path, origin{})
		fs.forget(o.session, path)
	}
	fs.add(s, path, does...)
}

// forget drops an ephemeral znode of a session.
func (fs *families) forget(session int64, path string) {
	isPath := func(p string) bool { return p == path }
	if fs.ends[session] = slices.DeleteFunc(fs.ends[session], isPath); len(fs.ends[session]) == 0 {
		delete(fs.ends, session)
	}
	l := fs.lines[parentOf(path)]
	l.paths = slices.DeleteFunc(l.paths, isPath)
	if fs.lines[parentOf(path)] = l; len(l.paths) == 0 {
		delete(fs.lines, parentOf(path))
	}
}

// over counts the end of a session, with which its ephemeral znodes go.
func (fs *families) over(s *session) {
	for _, path := range slices.Clone(fs.ends[s.id]) {
		fs.gone(s, path, math.MaxInt64, leaves)
	}
}

// closed takes the size of a complete herd.
func (fs *families) closed(h *herd) {
	f, directory := fs.around(h.Path)
	if h.typ == wire.NodeChildrenChanged {
		f.listWakes.add(h.Notifications)
		return
	}
	f.self.wakes.add(h.Notifications)
	directory.in.wakes.add(h.Notifications)
}
