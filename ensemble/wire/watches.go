package wire

// watchKey names a watch of a session. A session has at most one data watch and one child watch on a path.
type watchKey struct {
	path  string // truncated to maxWatchedPath
	child bool
}

// maxWatchedPath bounds the bytes of a path in a key. It is less than is decoded of the path of any frame.
const maxWatchedPath = prefixSize - 128

func newWatchKey(path []byte, child bool) watchKey {
	return watchKey{string(path[:min(len(path), maxWatchedPath)]), child}
}

// truncated reports whether the key may stand for several watches.
func (k watchKey) truncated() bool { return len(k.path) == maxWatchedPath }

type watchSet map[watchKey]struct{}

func (s *watchSet) add(k watchKey) {
	if *s == nil {
		*s = watchSet{}
	}
	(*s)[k] = struct{}{}
}

// remove removes a watch, and with both also the other kind of watch on the same path.
func (s watchSet) remove(k watchKey, both bool) {
	delete(s, k)
	if both {
		k.child = !k.child
		delete(s, k)
	}
}

func (s watchSet) fire(typ EventType, path []byte) {
	if len(s) == 0 {
		return
	}
	k := newWatchKey(path, typ == NodeChildrenChanged)
	delete(s, k)
	if typ == NodeDeleted {
		k.child = true
		delete(s, k)
	}
}
