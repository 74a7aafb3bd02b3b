package remote

import (
	"context"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

var errKnown = errors.New("a known error")

func known() []error { return []error{os.ErrNotExist, errKnown} }

func hello(host string) Hello {
	return Hello{Build: "build 1", Host: host, PID: 7, epoch: time.Now()}
}

// network is a listener and a dialer in memory.
type network struct {
	accepted chan net.Conn
	closed   chan struct{}
	worker   atomic.Pointer[cable] // the last that was dialed
}

// cable is a worker's connection. It can be cut without an end of the stream, be held for some time, and be slow.
type cable struct {
	net.Conn
	cut, closed chan struct{}
	once        sync.Once // of closed
	deadline    atomic.Pointer[time.Time]
	hold        atomic.Int64 // how long the next read takes, a time.Duration
	rate        atomic.Int64 // bytes per second; 0 for no limit
}

func (c *cable) SetReadDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetReadDeadline(t)
}

func (c *cable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	<-time.After(time.Duration(c.hold.Swap(0)))
	c.slowly(n)
	select {
	case <-c.cut:
		select { // the bytes, or their end, are lost
		case <-c.closed:
			return 0, net.ErrClosed
		case <-time.After(time.Until(*c.deadline.Load())):
			return 0, os.ErrDeadlineExceeded
		}
	default:
	}
	return n, err
}

func (c *cable) Write(b []byte) (int, error) {
	c.slowly(len(b))
	return c.Conn.Write(b)
}

func (c *cable) slowly(n int) {
	if rate := c.rate.Load(); rate > 0 {
		<-time.After(time.Duration(n) * time.Second / time.Duration(rate))
	}
}

func (c *cable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func newNetwork() *network {
	return &network{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.closed:
		return net.ErrClosed
	default:
		close(n.closed)
		return nil
	}
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

func (n *network) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := dial.Pipe()
	c := &cable{Conn: client, cut: make(chan struct{}), closed: make(chan struct{})}
	n.worker.Store(c)
	select {
	case n.accepted <- server:
		return c, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bed is a controller and its workers in memory, in a bubble of virtual time.
type bed struct {
	*Controller
	network *network
	joins   chan error
	ctx     context.Context
}

func newBed(t *testing.T) *bed {
	c := must.Get(Listen("127.0.0.1:0", hello("controller"), known()))(t)
	must.Do(t, c.listener.Close())
	n := newNetwork()
	c.listener = n
	return &bed{c, n, make(chan error, 10), t.Context()}
}

func (b *bed) join(h Hello, handle Handler) {
	go func() { b.joins <- b.link(h, handle).join(b.ctx) }()
}

func (b *bed) link(h Hello, handle Handler) *link {
	h.Secret = b.Token()
	return &link{addr: "memory", dialer: b.network, self: h, known: b.known, handle: handle}
}

func (b *bed) one(t *testing.T, handle Handler) *Worker {
	t.Helper()
	b.join(hello("a"), handle)
	return must.Get(b.Gather(t.Context(), 1, time.Minute))(t)[0]
}

func (b *bed) close(t *testing.T) {
	t.Helper()
	must.Do(t, b.Close())
	must.Do(t, <-b.joins)
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

func echo(_ context.Context, order string, args any) (any, error) {
	if order == "fail" {
		return args, fmt.Errorf("no file: %w: %w", os.ErrNotExist, errKnown)
	}
	if order == "function" {
		return func() {}, nil
	}
	return args, nil
}

func waits(ctx context.Context, _ string, _ any) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		w := b.one(t, echo)
		if got, err := w.Do(t.Context(), "echo", "text"); got != "text" || err != nil {
			t.Errorf("the answer is %v, %v", got, err)
		}
		if got, err := w.Do(t.Context(), "echo", nil); got != nil || err != nil {
			t.Errorf("the answer is %v, %v", got, err)
		}
		got, err := w.Do(t.Context(), "fail", 3)
		wantError(t, err, "fail on worker a (pid 7): no file: file does not exist: a known error")
		if got != 3 || !errors.Is(err, os.ErrNotExist) || !errors.Is(err, errKnown) || errors.Is(err, context.Canceled) {
			t.Errorf("the answer is %v, %v", got, err)
		}
		_, err = w.Do(t.Context(), "function", nil)
		wantError(t, err, "gob: type not registered")
		if w.Err() != nil || w.Hello().Secret != "" {
			t.Error(w.Err(), w.Hello())
		}
		b.close(t)
		if _, err := w.Do(t.Context(), "echo", nil); !errors.Is(err, ErrLost) {
			t.Errorf("the error after the end is %v", err)
		}
	})
}

func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		w := b.one(t, waits)
		for _, test := range []struct {
			ctx  func() (context.Context, context.CancelFunc)
			want error
		}{
			{func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), time.Minute)
			}, context.Canceled},
			{func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			}, context.Canceled},
		} {
			ctx, cancel := test.ctx()
			if _, err := w.Do(ctx, "wait", nil); !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			cancel()
		}
		for range 100 { // the worker may learn of the end before it has begun the order
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			if _, err := w.Do(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		}
		if w.Err() != nil {
			t.Error(w.Err())
		}
		b.close(t)
	})
}

