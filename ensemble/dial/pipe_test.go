package dial_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

// A pipe is a net.Conn like any other.
func TestPipeIsAConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		c1, c2 = dial.Pipe()
		return c1, c2, func() { c1.Close(); c2.Close() }, nil
	})
}

// A pipe has a buffer for each direction, ends them one by one, and waits in virtual time.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dial.Pipe()
		big := bytes.Repeat([]byte("zk"), 3<<20) // more than the buffer holds
		must.Get(client.Write([]byte("small")))(t)
		_ = server.SetReadDeadline(time.Now().Add(time.Hour))
		got := make([]byte, 5)
		if _, err := io.ReadFull(server, got); err != nil || string(got) != "small" {
			t.Fatalf("read %q, %v", got, err)
		}
		if _, err := server.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read after its deadline: %v", err)
		}
		_ = server.SetReadDeadline(time.Time{})
		sent := make(chan error, 1)
		go func() {
			_, err := client.Write(big)
			sent <- errors.Join(err, client.(interface{ CloseWrite() error }).CloseWrite())
		}()
		synctest.Wait()
		if len(sent) > 0 {
			t.Error("a write that is larger than the buffer did not wait")
		}
		all, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(all, big) || <-sent != nil {
			t.Errorf("read %d bytes, %v", len(all), err)
		}
		if _, err := server.Write([]byte("answer")); err != nil {
			t.Errorf("the other direction has ended, too: %v", err)
		}
		server.Close()
		if all, err := io.ReadAll(client); err != nil || string(all) != "answer" {
			t.Errorf("read %q, %v after the other end has closed", all, err)
		}
	})
}
