// Package remote connects a controller with its workers, which are processes on other machines. A worker dials the controller, says
// what it is, and then carries out the controller's orders. Each connection also measures the difference between the two clocks.
//
// It takes one position: a run has the workers with which it began. A worker that is late, replaced or of another build is refused with
// the reason, and one that does not answer is lost for good. So no measurement goes on with other load generators than those that it names.
package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
)

const (
	heartbeat         = 100 * time.Millisecond
	heartbeatRounds   = 3                // round trips of a clock sample
	joiningRounds     = 30               // of the first one
	workerSilence     = 2 * time.Second  // after which the controller takes a worker as lost
	controllerSilence = 10 * time.Second // longer, because the end of a controller also ends the connection, unless the network is cut
	patience          = 10 * time.Second // within which the controller must be reachable
	dialAgain         = 200 * time.Millisecond
)

var (
	// ErrLost is in the error of an order to a worker whose connection has ended.
	ErrLost = errors.New("lost")
	// ErrRefused is in the error of [Join] if one end does not accept the other. Another attempt has the same result.
	ErrRefused = errors.New("refused")
)

// Hello is what a worker says of itself when it joins.
type Hello struct {
	Secret string // the token; empty except on the way to the controller
	Build  string // the digest of its program, with the compiler and the architecture
	Host   string
	Zone   string // what the user calls the place of the host, such as a rack; may be empty
	CPUs   int    // how many this process may use, within the limit of its container
	PID    int
	epoch  time.Time
}

// String returns the host and the process.
func (h Hello) String() string { return fmt.Sprintf("%s (pid %d)", h.Host, h.PID) }

// Epoch returns the moment when [Self] was called, from which [Clock] counts the time of this process. Only that process knows it.
func (h Hello) Epoch() time.Time { return h.epoch }

// Self describes this process. Call it once, because it also sets the epoch.
func Self(zone string) Hello {
	host, _ := os.Hostname()
	return Hello{
		Build: build(), Host: host, Zone: zone,
		CPUs: runtime.GOMAXPROCS(0), PID: os.Getpid(), epoch: time.Now(),
	}
}

func build() string {
	path, _ := os.Executable()
	program, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("sha256:%x %s %s/%s", sha256.Sum256(program), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Handler carries out an order in the worker. Handlers run concurrently. The context of a handler ends when the controller cancels the
// order or leaves, or when the connection ends. Types of args and answers must be registered by [encoding/gob.Register].
type Handler func(ctx context.Context, order string, args any) (answer any, err error)

// wire is either end of a connection, below TLS. Each byte that arrives is a sign of life: a large answer delays the next heartbeat.
type wire struct {
	net.Conn
	limit time.Duration   // of silence
	ctx   context.Context // either one ends the other
	end   context.CancelCauseFunc
}

func newWire(ctx context.Context, conn net.Conn, limit time.Duration) *wire {
	ctx, end := context.WithCancelCause(ctx)
	context.AfterFunc(ctx, func() { conn.Close() })
	return &wire{conn, limit, ctx, end}
}

// Read implements [net.Conn].
func (w *wire) Read(b []byte) (int, error) {
	asked := time.Now()
	_ = w.SetReadDeadline(asked.Add(w.limit))
	n, err := w.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(asked) > w.limit+w.limit/4 { // this process stood still itself
		_ = w.SetReadDeadline(time.Now().Add(w.limit))
		n, err = w.Conn.Read(b)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no sign of life for %v: it is stopped, overloaded or cut off", w.limit)
	}
	if err != nil {
		w.end(fmt.Errorf("the connection ended: %w", err))
	}
	return n, err
}
