package embedded

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/list"
)

// outbox is the queue of frames to one connection. Adding a frame never blocks, so that no client holds up the server.
//
// Note: the goroutine that read a request usually writes the reply, too: waking another one costs more than the request.
type outbox struct {
	conn net.Conn

	mu       sync.Mutex
	changed  sync.Cond
	items    []item
	bytes    int             // queued or being written
	busy     bool            // a goroutine is writing
	finished bool            // no frame is added any more
	aborted  <-chan struct{} // closed when the remaining frames are discarded
	discard  func()          // closes aborted
}

// item is one frame. If it is held back, so are the items after it.
type item struct {
	frame []byte
	until <-chan struct{} // not nil: sent when it is closed
}

func (i item) held() bool { return i.until != nil }

func newOutbox(conn net.Conn) *outbox {
	ctx, cancel := context.WithCancel(context.Background())
	o := &outbox{conn: conn, aborted: ctx.Done(), discard: cancel}
	o.changed.L = &o.mu
	return o
}

func (o *outbox) put(i item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return
	}
	o.items = append(o.items, i)
	o.bytes += len(i.frame)
}

func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished = true
	o.changed.Broadcast()
}

func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.discard()
	o.finished, o.items = true, nil
	o.changed.Broadcast()
	dial.Below(o.conn).Close()
}

func (o *outbox) awaitRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > outboxLimit && !o.finished {
		o.changed.Wait()
	}
}

func (o *outbox) write() {
	for items := o.take(true); items != nil; items = o.take(true) {
		o.send(items)
	}
	if secure, ok := o.conn.(*tls.Conn); ok { // so that the client knows that nothing is cut off
		_ = secure.CloseWrite()
	}
}

// flush sends all frames, or leaves them to the writer if a frame is held back.
func (o *outbox) flush() { o.send(o.take(false)) }

// take returns the items for the caller to send. The writer waits for them; nil then means that no more will be added. Other
// callers get nil if another goroutine is sending, or if an item is held back, which is left to the writer.
func (o *outbox) take(writer bool) []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	for writer && (o.busy || len(o.items) == 0 && !o.finished) {
		o.changed.Wait()
	}
	if o.busy || len(o.items) == 0 {
		return nil
	}
	if !writer && slices.ContainsFunc(o.items, item.held) {
		o.changed.Broadcast()
		return nil
	}
	items := o.items
	o.items, o.busy = nil, true
	return items
}

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

// transmit writes items with as few system calls as possible.
func (o *outbox) transmit(items []item) error {
	for len(items) > 0 {
		if items[0].held() {
			select {
			case <-items[0].until:
			case <-o.aborted:
				return net.ErrClosed
			}
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
	batch := net.Buffers(list.Map(items, func(i item) []byte { return i.frame }))
	o.mu.Lock()
	if o.finished { // a client that does not read would otherwise block the writer without end
		_ = o.conn.SetWriteDeadline(time.Now().Add(lastWriteTimeout))
	}
	o.mu.Unlock()
	n, err := batch.WriteTo(o.conn)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= int(n)
	return err
}
