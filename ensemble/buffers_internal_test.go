//go:build linux

package ensemble

import (
	"bytes"
	"net"
	"os"
	"testing"
)

// sink is a connection that discards writes and reads ones only.
type sink struct{ net.Conn }

func (sink) Write(p []byte) (int, error) { return len(p), nil }

func (sink) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{1}, len(p))), nil }

// The pages of a big buffer, except the first one, are given back when the buffer is new and after a big frame.
func TestThriftyConnGivesPagesBack(t *testing.T) {
	page := os.Getpagesize()
	read := func(c net.Conn, p []byte) { _, _ = c.Read(p) }
	write := func(c net.Conn, p []byte) { _, _ = c.Write(p) }
	for _, tt := range []struct {
		name string
		size int
		use  func(c net.Conn, buffer []byte)
		want int // bytes of the buffer that are still ones
	}{
		{"a new buffer to send from", SessionBuffers / 2, func(c net.Conn, b []byte) { write(c, b[:100]) }, page},
		{"a new buffer to receive into", SessionBuffers / 2, func(c net.Conn, b []byte) { read(c, b[:4]) }, page},
		{"a small frame keeps its pages", SessionBuffers / 2, func(c net.Conn, b []byte) {
			read(c, b[:4])
			read(c, b[:3*page])
			read(c, b[:4])
		}, 3 * page},
		{"a big frame is there to be decoded", SessionBuffers / 2, func(c net.Conn, b []byte) {
			read(c, b[:4])
			read(c, b[:bigFrame])
		}, bigFrame},
		{"the rest of a frame, as long as a length prefix, spares the beginning", SessionBuffers / 2, func(c net.Conn, b []byte) {
			read(c, b[:4])
			read(c, b[:bigFrame])
			read(c, b[bigFrame:bigFrame+4])
		}, bigFrame + 4},
		{"a big frame that was decoded", SessionBuffers / 2, func(c net.Conn, b []byte) {
			read(c, b[:4])
			read(c, b[:bigFrame])
			read(c, b[:4])
		}, page},
		{"a big frame that was sent", SessionBuffers / 2, func(c net.Conn, b []byte) {
			write(c, b[:100])
			copy(b, bytes.Repeat([]byte{1}, bigFrame))
			write(c, b[:bigFrame])
		}, page},
		{"a buffer that is not one of the client's two", 1 << 19, func(c net.Conn, b []byte) {
			write(c, b[:100])
			read(c, b[:4])
		}, 1 << 19},
	} {
		t.Run(tt.name, func(t *testing.T) {
			buffer := bytes.Repeat([]byte{1}, tt.size)
			tt.use(&smallBufferConn{Conn: sink{}}, buffer)
			if got := bytes.Count(buffer, []byte{1}); got != tt.want || bytes.IndexByte(buffer, 0) != tt.want && tt.want < tt.size {
				t.Errorf("%d bytes are left, the first one given back at %d; want all before %d", got, bytes.IndexByte(buffer, 0), tt.want)
			}
		})
	}
}
