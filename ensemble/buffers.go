package ensemble

import (
	"net"
	"os"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// SessionBuffers is how many bytes the client library reserves for each session: one buffer to send from and one to
// receive into, of 1.5 MB each. The garbage collector counts them whole, although little of them is resident.
const SessionBuffers = 2 * 1536 << 10

const (
	// bigBuffer is the capacity from which on a slice is taken for one of the client's two buffers. The client reads the
	// handshake into a buffer of a few hundred bytes.
	bigBuffer = 1 << 20
	// bigFrame is the length from which on the pages that a frame has touched are given back after it. Below it, they
	// are kept for the next frame, since each costs a page fault.
	bigFrame = 32 << 10
	// headerSize is the length prefix of a frame, which the client reads by itself.
	headerSize = 4
)

// thriftyConn gives the pages of the client's two buffers back to the operating system while nothing stands in them: when
// a buffer is used for the first time, since the runtime may have made it of memory that was in use before, and after big
// frames. A listing of 4,000 children has 240 kB, which every session would keep resident until its end. Pages that are
// given back read as zeros, like a new buffer.
//
// Note: this relies on how go-zookeeper v1.0.4 uses its buffers. A request is encoded at the start of the send buffer and
// sent by one Write, a reply is read as its length prefix and then its body to the start of the receive buffer, and
// decoding copies. So behind the slice that is passed to Write or Read the buffer holds nothing that is still needed, and
// it holds nothing at all when a request has been sent and when the length prefix of the next reply is due. A client that
// is not go-zookeeper's must not be given such a connection.
type thriftyConn struct {
	net.Conn
	sent, received bufferUse
}

// bufferUse is what is known of one of the client's buffers.
type bufferUse struct {
	capacity int // of the buffer that was seen last
	touched  int // how many of its bytes have been used since pages were given back
}

// dialThrifty returns a dialer for zk.WithDialer whose connections are counted in ledger and spare memory.
func dialThrifty(ledger *wire.Ledger) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := ledger.Dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return &thriftyConn{Conn: conn}, nil
	}
}

// Write sends a frame and then gives back what it occupied, except for small ones.
func (c *thriftyConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.touch(p)
	c.sent.release(p)
	return n, err
}

// Read receives a part of a frame. When the length prefix is asked for, the frame before has been decoded.
func (c *thriftyConn) Read(p []byte) (int, error) {
	if len(p) == headerSize {
		c.received.release(p)
	}
	c.received.touch(p)
	return c.Conn.Read(p)
}

func (b *bufferUse) touch(p []byte) { b.touched = max(b.touched, len(p)) }

// release gives back the pages of a buffer that is new or has held a big frame, apart from the first one, in which most
// frames fit.
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
