package ensemble

import (
	"net"
	"os"
	"reflect"

	"github.com/go-zookeeper/zk"
)

// SessionBuffers is how many bytes the client library reserves for each session: a buffer to send from and one to receive
// into, of 1.5 MB each. The garbage collector counts them whole, although little of them is resident.
const SessionBuffers = 2 * 1536 << 10

const (
	bigBuffer  = 1 << 20  // the least capacity of a slice that belongs to one of the client's two buffers
	bigFrame   = 32 << 10 // the least length of a frame whose pages are given back: getting a page again costs a fault
	headerSize = 4        // the length prefix of a frame, which the client reads separately
)

// smallBufferConn gives the pages of the client's two buffers back to the operating system while they hold no data: when a
// buffer is used for the first time, because the runtime may have made it of used memory, and after big frames. A listing of
// 4,000 children takes 240 kB, which every session would otherwise keep resident. The pages then read as zeros again.
//
// Note: this relies on how go-zookeeper v1.0.4 uses its buffers. It encodes a request at the start of the send buffer and sends it by one
// Write. It reads the length prefix and then the body of a reply to the start of the receive buffer, and decoding copies. So a buffer holds
// no needed data behind the slice that is passed to Write or Read, and none at all after a Write or before a length prefix is read.
type smallBufferConn struct {
	net.Conn
	sent, received bufferUse
}

// releaseSendBuffer is an option of the client library. It gives back the pages of the buffer to send from as soon as the buffer is
// made. With the first request, smallBufferConn does so too late: clients that connect at once and then wait for each other would
// all keep 1.5 MB resident if the runtime has made their buffers of used memory.
//
// Note: go-zookeeper v1.0.4 has no other way to reach the buffer before the first request. In a version without this field,
// TestMemoryOfSessionsBeforeTheirFirstRequest fails.
func releaseSendBuffer(c *zk.Conn) {
	if field := reflect.ValueOf(c).Elem().FieldByName("buf"); field.IsValid() {
		refuseHugePages(field.Bytes())
		giveBack(field.Bytes())
	}
}

type bufferUse struct {
	capacity int // of the buffer that was used last
	touched  int // how many of its bytes have been used since its pages were given back
}

// Write sends a frame, and gives back its pages if it is big.
func (c *smallBufferConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.touch(p)
	c.sent.release(p)
	return n, err
}

// Read receives a part of a frame. A read of a length prefix shows that the client has decoded the frame before.
func (c *smallBufferConn) Read(p []byte) (int, error) {
	if len(p) == headerSize {
		c.received.release(p)
	}
	c.received.touch(p)
	return c.Conn.Read(p)
}

func (b *bufferUse) touch(p []byte) { b.touched = max(b.touched, len(p)) }

// release gives back the pages of a buffer that is new or has held a big frame. The first page stays: most frames fit in it.
func (b *bufferUse) release(p []byte) {
	if cap(p) < bigBuffer || cap(p) == b.capacity && b.touched < bigFrame {
		return
	}
	if cap(p) != b.capacity {
		refuseHugePages(p[:cap(p)])
	}
	b.capacity, b.touched = cap(p), 0
	giveBack(p[os.Getpagesize():cap(p)])
}

// Tail keeps the last 2 KiB of what is written to it, such as the standard error of a child. It is read when the child has ended.
type Tail []byte

// Write implements [io.Writer].
func (t *Tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(len(*t)-2<<10, 0):]
	return len(p), nil
}
