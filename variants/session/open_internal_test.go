package session

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/must"
)

type reply struct {
	net.Conn
	io.Reader
}

func (r reply) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// A monitor uses the timeout that the server grants, even if the server's reply comes in pieces.
func TestGrantedTimeout(t *testing.T) {
	sent := []byte{0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0x27, 0x10, 1, 2, 3, 4, 5, 6, 7, 8} // 10,000 ms
	for size := 1; size <= len(sent); size++ {
		m := NewMonitor(time.Hour)
		g := &greeted{Conn: reply{Reader: bytes.NewReader(sent)}, granted: m.SetTimeout}
		got := must.Get(io.ReadAll(pieces{g, size}))(t)
		if !bytes.Equal(got, sent) || m.patience != 10*time.Second/3 {
			t.Errorf("in pieces of %d bytes: read %v, patience %s", size, got, m.patience)
		}
	}
}

type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(to []byte) (int, error) { return p.Reader.Read(to[:min(len(to), p.size)]) }
