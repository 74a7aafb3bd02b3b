package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
)

// Controller accepts the workers of one run.
type Controller struct {
	self     Hello // with the token
	known    []error
	tls      *tls.Config
	listener net.Listener
	tasks    sync.WaitGroup
	ctx      context.Context // of all connections
	cancel   context.CancelCauseFunc
	places   chan struct{} // taken by workers
	joined   chan *Worker  // to Gather
	workers  []*Worker     // of Gather

	mu      sync.Mutex
	refused []string
}

// Listen opens the port to workers, each of which must have the token and the build of self, which is from [Self]. The known errors must be
// those of [Join], in the same order. A client without the token has no effect.
func Listen(addr string, self Hello, known []error) (*Controller, error) {
	files := map[string][]byte{}
	err := ensemble.IssueCertificates(files, nil)
	certificate, errPair := tls.X509KeyPair(files[ensemble.ServerFile], files[ensemble.ServerFile])
	listener, errListen := net.Listen("tcp", addr)
	if err := cmp.Or(err, errPair, errListen); err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	self.Secret = fmt.Sprintf("%s.%x", rand.Text(), sha256.Sum256(certificate.Certificate[0]))
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Controller{
		self: self, listener: listener, ctx: ctx, cancel: cancel,
		known: append([]error{context.Canceled, context.DeadlineExceeded}, known...),
		tls:   &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}},
	}, nil
}

// Token returns what a worker needs to join. It is a secret, and has the digest of the controller's certificate.
func (c *Controller) Token() string { return c.self.Secret }

// Addr returns the address on which the controller listens.
func (c *Controller) Addr() net.Addr { return c.listener.Addr() }

// Gather accepts workers until n have joined, and returns them in the order of hosts and processes. It is called once: afterwards other
// workers are refused. Its error names the workers that came and those that were refused.
func (c *Controller) Gather(ctx context.Context, n int, wait time.Duration) ([]*Worker, error) {
	c.places, c.joined = make(chan struct{}, n), make(chan *Worker, n)
	c.tasks.Go(func() {
		dial.Accept(c.listener, func(err error) { c.refuse("a connection", err) }, func(conn net.Conn) {
			c.tasks.Go(func() { c.serve(conn) })
		})
	})
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for len(c.workers) < n {
		select {
		case w := <-c.joined:
			c.workers = append(c.workers, w)
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			return nil, fmt.Errorf("%d of %d workers came within %v (%w): %v; refused: %s; their output may say more",
				len(c.workers), n, wait, context.Cause(ctx), c.workers, cmp.Or(strings.Join(c.refused, "; "), "none"))
		}
	}
	slices.SortFunc(c.workers, func(a, b *Worker) int {
		return cmp.Or(cmp.Compare(a.hello.Host, b.hello.Host), cmp.Compare(a.hello.PID, b.hello.PID))
	})
	return slices.Clone(c.workers), nil
}

// refuse keeps the reasons of the first refusals for the error of Gather.
func (c *Controller) refuse(who string, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := fmt.Sprintf("%s: %v", who, reason); len(c.refused) < 20 && !slices.Contains(c.refused, text) {
		c.refused = append(c.refused, text)
	}
}

// serve admits or refuses one worker, and stays until its connection ends.
func (c *Controller) serve(raw net.Conn) {
	wire := newWire(c.ctx, raw, controllerSilence)
	defer wire.end(nil)
	conn := tls.Server(wire, c.tls)
	w := &Worker{of: c, wire: wire}
	if err := gob.NewDecoder(io.LimitReader(conn, 64<<10)).Decode(&w.hello); err != nil {
		c.refuse("a client at "+raw.RemoteAddr().String(), fmt.Errorf("it is not a worker, or has the token of another run: %w", err))
		return
	}
	reason := c.admit(w.hello)
	_, _ = fmt.Fprintf(conn, "%q", reason)
	if reason != "" {
		c.refuse(w.String(), errors.New(reason))
		return
	}
	w.hello.Secret = ""
	wire.limit = workerSilence
	w.client = rpc.NewClient(conn)
	if w.measure(joiningRounds) == nil {
		c.joined <- w // which has room for it
	} else {
		<-c.places
	}
	for w.measure(heartbeatRounds) == nil {
		select {
		case <-w.wire.ctx.Done():
		case <-time.After(heartbeat):
		}
	}
	c.refuse(w.String(), w.Err())
}

