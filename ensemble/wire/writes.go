package wire

import "strings"

// anyPath stands for a write whose paths are not known, such as a multi.
const anyPath = ""

// KeepWrites makes the ledger keep the paths of the writes that the session sends, for TakeWrites.
func (l *Ledger) KeepWrites() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keepsWrites = true
}

// TakeWrites appends to dst the paths of the writes since its last call, and removes them from the ledger. They are of use only to
// MayNotify.
func (l *Ledger) TakeWrites(dst []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	dst = append(dst, l.writes...)
	l.writes = l.writes[:0]
	return dst
}

// MayNotify reports whether one of these writes can fire a watch that the session holds. It returns true for some writes that do not:
// a create of a sequential znode is assumed to create all znodes whose paths begin like its own.
func (l *Ledger) MayNotify(writes []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.watches {
		for _, path := range writes {
			parent := path[:max(strings.LastIndexByte(path, '/'), 0)]
			if k.truncated() || strings.HasPrefix(k.path, path) || k.path == parent || parent == "" && k.path == "/" {
				return true
			}
		}
	}
	return false
}

// keepWrite keeps the path of a request if it is a write or closes the session. The ledger is locked.
func (l *Ledger) keepWrite(op Opcode, body []byte) {
	if !l.keepsWrites || !op.IsWrite() && op != OpClose {
		return
	}
	path := anyPath
	switch op {
	case OpCreate, OpDelete, OpSetData, OpCreate2, OpCreateContainer, OpCreateTTL:
		if p, _ := jutePath(body[8:]); len(p) < maxWatchedPath {
			path = string(p)
		}
	}
	l.writes = append(l.writes, path)
}