// The worker may begin an order after its cancellation, because net/rpc begins each call in a goroutine.
func TestCancellationBeforeItsOrder(t *testing.T) {
	l := &link{handle: waits, known: []error{context.Canceled}, wire: &wire{ctx: t.Context()}}
	must.Do(t, l.Cancel(7, nil))
	var r reply
	must.Do(t, l.Do(request{ID: 7}, &r)) // would wait for ever
	if !r.Failed || r.Text != context.Canceled.Error() {
		t.Errorf("the reply is %+v", r)
	}
}

// What ends in the middle of an order also ends its handler, before Join returns.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(b *bed, cancel context.CancelFunc)
		join string // the error of Join
		lost string // the error of the worker
	}{
		{"the controller leaves", func(b *bed, _ context.CancelFunc) { _ = b.Close() }, "", "worker a (pid 7) is lost"},
		{"the worker is cancelled", func(_ *bed, cancel context.CancelFunc) { cancel() }, "canceled", "worker a (pid 7) is lost"},
		{"the connection breaks", func(b *bed, _ context.CancelFunc) { b.network.worker.Load().Conn.Close() },
			"the connection ended", "worker a (pid 7) is lost"},
		{"the network is cut", func(b *bed, _ context.CancelFunc) { close(b.network.worker.Load().cut) },
			"no sign of life for 10s", "no sign of life for 2s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				var cancel context.CancelFunc
				b.ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				var handling atomic.Int64
				w := b.one(t, func(ctx context.Context, _ string, _ any) (any, error) {
					handling.Add(1)
					<-ctx.Done()
					<-time.After(3 * time.Second) // closes its sessions
					handling.Add(-1)
					return nil, ctx.Err()
				})
				ordered := make(chan error)
				go func() {
					_, err := w.Do(context.WithoutCancel(t.Context()), "wait", nil)
					ordered <- err
				}()
				synctest.Wait()
				go test.end(b, cancel)
				wantError(t, <-b.joins, test.join)
				if handling.Load() != 0 {
					t.Error("Join returned before its handler")
				}
				<-w.wire.ctx.Done()
				wantError(t, w.Err(), test.lost)
				if err := <-ordered; !errors.Is(err, ErrLost) {
					t.Errorf("the order ended with %v", err)
				}
				_ = b.Close() // the second time in one of the cases
			})
		})
	}
}

// A pause of a worker, such as a garbage collection, is no reason to lose it.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		w := b.one(t, echo)
		b.network.worker.Load().hold.Store(int64(1500 * time.Millisecond))
		<-time.After(time.Minute)
		if w.Err() != nil {
			t.Error(w.Err())
		}
		b.close(t)
	})
}

// slow takes longer to encode than the limit of silence.
type slow struct{}

func (slow) GobEncode() ([]byte, error) {
	<-time.After(5 * time.Second)
	return []byte{1}, nil
}

func (*slow) GobDecode([]byte) error { return nil }

func TestSlowEncoding(t *testing.T) {
	gob.Register(slow{})
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		w := b.one(t, func(context.Context, string, any) (any, error) { return slow{}, nil })
		if got, err := w.Do(t.Context(), "answer", nil); got != (slow{}) || err != nil {
			t.Errorf("the answer is %v, %v", got, err)
		}
		b.close(t)
	})
}

// An answer may take longer than the limit of silence. Not in virtual time, because net/rpc holds a mutex while it writes.
func TestLargeAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds, in which a slow connection passes 30 MB")
	}
	gob.Register([]byte{})
	b := newBed(t)
	w := b.one(t, func(context.Context, string, any) (any, error) { return make([]byte, 30_000_000), nil })
	b.network.worker.Load().rate.Store(10_000_000)
	got, err := w.Do(t.Context(), "answer", nil)
	if answer, _ := got.([]byte); len(answer) != 30_000_000 {
		t.Errorf("the answer has %d bytes: %v", len(answer), err)
	}
	b.network.worker.Load().rate.Store(0)
	b.close(t)
}

