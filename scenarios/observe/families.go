package observe

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	mostFamilies = 500
	// mostChildren bounds how many sequential znodes are remembered by the session that has created them.
	mostChildren = 1 << 14
	// leastEvidence is how often each step of a recipe must have been seen.
	leastEvidence = 3
)

// family is a directory with counts of the operations on the znodes in it, or a znode that is used by itself.
type family struct {
	path         string
	children     string // the folded path of a sequential znode in it
	made         int64  // sequential znodes
	ownDeletes   int64  // of them by the session that created them
	otherDeletes int64  // of them by others, or by a session that is not known
	listed       int64  // without a watch
	childWatches int64
	siblings     int64 // watches on sequential znodes in it
	byExists     int64 // of them, set by exists

	taken     int64 // creates of the znode itself
	lostTakes int64 // that failed because the znode existed
	selfWatch int64 // watches on the znode itself
}

// families holds the families by folded path. When there are too many, those that look least like a recipe are forgotten.
type families struct {
	ranked[string, family]
	creators latest[string, int64] // the sessions that have created sequential znodes
}

func newFamilies() families {
	return families{creators: latest[string, int64]{most: mostChildren, by: map[string]int64{}}, ranked: ranked[string, family]{
		by: map[string]*family{}, most: mostFamilies,
		fresh: func(path string) *family { return &family{path: path} }, dropped: func(*family) {}, merge: (*family).plus,
		compare: func(a, b *family) int {
			return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.path, b.path))
		},
	}}
}

func (fs *families) at(path string) *family { return fs.of(fold(path)) }

func (fs *families) exchanged(s *session, e wire.Exchange) {
	if e.Op == wire.OpMulti {
		for _, p := range e.Parts {
			fs.changed(s, p.Op, p.Path, e.Code)
		}
		return
	}
	fs.changed(s, e.Op, e.Path, e.Code)
	switch e.Op {
	case wire.OpGetChildren, wire.OpGetChildren2:
		if f := fs.at(e.Path); e.Armed {
			f.childWatches++
		} else {
			f.listed++
		}
	case wire.OpExists, wire.OpGetData:
		switch {
		case e.Asked && isSequential(e.Path):
			f := fs.at(parentOf(e.Path))
			f.siblings++
			if e.Op == wire.OpExists {
				f.byExists++
			}
		case e.Armed:
			fs.at(e.Path).selfWatch++
		}
	}
}

// changed counts a create or a delete, which may be a part of a multi.
func (fs *families) changed(s *session, op wire.Opcode, path string, code wire.Code) {
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		fs.created(s, path, code)
	case wire.OpDelete:
		fs.deleted(s, path, code)
	}
}

func (fs *families) created(s *session, path string, code wire.Code) {
	switch {
	case code == wire.OK && isSequential(path):
		f := fs.at(parentOf(path))
		f.made++
		f.children = fold(path)
		fs.creators.add(path, s.id)
	case code == wire.OK:
		fs.at(path).taken++
	case code == wire.NodeExists:
		fs.at(path).lostTakes++
	}
}

func (fs *families) deleted(s *session, path string, code wire.Code) {
	if code != wire.OK || !isSequential(path) {
		return
	}
	if f := fs.at(parentOf(path)); fs.creators.by[path] == s.id {
		f.ownDeletes++
	} else {
		f.otherDeletes++
	}
	delete(fs.creators.by, path)
}

func (fs *families) looks() []Look {
	out := []Look{}
	for _, f := range fs.sorted() {
		if l, ok := f.look(); ok {
			out = append(out, l)
		}
	}
	return out
}

func (f *family) plus(other *family) {
	f.children = cmp.Or(f.children, other.children)
	f.made, f.ownDeletes, f.otherDeletes = f.made+other.made, f.ownDeletes+other.ownDeletes, f.otherDeletes+other.otherDeletes
	f.listed, f.childWatches = f.listed+other.listed, f.childWatches+other.childWatches
	f.siblings, f.byExists = f.siblings+other.siblings, f.byExists+other.byExists
	f.taken, f.lostTakes, f.selfWatch = f.taken+other.taken, f.lostTakes+other.lostTakes, f.selfWatch+other.selfWatch
}

func (f *family) weight() int64 { return f.made + f.lostTakes + f.childWatches + f.siblings }

// look says which recipe the family's znodes look like; ok is false for an unknown pattern.
func (f *family) look() (l Look, ok bool) {
	enough := func(counts ...int64) bool { return slices.Min(counts) >= leastEvidence }
	own := f.ownDeletes > f.otherDeletes
	switch {
	case own && enough(f.made, f.childWatches, f.ownDeletes) && f.childWatches >= f.siblings:
		return Look{f.path, "lock/children-watch", "lock/predecessor-watch", "every waiter watches " + f.path}, true
	case own && enough(f.made, f.byExists, f.ownDeletes) && 2*f.byExists > f.siblings:
		return Look{f.path, "lock/writelock", "lock/predecessor-watch",
			"each waiter watches one znode such as " + f.children + " with exists, which waits for ever if that has just gone"}, true
	case own && enough(f.made, f.siblings, f.ownDeletes):
		return Look{f.path, "lock/predecessor-watch", "", "each waiter watches one znode such as " + f.children}, true
	case enough(f.lostTakes, f.selfWatch, f.taken):
		return Look{f.path, "lock/znode", "lock/predecessor-watch", "every waiter watches " + f.path + " and tries to create it"}, true
	case !own && enough(f.otherDeletes, f.childWatches):
		return Look{f.path, "blockingqueue/all-watch", "blockingqueue/ticket", "every consumer watches " + f.path}, true
	case !own && enough(f.otherDeletes, f.listed):
		return Look{f.path, "queue/list-and-delete", "queue/cached-list", "every consumer lists " + f.path + " for each item"}, true
	default:
		return Look{}, false
	}
}
