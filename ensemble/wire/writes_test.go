package wire

import (
	"strings"
	"testing"
	"time"
)

// Each write that can fire a watch is found, and those of other paths are not.
func TestMayNotify(t *testing.T) {
	data, child := DataWatch, ChildWatch
	for _, tt := range []struct {
		name  string
		watch watchKey
		write string
		want  bool
	}{
		{"the znode", newWatchKey([]byte("/a/b"), data), "/a/b", true},
		{"a sibling", newWatchKey([]byte("/a/b"), data), "/a/c", false},
		{"a sibling that sorts before", newWatchKey([]byte("/a/lock-0000000002"), data), "/a/lock-0000000001", false},
		{"a child of a watched directory", newWatchKey([]byte("/a"), child), "/a/b", true},
		{"a child of the root", newWatchKey([]byte("/"), child), "/a", true},
		{"a grandchild", newWatchKey([]byte("/a"), child), "/a/b/c", false},
		{"the watched directory", newWatchKey([]byte("/a"), child), "/a", true},
		{"a sequential znode that is waited for", newWatchKey([]byte("/a/n-0000000007"), data), "/a/n-", true},
		{"a write of unknown paths", newWatchKey([]byte("/a/b"), data), anyPath, true},
		{"a path that is too long to be known", newWatchKey([]byte("/"+strings.Repeat("x", maxWatchedPath)), data), "/z", true},
	} {
		l := NewLedger(time.Now())
		if l.MayNotify([]string{tt.write}) {
			t.Errorf("%s: a session without watches may be notified", tt.name)
		}
		l.watches.add(tt.watch, nil)
		if got := l.MayNotify([]string{"/elsewhere/x", tt.write}); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
