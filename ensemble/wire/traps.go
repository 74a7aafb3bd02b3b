package wire

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// Trap is the end of a connection that has not happened yet. Its ledgers keep it until they get another one.
type Trap struct {
	ledgers []*Ledger
	op      Opcode
	after   bool
	sprung  atomic.Bool // it fires, or has been disarmed
	victim  int
	fired   chan struct{}
}

// CutFirst ends the connection of one of these sessions, as [Conn.End] does: of the first to send a request of a kind, itself or by a
// further session. With after, the reply to the request is lost with the connection. Otherwise, the connection ends instead of sending
// the request. The clients must send each frame by one Write.
func CutFirst(ledgers []*Ledger, op Opcode, after bool) *Trap {
	t := &Trap{ledgers: ledgers, op: op, after: after, fired: make(chan struct{})}
	for _, l := range ledgers {
		l.mu.Lock()
		l.traps = append(slices.DeleteFunc(l.traps, func(o *Trap) bool { return o.sprung.Load() }), t)
		l.mu.Unlock()
	}
	return t
}

// Fired is closed when the connection has ended.
func (t *Trap) Fired() <-chan struct{} { return t.fired }

// Victim returns the index of the session that was cut. It must not be called before the trap has fired.
func (t *Trap) Victim() int { return t.victim }

// Disarm makes the trap ineffective, and reports whether it had not fired.
func (t *Trap) Disarm() bool { return t.sprung.CompareAndSwap(false, true) }

// OpcodeOf returns the opcode of a frame that is not a connect request; known is false if there are too few bytes.
func OpcodeOf(frame []byte) (op Opcode, known bool) {
	const header = 12 // the length, the xid and the opcode
	if len(frame) < header {
		return 0, false
	}
	return Opcode(binary.BigEndian.Uint32(frame[8:])), true
}

// spring lets a trap fire for a frame that the client is about to send. It returns false if the connection has ended instead of the
// request being sent. The ledger is locked.
func (c *Conn) spring(frame []byte) (goesOn bool) {
	op, known := OpcodeOf(frame)
	if !c.greetedOut || !known {
		return true
	}
	t := c.ledger.trapFor(op)
	if t == nil {
		return true
	}
	c.ending.traps = append(c.ending.traps, t)
	if !t.after {
		c.endAndDrain()
		return false
	}
	c.ending.next = true
	return true
}

// trapFor returns the trap for a request, or nil. The trap fires for no other request. The ledger is locked.
func (l *Ledger) trapFor(op Opcode) *Trap {
	for _, t := range l.traps {
		if kind(t.op) == kind(op) && t.sprung.CompareAndSwap(false, true) {
			t.victim = slices.IndexFunc(t.ledgers, func(o *Ledger) bool { return o.tally == l.tally })
			return t
		}
	}
	return nil
}

// kind returns one opcode for all requests of a kind: getChildren has two versions, and so has create, whose second one also returns the
// stat.
func kind(op Opcode) Opcode {
	switch op {
	case OpGetChildren:
		return OpGetChildren2
	case OpCreate2:
		return OpCreate
	default:
		return op
	}
}