func TestRefusals(t *testing.T) {
	other := hello("b")
	other.Build = "build 2"
	for _, test := range []struct {
		name     string
		worker   Hello
		token    func(string) string
		join     string
		gathered string // the error of Gather with 2 workers, one of which is not refused
	}{
		{"another build", other, func(token string) string { return token }, "its build is build 2, and the controller's is build 1",
			"1 of 2 workers came within 1m0s (context deadline exceeded): [a (pid 7)]; refused: b (pid 7): its build is build 2"},
		{"another secret", hello("b"), func(token string) string { return "x" + token }, "the token of this run", "b (pid 7): its secret"},
		{"another run", hello("b"), func(token string) string { return token + "0" }, "the token is not this controller's",
			"a client at memory: it is not a worker, or has the token of another run"},
		{"part of a token", hello("b"), func(token string) string { return token[:8] }, "all of the token", "1 of 2 workers came"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				refused := b.link(test.worker, echo)
				refused.self.Secret = test.token(b.Token())
				go func() {
					err := refused.join(t.Context())
					wantError(t, err, test.join)
					if !errors.Is(err, ErrRefused) {
						t.Errorf("%v is not ErrRefused", err)
					}
					b.join(hello("a"), echo)
				}()
				_, err := b.Gather(t.Context(), 2, time.Minute)
				wantError(t, err, test.gathered)
				b.close(t)
			})
		})
	}
}

// After the beginning, a worker is refused: one more than asked for, a late one, and one that takes the place of a lost one.
func TestLateWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		for _, host := range []string{"b", "a", "c"} {
			b.join(hello(host), echo)
			synctest.Wait() // until it dials
		}
		workers := must.Get(b.Gather(t.Context(), 2, time.Minute))(t)
		wantError(t, <-b.joins, "neither a late nor a replaced one")
		if workers[0].Hello().Host >= workers[1].Hello().Host {
			t.Errorf("the workers are %v", workers)
		}
		workers[0].wire.end(errors.New("a fault"))
		wantError(t, <-b.joins, "the connection ended")
		b.join(hello("a"), echo)
		wantError(t, <-b.joins, "neither a late nor a replaced one")
		b.close(t)
	})
}

func TestGatherEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Gather(ctx, 2, time.Minute)
		wantError(t, err, "0 of 2 workers came within 1m0s (context deadline exceeded): []; refused: none; their output")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		must.Do(t, b.Close())
	})
}

// A controller that cannot be reached yet is tried again.
func TestJoinDialsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		late := b.link(hello("a"), echo)
		late.dialer = refuses{b.network, time.Now().Add(5 * time.Second)}
		go func() { b.joins <- late.join(t.Context()) }()
		must.Get(b.Gather(t.Context(), 1, time.Minute))(t)
		b.close(t)
		late.dialer = refuses{b.network, time.Now().Add(time.Hour)}
		wantError(t, late.join(t.Context()), "no answer within 10s")
	})
}

type refuses struct {
	*network
	until time.Time
}

func (r refuses) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if time.Now().Before(r.until) {
		return nil, errors.New("connection refused")
	}
	return r.network.DialContext(ctx, network, addr)
}

// What is not a worker neither disturbs nor leaves a goroutine: at the end, the bubble has none.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		silent := make(chan error)
		dialed := func() net.Conn { return must.Get(b.network.DialContext(t.Context(), "tcp", "memory"))(t) }
		go func() {
			for _, text := range []string{"", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\xff\xff\x01"} {
				must.Get(dialed().Write([]byte(text)))(t)
			}
			noise := tls.Client(dialed(), &tls.Config{InsecureSkipVerify: true})
			must.Get(noise.Write([]byte(strings.Repeat("noise", 1000))))(t)
			idle := tls.Client(dialed(), &tls.Config{InsecureSkipVerify: true})
			must.Do(t, idle.Handshake())
			b.join(hello("a"), echo)
			_, err := idle.Read(make([]byte, 1))
			silent <- err
		}()
		w := must.Get(b.Gather(t.Context(), 1, time.Minute))(t)[0]
		must.Get(w.Do(t.Context(), "echo", 1))(t)
		if err := <-silent; err == nil { // the read returns because the controller ends the connection
			t.Error("a client that says nothing got an answer")
		}
		b.close(t)
	})
}

// The clocks of both ends are those of one process here, with epochs that differ by an hour.
func TestClocksOfBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		h := hello("a")
		h.epoch = h.epoch.Add(-time.Hour)
		b.join(h, echo)
		w := must.Get(b.Gather(t.Context(), 1, time.Minute))(t)[0]
		<-time.After(time.Minute)
		if got := w.Clock().Ours(time.Hour + time.Second); (got - time.Second).Abs() > w.Clock().Bound() {
			t.Errorf("an hour and a second of the worker are %v, with the bound %v", got, w.Clock().Bound())
		}
		b.close(t)
	})
}
