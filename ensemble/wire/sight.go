package wire

import "sync/atomic"

// Write is a request that changes something. A client has sent it or is about to send it.
type Write struct{ zxid atomic.Int64 }

// The values of Write.zxid until the zxid is known.
const (
	unsent     = 0
	unanswered = -1
	unknown    = -2 // its reply was lost
)

// Sent reports whether the write has been sent.
func (w *Write) Sent() bool { return w.zxid.Load() != unsent }

// Zxid returns the zxid of the write, as in its reply. It is zero if the reply was lost. final is false while the reply may come.
func (w *Write) Zxid() (zxid int64, final bool) {
	zxid = w.zxid.Load()
	return max(zxid, 0), zxid > 0 || zxid == unknown
}

// end ends the wait for the reply. zxid is not positive if the reply is missing. It may be called for nil.
func (w *Write) end(zxid int64) {
	if zxid <= 0 {
		zxid = unknown
	}
	if w != nil {
		w.zxid.Store(zxid)
	}
}

// Sight returns how far the client has seen the servers' transactions. seen is the largest zxid of a reply or a notification to any of
// its sessions. It is -1 if the client has been notified since of a transaction that the server did not name. shown is the largest zxid
// of an answer on this session: its next read returns that state or a later one. next is the next write that the client will send.
func (l *Ledger) Sight() (seen, shown int64, next *Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &Write{}
	}
	if l.blind {
		return -1, l.shown, l.next
	}
	return l.seen, l.shown, l.next
}

// marked returns the Write for a request. It is nil for a read, or if no caller of Sight waits for it. The ledger is locked.
func (l *Ledger) marked(op Opcode) (w *Write) {
	if op.IsWrite() && l.next != nil {
		w, l.next = l.next, nil
		w.zxid.Store(unanswered)
	}
	return w
}