// admit gives a place to a worker that belongs to this run, or says why not.
func (c *Controller) admit(h Hello) (reason string) {
	if subtle.ConstantTimeCompare([]byte(h.Secret), []byte(c.self.Secret)) == 0 {
		return "its secret is not this run's: start it with the token of this run"
	}
	if h.Build != c.self.Build {
		return fmt.Sprintf("its build is %s, and the controller's is %s: copy that program to the worker", h.Build, c.self.Build)
	}
	select {
	case c.places <- struct{}{}:
		return ""
	default:
		return "the run has all its workers, and takes neither a late nor a replaced one"
	}
}

// Close ends the connections after Gather. Join returns nil in all workers that are not lost.
func (c *Controller) Close() error {
	err := c.listener.Close()
	var leaving sync.WaitGroup
	for _, w := range c.workers {
		leaving.Go(func() { _ = w.client.Call("Worker.Leave", 0, nil) })
	}
	leaving.Wait()
	c.cancel(errors.New("the controller has left"))
	c.tasks.Wait()
	return err
}

// Worker is the controller's end of the connection with one worker. It may be used concurrently.
type Worker struct {
	of     *Controller
	hello  Hello
	wire   *wire
	client *rpc.Client
	clock  Clock
	ids    atomic.Int64
}

// Hello returns what the worker said of itself, without the secret.
func (w *Worker) Hello() Hello { return w.hello }

// String returns the host and the process of the worker.
func (w *Worker) String() string { return w.hello.String() }

// Epoch returns the moment from which the controller's clock counts: the epoch of the Hello given to [Listen].
func (w *Worker) Epoch() time.Time { return w.of.self.epoch }

// Clock returns the comparison of the worker's clock with the controller's.
func (w *Worker) Clock() *Clock { return &w.clock }

// Err returns why the worker is lost, an [ErrLost]: it ended, was silent for two seconds, or was told to leave. It is nil before that.
func (w *Worker) Err() error {
	if cause := context.Cause(w.wire.ctx); cause != nil {
		return fmt.Errorf("worker %v is %w (its output may say why): %w", w, ErrLost, cause)
	}
	return nil
}

// Do has the worker carry out an order and waits for its answer, also when ctx ends: that cancels the context of the worker's handler.
// The error is an [ErrLost] if there is no answer. An error of the handler has its text, and errors.Is holds for those known errors,
// and errors of contexts, for which it held in the worker.
func (w *Worker) Do(ctx context.Context, order string, args any) (any, error) {
	var r reply
	id := w.ids.Add(1)
	defer context.AfterFunc(ctx, func() { _ = w.client.Call("Worker.Cancel", id, nil) })()
	if err := w.client.Call("Worker.Do", request{id, order, args}, &r); err != nil {
		w.wire.end(err)
		return nil, fmt.Errorf("%s: %w", order, w.Err())
	}
	var answer any
	err := gob.NewDecoder(bytes.NewReader(r.Answer)).Decode(&answer)
	if r.Failed {
		err = &failure{r, w.of.known}
	}
	if err != nil {
		err = fmt.Errorf("%s on worker %v: %w", order, w, err)
	}
	return answer, err
}

// measure compares the clocks by the shortest of some round trips.
func (w *Worker) measure(rounds int) error {
	best := sample{bound: math.MaxInt64}
	for range rounds {
		var theirs time.Duration
		sent := time.Since(w.of.self.epoch)
		if err := w.client.Call("Worker.Clock", 0, &theirs); err != nil {
			w.wire.end(err)
			return w.Err()
		}
		if s := newSample(sent, time.Since(w.of.self.epoch), theirs); s.bound < best.bound {
			best = s
		}
	}
	w.clock.add(best)
	return nil
}
