package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
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
	known = append([]error{context.Canceled, context.DeadlineExceeded}, known...)
	return (&link{addr: addr, token: token, self: self, known: known, handle: handle}).join(ctx)
}

// These types are aliases of unnamed structs, because net/rpc demands exported or unnamed types.
type (
	request = struct {
		ID    int64
		Order string
		Args  any
	}
	reply = struct {
		Answer []byte // a box
		Failed bool
		Text   string // of the error
		Known  []int  // indices of the known errors for which errors.Is holds
	}
)

// box is encoded by the handler's goroutine. In a message of net/rpc, a large answer would hold up the heartbeat until it is encoded.
type box struct{ Value any }

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
	addr, token string
	dialer      dial.Dialer // nil for TCP
	self        Hello
	known       []error
	handle      Handler
	wire        *wire
	left        atomic.Bool // the controller ends the connection on purpose
	running     sync.Map    // the id of each order, and its context.CancelFunc
}

func (l *link) join(ctx context.Context) error {
	raw, err := l.dial(ctx)
	if err != nil {
		return fmt.Errorf("join the controller at %s: %w", l.addr, err)
	}
	ctx, l.wire = newWire(ctx, raw, controllerSilence)
	l.wire.end(l.serve())
	if l.left.Load() {
		return nil
	}
	return fmt.Errorf("worker of the controller at %s: %w", l.addr, context.Cause(ctx))
}

// dial tries again if it fails, because the network of a new container may not work yet.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %v: open its port to workers", patience))
	defer cancel()
	for {
		conn, err := dial.To(ctx, l.dialer, l.addr)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		<-time.After(dialAgain)
	}
}

// serve says hello, and carries out orders until the connection ends and the handlers have returned.
func (l *link) serve() error {
	secret, digest, _ := strings.Cut(l.token, ".")
	l.self.Secret = secret
	// The digest takes the place of names and authorities.
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
	err = errors.Join(err, gob.NewEncoder(&b).Encode(box{answer}))
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
