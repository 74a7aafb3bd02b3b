package embedded

import (
	"net"
	"slices"
	"sync"
	"time"
)

// outbox is what waits to be written to one connection, in order. Whoever puts something in never waits, so that one
// slow client does not hold up the server.
//
// Note: a reply is written by the goroutine that read its request, unless something is in its way. Waking the writer
// for each would cost more than all the rest of a request.
type outbox struct {
	conn   net.Conn
	limits limits

	mu       sync.Mutex
	changed  sync.Cond
	items    []item
	bytes    int           // waiting or being written
	busy     bool          // somebody is writing
	finished bool          // nothing more comes
	aborted  chan struct{} // closed when what is left shall not be sent
}

// item is one frame. What comes after it waits with it, as it would in a network.
type item struct {
	frame []byte
	until <-chan struct{} // not sent before this is closed, if there is one
	due   time.Time       // not sent before
}

// held tells whether the item may have to wait.
func (i item) held() bool { return i.until != nil || !i.due.IsZero() }

func newOutbox(conn net.Conn, limits limits) *outbox {
	o := &outbox{conn: conn, limits: limits, aborted: make(chan struct{})}
	o.changed.L = &o.mu
	return o
}

// put adds a frame for the next flush to find.
func (o *outbox) put(i item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return
	}
	o.items = append(o.items, i)
	o.bytes += len(i.frame)
}

// wake has the writer send what is there.
func (o *outbox) wake() { o.changed.Broadcast() }

// finish lets the writer end when it has sent what is there.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished = true
	o.changed.Broadcast()
}

// abort ends the connection at once.
func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.aborted:
	default:
		close(o.aborted)
	}
	o.finished, o.items = true, nil
	o.changed.Broadcast()
	o.conn.Close()
}

// awaitRoom returns when the client has taken enough of what was sent to it.
func (o *outbox) awaitRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > o.limits.outbox && !o.finished {
		o.changed.Wait()
	}
}

// write sends what comes in until there will be no more.
func (o *outbox) write() {
	for o.awaitWork() {
		o.send(o.take(false))
	}
}

// awaitWork returns false when everything has been sent and nothing more will come.
func (o *outbox) awaitWork() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy || len(o.items) == 0 && !o.finished {
		o.changed.Wait()
	}
	return len(o.items) > 0
}

// flush sends what is there, or leaves it to the writer if that would take time.
func (o *outbox) flush() { o.send(o.take(true)) }

// take returns what is to be sent, and makes the caller the one who sends it; nothing if there is somebody else. For one
// who is in a hurry there is nothing, either, if something has to wait: the writer is called.
func (o *outbox) take(hurry bool) []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy || len(o.items) == 0 {
		return nil
	}
	if hurry && slices.ContainsFunc(o.items, item.held) {
		o.changed.Broadcast()
		return nil
	}
	items := o.items
	o.items, o.busy = nil, true
	return items
}

// send writes items that were taken.
func (o *outbox) send(items []item) {
	if len(items) == 0 {
		return
	}
	if err := o.transmit(items); err != nil {
		o.abort()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	o.changed.Broadcast()
}

// transmit writes items with as few calls as they allow.
func (o *outbox) transmit(items []item) error {
	for len(items) > 0 {
		if items[0].held() && !o.await(items[0]) {
			return net.ErrClosed
		}
		n := 1 + slices.IndexFunc(items[1:], item.held)
		if n == 0 {
			n = len(items)
		}
		if err := o.transfer(items[:n]); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

func (o *outbox) transfer(items []item) error {
	batch := make(net.Buffers, 0, len(items))
	bytes := 0
	for _, i := range items {
		batch = append(batch, i.frame)
		bytes += len(i.frame)
	}
	o.mu.Lock()
	if o.finished { // nobody waits for the client's next request any more, or for its session to expire
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.limits.farewell))
	}
	o.mu.Unlock()
	_, err := batch.WriteTo(o.conn)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= bytes
	return err
}

// await returns when a held item may be sent; false if it shall not be.
func (o *outbox) await(i item) bool {
	if i.until != nil {
		select {
		case <-i.until:
		case <-o.aborted:
			return false
		}
	}
	select {
	case <-time.After(time.Until(i.due)):
		return true
	case <-o.aborted:
		return false
	}
}
