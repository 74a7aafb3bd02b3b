package observe

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	mostFamilies = 500
	mostNames    = 20 // kinds of sequential znodes in a directory
)

// family has the evidence about a folded path: the znode itself, and the znodes in it.
type family struct {
	path      string
	self, in  evidence
	names     []string // kinds of sequential znodes in it
	listWakes wakes    // by watches on its list
}

// families holds the families by folded path. When there are too many, those that look least like a recipe are forgotten.
type families struct {
	ranked[string, family]
	*znodes // before the operation that is added
}

func newFamilies(z *znodes) families {
	return families{znodes: z, ranked: ranked[string, family]{
		by: map[string]*family{}, most: mostFamilies, dropped: func(*family) {}, merge: (*family).plus,
		fresh: func(path string) *family {
			return &family{path: path, self: evidence{sessions: map[int64]uint32{}}, in: evidence{sessions: map[int64]uint32{}}}
		},
		compare: func(a, b *family) int {
			return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.path, b.path))
		},
	}}
}

func (f *family) plus(other *family) {
	f.self.plus(other.self)
	f.in.plus(other.in)
	f.listWakes.plus(other.listWakes)
	f.take(other.names...)
}

// kindOf returns the folded name of a sequential znode without its number.
func kindOf(znode string) string {
	rest := znode[:max(len(znode)-sequenceDigits, 0)]
	kind := path.Base(fold(rest) + folded)
	if n := len(rest) - len(strings.TrimRight(rest, hexDigits)); n == 8 || n == 16 {
		kind += inHex
	}
	return kind
}

// inHex marks kinds of znodes with a number in hexadecimal: a priority or a time, as Curator's queues write them.
const inHex = "#"

// take adds kinds of sequential znodes.
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
func (fs *families) add(session int64, path string, does ...role) {
	if len(does) == 0 {
		return
	}
	f, directory := fs.around(path)
	f.self.add(session, does...)
	directory.in.add(session, does...)
}

// exchanged counts an operation that is not a multi.
func (fs *families) exchanged(session int64, e wire.Exchange) {
	own := fs.made.by[e.Path].by(e.Zxid) == session
	switch e.Op {
	case wire.OpGetChildren, wire.OpGetChildren2:
		if e.Code == wire.OK {
			fs.of(fold(e.Path)).in.add(session, fs.listing(session, e)...)
		}
	case wire.OpExists, wire.OpGetData:
		fs.add(session, e.Path, fs.reading(session, e, own)...)
	case wire.OpSetData, wire.OpDelete:
		fs.add(session, e.Path, fs.changing(session, e, own)...)
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		fs.add(session, e.Path, fs.creating(e)...)
		if e.Sequential {
			_, directory := fs.around(e.Path)
			directory.take(kindOf(e.Path))
		}
	}
}

func (fs *families) listing(session int64, e wire.Exchange) []role {
	switch looked := fs.lines[e.Path].looked; {
	case !e.Armed:
		return []role{lists}
	case !fs.has(session, e.Path, func(string) bool { return true }):
		return []role{follows}
	case looked != "" && looked == fs.first(e.Path) && fs.made.by[looked].session == session:
		return []role{waits, relists}
	default:
		return []role{waits}
	}
}

func (fs *families) reading(session int64, e wire.Exchange, own bool) []role {
	directory := parentOf(e.Path)
	switch {
	case e.Armed && own:
		return []role{watchesOwn}
	case e.Armed && e.Code == wire.NoNode && !isSequential(e.Path):
		return []role{awaits}
	case e.Armed && fs.has(session, directory, func(own string) bool { return fs.byNumber(own, e.Path) < 0 }):
		return []role{watchesOther, watchesLater}
	case e.Armed && isRead(path.Base(e.Path)) && fs.has(session, directory, func(own string) bool { return isRead(path.Base(own)) }):
		return []role{watchesOther, readersWait}
	case e.Armed:
		return []role{watchesOther}
	case e.Op == wire.OpGetData && e.Code == wire.OK:
		return []role{reads}
	default:
		return nil
	}
}

func (fs *families) changing(session int64, e wire.Exchange, own bool) []role {
	directory := parentOf(e.Path)
	switch isFirst := func() bool { return fs.first(directory) == e.Path }; {
	case e.Op == wire.OpDelete && e.Code == wire.NoNode:
		return []role{misses}
	case e.Code != wire.OK:
		return nil
	case e.Op == wire.OpSetData && own:
		return []role{writesOwn}
	case e.Op == wire.OpSetData:
		return []role{writesOther}
	case own && isFirst() && len(fs.lines[directory].paths) == 1:
		return []role{deletesOwn, deletesFirst, deletesLast}
	case own && isFirst():
		return []role{deletesOwn, deletesFirst}
	case own:
		return []role{deletesOwn}
	case fs.claims.by[path.Base(e.Path)] == session:
		return []role{deletesOther, consumes}
	default:
		return []role{deletesOther}
	}
}

func (fs *families) creating(e wire.Exchange) []role {
	switch {
	case e.Code == wire.NodeExists:
		return []role{refused}
	case e.Code != wire.OK:
		return nil
	}
	does := []role{creates}
	if e.Sequential {
		does = append(does, sequential)
	} else if isClaim(e) {
		does = append(does, claims)
	}
	switch isOther := func(path string) bool { return path != e.Path }; {
	case e.Flags == wire.UnknownFlags:
		return does
	case !isEphemeral(e.Flags):
		return append(does, persistent)
	case slices.ContainsFunc(fs.lines[parentOf(e.Path)].paths, isOther):
		does = append(does, joins)
	}
	return append(does, ephemeral)
}

// over counts the end of a session, with which its ephemeral znodes go.
func (fs *families) over(session int64) {
	for _, path := range fs.ends[session] {
		fs.add(session, path, leaves)
	}
	for _, f := range fs.by {
		f.self.over(session)
		f.in.over(session)
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
