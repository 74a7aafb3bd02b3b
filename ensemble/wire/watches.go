package wire

// watchKey names a watch of a session. A session has at most one data watch and one child watch on a path.
type watchKey struct {
	path  string // truncated to maxWatchedPath
	child bool
}

// maxWatchedPath is how many bytes of a path a key has: less than of the path of any frame is decoded.
const maxWatchedPath = prefixSize - 128

func newWatchKey(path []byte, child bool) watchKey {
	return watchKey{string(path[:min(len(path), maxWatchedPath)]), child}
}

// truncated reports whether the key may be of several watches.
func (k watchKey) truncated() bool { return len(k.path) == maxWatchedPath }

// watchSet holds watches that are set and have not fired.
type watchSet map[watchKey]struct{}

func (s *watchSet) add(k watchKey) {
	if *s == nil {
		*s = watchSet{}
	}
	(*s)[k] = struct{}{}
}

// remove removes a watch, and the one of the other kind on the same path if both are meant.
func (s watchSet) remove(k watchKey, both bool) {
	delete(s, k)
	if both {
		k.child = !k.child
		delete(s, k)
	}
}

// fire removes the watches that a notification ends.
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
