package observe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// The variants that an observer recognizes by how their znodes are used, and those that are better.
const (
	lockChildrenWatch    = "lock/children-watch"
	lockPredecessorWatch = "lock/predecessor-watch"
	lockWriteLock        = "lock/writelock"
	lockZnode            = "lock/znode"
	queueListAndDelete   = "queue/list-and-delete"
	queueCachedList      = "queue/cached-list"
	queueAllWatch        = "blockingqueue/all-watch"
	queueTicket          = "blockingqueue/ticket"
)

const (
	mostFamilies = 500
	// mostChildren bounds how many sequential znodes are remembered by the session that has created them.
	mostChildren = 1 << 14
	// leastEvidence is how often each step of a recipe must have been seen.
	leastEvidence = 3
)

// family is a directory and what was done to the znodes in it, or a znode that is used by itself.
type family struct {
	path         string
	children     string // the folded path of a sequential znode in it
	made         int64  // sequential znodes
	ownDeletes   int64  // of them by the session that created them
	otherDeletes int64  // of them by others, or by a session that is not known
	lostDeletes  int64  // of sequential znodes that were gone
	listed       int64  // without a watch
	childWatches int64
	siblings     int64 // watches on sequential znodes in it
	byExists     int64 // of them, set by exists

	taken      int64 // creates of the znode itself
	lostTakes  int64 // that failed because the znode existed
	selfWatch  int64 // watches on the znode itself
	selfDelete int64
}

// families holds them by folded path.
type families struct {
	by       map[string]*family
	creators map[string]int64 // the sessions that have created sequential znodes
	order    []string
}

func newFamilies() families {
	return families{by: map[string]*family{}, creators: map[string]int64{}}
}

// of returns the family of a directory or znode. When there are too many, the half that looks least like a recipe is forgotten.
func (fs *families) of(path string) *family {
	key := fold(path)
	f := fs.by[key]
	if f == nil {
		if len(fs.by) == mostFamilies {
			all := fs.sorted()
			for _, f := range all[len(all)/2:] {
				delete(fs.by, f.path)
			}
		}
		f = &family{path: key}
		fs.by[key] = f
	}
	return f
}

// sorted returns the families, the busiest first.
func (fs *families) sorted() []*family {
	return slices.SortedFunc(maps.Values(fs.by), func(a, b *family) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.path, b.path))
	})
}

// exchanged takes a request into account.
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
		if f := fs.of(e.Path); e.Armed {
			f.childWatches++
		} else {
			f.listed++
		}
	case wire.OpExists, wire.OpGetData:
		switch {
		case e.Asked && isSequential(e.Path):
			f := fs.of(parentOf(e.Path))
			f.siblings++
			if e.Op == wire.OpExists {
				f.byExists++
			}
		case e.Armed:
			fs.of(e.Path).selfWatch++
		}
	}
}

// changed takes a create or a delete into account, which may be a part of a multi.
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
		f := fs.of(parentOf(path))
		f.made++
		f.children = fold(path)
		fs.remember(path, s.id)
	case code == wire.OK:
		fs.of(path).taken++
	case code == wire.NodeExists:
		fs.of(path).lostTakes++
	}
}

func (fs *families) deleted(s *session, path string, code wire.Code) {
	if !isSequential(path) {
		if code == wire.OK {
			fs.of(path).selfDelete++
		}
		return
	}
	f := fs.of(parentOf(path))
	switch {
	case code == wire.NoNode:
		f.lostDeletes++
	case code != wire.OK:
	case fs.creators[path] == s.id:
		f.ownDeletes++
	default:
		f.otherDeletes++
	}
	if code == wire.OK {
		delete(fs.creators, path)
	}
}

// remember keeps the session that has created a znode. Of too many, the oldest is forgotten.
func (fs *families) remember(path string, id int64) {
	if len(fs.order) == mostChildren {
		delete(fs.creators, fs.order[0])
		fs.order = fs.order[1:]
	}
	fs.creators[path] = id
	fs.order = append(fs.order, path)
}

// looks returns what the znodes are used like, the busiest first.
func (fs *families) looks() []Look {
	out := []Look{}
	for _, f := range fs.sorted() {
		if l, ok := f.look(); ok {
			out = append(out, l)
		}
	}
	return out
}

func (f *family) weight() int64 { return f.made + f.lostTakes + f.childWatches + f.siblings }

// look says which recipe the family's znodes are used like; ok is false if it is none that is known.
func (f *family) look() (l Look, ok bool) {
	enough := func(counts ...int64) bool { return slices.Min(counts) >= leastEvidence }
	own := f.ownDeletes > f.otherDeletes
	switch {
	case own && enough(f.made, f.childWatches, f.ownDeletes) && f.childWatches >= f.siblings:
		return Look{f.path, lockChildrenWatch, lockPredecessorWatch, "every waiter watches " + f.path}, true
	case own && enough(f.made, f.byExists, f.ownDeletes) && 2*f.byExists > f.siblings:
		return Look{f.path, lockWriteLock, lockPredecessorWatch,
			"each waiter watches one znode such as " + f.children + " with exists, which waits for ever if that has just gone"}, true
	case own && enough(f.made, f.siblings, f.ownDeletes):
		return Look{f.path, lockPredecessorWatch, "", "each waiter watches one znode such as " + f.children}, true
	case enough(f.lostTakes, f.selfWatch, f.taken):
		return Look{f.path, lockZnode, lockPredecessorWatch, "every waiter watches " + f.path + " and tries to create it"}, true
	case !own && enough(f.otherDeletes, f.childWatches):
		return Look{f.path, queueAllWatch, queueTicket, "every consumer watches " + f.path}, true
	case !own && enough(f.otherDeletes, f.listed):
		return Look{f.path, queueListAndDelete, queueCachedList, "every consumer lists " + f.path + " for each item"}, true
	default:
		return Look{}, false
	}
}
