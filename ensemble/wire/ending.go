package wire

import (
	"maps"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/jute"
)

// ending is the state of a connection that may end. It is guarded by the ledger's lock.
type ending struct {
	ended     bool          // for the client: it receives nothing more, and nothing that it sends reaches the server
	next      bool          // the reply to the next request ends the connection
	traps     []*Trap       // that have sprung, and fire when the connection ends
	drained   chan struct{} // closed when the connection has ended at the server, too; nil if it is not drained
	remaining watchSet      // while draining: watches that may be set at the server
	consumed  int64         // bytes from the network
	passed    int64         // bytes of frames that were counted before the end
}

func (e *ending) pass(length int) {
	if !e.ended {
		e.passed += int64(max(length, 0)) + 4
	}
}

// admit returns how many of the n bytes that have just arrived are for the client.
func (e *ending) admit(n int) int {
	before := e.consumed
	e.consumed += int64(n)
	if !e.ended {
		return n
	}
	return int(min(max(e.passed-before, 0), int64(n)))
}

// drainTimeout bounds the time from the end of a connection for the client to its end at the server.
const drainTimeout = 2 * time.Second

const maxRemovals = 1000

// End ends the connection for the client at once. Frames that the server has sent or still sends are counted as lost. End removes the
// watches that are set on the connection, and then lets the server close it, so that all counts are certain. It does not wait for that;
// see Drained. A second call has no effect.
func (c *Conn) End() {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if !c.ending.ended {
		c.endAndDrain()
	}
}

// Drained returns a channel that is closed when the connection has ended at the server, too, and its counts are final. It is
// nil unless End or a [Trap] has ended the connection.
func (c *Conn) Drained() <-chan struct{} { return read(c.ledger, &c.ending.drained) }

// end ends the connection for the client. The ledger is locked.
func (c *Conn) end() {
	c.ending.ended = true
	if c.ledger.conn == c { // otherwise, the session has moved to another one
		c.ledger.resumed = false
	}
	for _, t := range c.ending.traps {
		close(t.fired)
	}
}

// endAndDrain ends the connection for the client, and drains it in the background. The ledger is locked.
func (c *Conn) endAndDrain() {
	c.end()
	c.ending.drained = make(chan struct{})
	if c.watching {
		c.ending.remaining = maps.Clone(c.ledger.watches)
		maps.Copy(c.ending.remaining, c.kept)
	}
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // ends a read of the client
	go c.drain()
}

// drain counts the frames that the server still sends, until it closes the connection.
func (c *Conn) drain() {
	defer close(c.ending.drained)
	defer c.Conn.Close()
	c.reading.Lock() // when the client's last read has ended
	defer c.reading.Unlock()
	_ = c.Conn.SetDeadline(time.Now().Add(drainTimeout))
	if c.discardUntil(c.answered) && c.removeWatches() && c.discardUntil(c.answered) {
		if dial.CloseWrite(c.Conn) == nil {
			c.discardUntil(func() bool { return false })
		}
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.settle()
}

// answered reports whether no reply is missing. The ledger is locked.
func (c *Conn) answered() bool {
	return len(c.outstanding) == 0 && c.greetedIn == c.greetedOut
}

// discardUntil counts frames until a condition holds. It returns false if the connection ends before.
func (c *Conn) discardUntil(done func() bool) bool {
	buffer := make([]byte, readSize) // the client may still read what it has been sent before
	for {
		if locked(c.ledger, done) {
			return true
		}
		n, err := c.Conn.Read(buffer)
		c.ledger.mu.Lock()
		c.in.feed(buffer[:n])
		c.ledger.mu.Unlock()
		if err != nil {
			return false
		}
	}
}

const removalXid = 1<<31 - 2

// removeWatches asks the server to remove the watches that are set on the connection. Otherwise, the server's counters would include
// notifications that the end of the connection discards. It returns false if the requests could not be sent.
func (c *Conn) removeWatches() bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.Conn.Write(locked(c.ledger, c.removals))
	return err == nil
}

// removals returns the requests that remove the remaining watches, and counts them. The ledger is locked.
func (c *Conn) removals() []byte {
	var out []byte
	if len(c.ending.remaining) > maxRemovals {
		return nil
	}
	for k := range c.ending.remaining {
		if k.truncated() {
			continue
		}
		e := jute.NewFrame(16 + len(k.path))
		e.Int(removalXid)
		e.Int(int32(OpRemoveWatches))
		e.Text(k.path)
		e.Int(int32(k.kind))
		out = append(out, e.Frame()...)
		c.expect(outstandingRequest{xid: removalXid, op: OpRemoveWatches, housekeeping: true, removes: k})
		c.ledger.counts.Housekeeping++
		c.ledger.counts.HousekeepingSent++
	}
	return out
}

// settle counts the requests and watches whose effects remain unknown when the connection has ended at the server. The ledger is locked.
func (c *Conn) settle() {
	counts := &c.ledger.counts
	for _, r := range c.outstanding {
		r.write.end(0)
		if r.op.IsWrite() && !r.housekeeping || r.op == OpClose && c.ledger.further {
			counts.UnknownTransactions++
		}
		if r.watch != (watchKey{}) { // the server may have set it, and fired it
			counts.UnknownNotifications++
		}
	}
	if c.opens && !c.greetedIn { // a session that may have been opened, and would run out
		counts.SessionsOpened++
		counts.UnknownTransactions += 2
	}
	switch {
	case c.ending.drained != nil:
		counts.UnknownNotifications += int64(len(c.ending.remaining))
	case c.watching:
		counts.UnknownNotifications += int64(len(c.ledger.watches) + len(c.kept)) // of which none is in both
	}
	c.outstanding, c.ending.remaining = nil, nil
}

// Close closes the connection at once, unless it is being drained.
func (c *Conn) Close() error {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.ending.drained != nil {
		return nil
	}
	if !c.ending.ended {
		c.end()
		c.settle()
	}
	return c.Conn.Close()
}

// SetDeadline implements [net.Conn] until the connection ends.
func (c *Conn) SetDeadline(t time.Time) error { return c.unlessEnded(c.Conn.SetDeadline, t) }

// SetReadDeadline implements [net.Conn] until the connection ends.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.unlessEnded(c.Conn.SetReadDeadline, t) }

// SetWriteDeadline implements [net.Conn] until the connection ends.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.unlessEnded(c.Conn.SetWriteDeadline, t) }

func (c *Conn) unlessEnded(set func(time.Time) error, t time.Time) error {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.ending.ended {
		return nil
	}
	return set(t)
}
