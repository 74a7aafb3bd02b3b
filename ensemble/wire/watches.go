package wire

// watchKey names a watch of a session. A session has at most one watch of a kind on a path.
type watchKey struct {
	path string // truncated to maxWatchedPath
	kind WatchKind
}

// WatchKind is a kind of watch, as requests that check or remove watches number it.
type WatchKind uint32

// The kinds of watches.
const (
	ChildWatch      WatchKind = 1
	DataWatch       WatchKind = 2 // also of exists
	AnyWatch        WatchKind = 3 // when watches are removed
	persistentWatch WatchKind = 4 // or, plus one, persistent and recursive
)

// maxWatchedPath bounds the bytes of a path in a key. It is less than is decoded of the path of any frame.
const maxWatchedPath = prefixSize - 128

func newWatchKey(path []byte, kind WatchKind) watchKey { return watchKey{known(path), kind} }

// known returns the part of a path that is decoded in every frame: paths are the same for each request and notification.
func known(path []byte) string { return string(path[:min(len(path), maxWatchedPath)]) }

// truncated reports whether the key may stand for several watches.
func (k watchKey) truncated() bool { return len(k.path) == maxWatchedPath }

// watchSet has the connection on which each watch was last set by a request of its own.
type watchSet map[watchKey]*Conn

func (s *watchSet) add(k watchKey, c *Conn) {
	if *s == nil {
		*s = watchSet{}
	}
	(*s)[k] = c
}

// remove removes a watch, or those of all kinds on a path.
func (s watchSet) remove(k watchKey) {
	for kind := ChildWatch; kind <= persistentWatch+1; kind++ {
		if k.kind == kind || k.kind == AnyWatch {
			delete(s, watchKey{k.path, kind})
		}
	}
}

// WatchesNow returns the paths of the watches that are set at the server, one for each watch. Very long paths are truncated. Between two
// connections, none is set. On a further connection, the client sets all of them again, or only some, one by one.
func (l *Ledger) WatchesNow() (paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range l.watches {
		if l.alive && (l.resumed || c == l.conn && !c.ending.ended) {
			paths = append(paths, k.path)
		}
	}
	return paths
}

// kind returns the kind of watch that a notification shows to have fired; AnyWatch for both kinds.
func (t EventType) kind() WatchKind {
	switch t {
	case NodeChildrenChanged:
		return ChildWatch
	case NodeDeleted:
		return AnyWatch
	default:
		return DataWatch
	}
}

// fire removes the watches that a notification shows to have fired. One that is sent again answers a request to set a watch of an earlier
// connection. The server then keeps a watch that a request of its own has already set on this one, which the client takes for fired, too.
// The ledger is locked.
func (c *Conn) fire(typ EventType, path []byte, again bool) {
	held := c.ledger.watches
	for kind := ChildWatch; kind < AnyWatch; kind++ {
		if typ.kind()&kind == 0 {
			continue
		}
		k := newWatchKey(path, kind)
		if !again || c.ending.remaining[k] != c {
			delete(c.ending.remaining, k)
		}
		if !again {
			delete(c.kept, k)
		}
		if c.ending.ended {
			continue
		}
		if again && held[k] == c {
			c.kept.add(k, c)
		}
		delete(held, k)
	}
}
