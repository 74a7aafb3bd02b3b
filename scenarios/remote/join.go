package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

// Join makes this process, which self from [Self] describes, a worker: it dials the controller, again for some seconds if it cannot be
// reached, and carries out orders by handle until the controller leaves. The error is nil then, an [ErrRefused] if one end did not accept
// the other, and otherwise says why the connection ended. When Join returns, all handlers have returned.
func Join(ctx context.Context, addr, token string, self Hello, known []error, handle Handler) error {
	self.Secret = token
	known = append([]error{context.Canceled, context.DeadlineExceeded}, known...)
	return (&link{addr: addr, self: self, known: known, handle: handle}).join(ctx)
}

// These types are aliases of unnamed structs, because net/rpc demands exported or unnamed types.
type (
	request = struct {
		ID    int64
		Order string
		Args  any
	}
	reply = struct {
		Answer []byte // encoded by the handler's goroutine: a large answer would hold up the heartbeat while net/rpc encodes it
		Failed bool
		Text   string // of the error
		Known  []int  // indices of the known errors for which errors.Is holds
	}
)

// failure is the error of a handler, at the controller.
type failure struct {
	reply
	known []error
}

func (f *failure) Error() string { return f.Text }
func (f *failure) Is(target error) bool {
	return slices.Contains(f.Known, slices.Index(f.known, target))
}

// link is the worker's end of the connection. Its exported methods are what the controller calls by net/rpc.
type link struct {
	addr    string
	dialer  dial.Dialer // nil for TCP
	self    Hello
	known   []error
	handle  Handler
	wire    *wire
	left    atomic.Bool // the controller ends the connection on purpose
	running sync.Map    // the id of each order, and its context.CancelFunc
}

func (l *link) join(ctx context.Context) error {
	late := fmt.Errorf("no answer within %v: open its port to workers", patience)
	dialing, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	raw, err := dial.To(dialing, l.dialer, l.addr)
	for ; err != nil; raw, err = dial.To(dialing, l.dialer, l.addr) { // the network of a new container may not work yet
		if dialing.Err() != nil {
			return fmt.Errorf("join the controller at %s: %w: %w", l.addr, context.Cause(dialing), err)
		}
		<-time.After(dialAgain)
	}
	l.wire = newWire(ctx, raw, controllerSilence)
	l.wire.end(l.serve())
	if l.left.Load() {
		return nil
	}
	return fmt.Errorf("worker of the controller at %s: %w", l.addr, context.Cause(l.wire.ctx)) //nolint:contextcheck // of the connection
}

// serve says hello, and carries out orders until the connection ends and the handlers have returned.
func (l *link) serve() error {
	_, digest, _ := strings.Cut(l.self.Secret, ".") // in place of names and authorities
	conn := tls.Client(l.wire, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true})
	if err := conn.HandshakeContext(l.wire.ctx); err != nil {
		return err
	}
	if fmt.Sprintf("%x", sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)) != digest {
		return fmt.Errorf("%w: the token is not this controller's: start the worker with all of the token of this run", ErrRefused)
	}
	if err := gob.NewEncoder(conn).Encode(l.self); err != nil {
		return err
	}
	var reason string
	if _, err := fmt.Fscanf(conn, "%q", &reason); err != nil { // reads nothing of what follows
		return err
	}
	if reason != "" {
		return fmt.Errorf("%w: %v: %s", ErrRefused, l.self, reason)
	}
	server := rpc.NewServer()
	_ = server.RegisterName("Worker", l) // which fails only if the methods below are not of the form of net/rpc
	server.ServeConn(conn)
	return errors.New("the controller sent what is not a request")
}

// Do carries out an order.
func (l *link) Do(q request, r *reply) error {
	ctx, cancel := context.WithCancel(l.wire.ctx)
	defer cancel()
	if _, cancelled := l.running.LoadOrStore(q.ID, cancel); cancelled {
		cancel()
	}
	defer l.running.Delete(q.ID)
	answer, err := l.handle(ctx, q.Order, q.Args)
	var b bytes.Buffer
	err = errors.Join(err, gob.NewEncoder(&b).Encode(&answer))
	r.Answer, r.Failed, r.Text = b.Bytes(), err != nil, fmt.Sprint(err)
	for i, known := range l.known {
		if errors.Is(err, known) {
			r.Known = append(r.Known, i)
		}
	}
	return nil
}

// Cancel ends the context of an order. An order that net/rpc begins later finds that its id is taken.
func (l *link) Cancel(id int64, _ *bool) error {
	if cancel, running := l.running.LoadOrStore(id, context.CancelFunc(func() {})); running {
		cancel.(context.CancelFunc)()
	}
	return nil
}

// Clock reads this worker's clock.
func (l *link) Clock(_ int, now *time.Duration) error {
	*now = time.Since(l.self.epoch)
	return nil
}

// Leave says that the controller ends the connection on purpose.
func (l *link) Leave(_ int, _ *bool) error {
	l.left.Store(true)
	return nil
}
