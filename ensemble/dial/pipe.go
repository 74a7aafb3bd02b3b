package dial

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeCapacity is how many bytes one direction of a pipe holds, about as much as a TCP connection on loopback.
const pipeCapacity = 4 << 20

// Pipe returns the two ends of a connection in memory. Unlike [net.Pipe], it has buffers and CloseWrite, as TCP has: a small write
// does not wait for the other end to read. All waits are durable in a bubble of testing/synctest.
func Pipe() (client, server net.Conn) {
	up, down := newStream(), newStream()
	return &pipeEnd{in: down, out: up}, &pipeEnd{in: up, out: down}
}

type pipeEnd struct{ in, out *stream }

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.write(b) }
func (p *pipeEnd) LocalAddr() net.Addr         { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
func (p *pipeEnd) RemoteAddr() net.Addr        { return p.LocalAddr() }

// CloseWrite lets the other end read what was written, and then the end of the stream.
func (p *pipeEnd) CloseWrite() error {
	p.out.change(func(s *stream) { s.complete = true })
	return nil
}

// Close closes both directions. The other end can still read what was written.
func (p *pipeEnd) Close() error {
	p.in.change(func(s *stream) { s.abandoned, s.data = true, nil })
	return p.CloseWrite()
}

func (p *pipeEnd) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error  { return p.in.setDeadline(&p.in.reading, t) }
func (p *pipeEnd) SetWriteDeadline(t time.Time) error { return p.out.setDeadline(&p.out.writing, t) }

type stream struct {
	mu               sync.Mutex
	changed          sync.Cond
	data             []byte
	complete         bool // nothing more is written
	abandoned        bool // nothing more is read
	reading, writing deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) change(do func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s)
	s.changed.Broadcast()
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.abandoned:
			return 0, net.ErrClosed
		case s.reading.passed():
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(b, s.data)
			s.data = s.data[n:]
			s.changed.Broadcast()
			return n, nil
		case s.complete:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.complete:
			return n, net.ErrClosed
		case s.abandoned:
			return n, &net.OpError{Op: "write", Net: "pipe", Err: syscall.EPIPE}
		case s.writing.passed():
			return n, os.ErrDeadlineExceeded
		}
		room := min(pipeCapacity-len(s.data), len(b))
		s.data, b, n = append(s.data, b[:room]...), b[room:], n+room
		s.changed.Broadcast()
		if len(b) == 0 {
			return n, nil
		}
		s.changed.Wait()
	}
}

type deadline struct {
	at    time.Time // zero for none
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (s *stream) setDeadline(d *deadline, t time.Time) error {
	s.change(func(*stream) {
		if d.timer != nil {
			d.timer.Stop()
		}
		d.at, d.timer = t, nil
		if !t.IsZero() {
			d.timer = time.AfterFunc(time.Until(t), func() { s.change(func(*stream) {}) })
		}
	})
	return nil
}
