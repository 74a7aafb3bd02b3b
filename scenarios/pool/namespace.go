package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants/session"
)

// clearTimeout is how long removing all znodes of a run may take. A dead ensemble must not keep the user waiting.
const clearTimeout = 30 * time.Second

// Root is the root znode of a run and the session that owns it. The runner changes no znode outside of the root.
type Root struct {
	namespace.Client
	servers []ensemble.Server // all; its session begins at the first one
	path    string
	roots   int      // the number of measurements so far that have a root
	dirty   []string // the znodes of the last measurement, which are not removed yet
	tree    []string // the znodes of the background, each after its parent; empty until all of them exist
	link    *ensemble.Link
	Ledger  *wire.Ledger // of the session that owns the root
	Monitor *session.Monitor
}

// OpenRoot creates a root at path. Its session stays at the first server, unless roam is set because servers are going to fail.
func OpenRoot(ctx context.Context, servers []ensemble.Server, roam bool, path string) (*Root, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	own := servers
	if !roam {
		own = servers[:1]
	}
	link, monitor := ensemble.NewLink(wire.NewLedger(time.Now())), session.NewMonitor(ensemble.SessionTimeout)
	conn, err := ensemble.OpenSession(ctx, ensemble.SessionConfig{Servers: own, Link: link, Observe: monitor.Observe})
	if err != nil {
		return nil, err
	}
	timeout := link.Ledger().SessionTimeout()
	monitor.SetTimeout(timeout)
	if roam { // servers without a quorum end no session
		monitor.SetPatience(ensemble.QuorumTimeout)
	}
	monitor.Guard(conn)
	r := &Root{
		// A server that stalls for less than a session timeout is waited for.
		Client:  namespace.Client{Conn: conn, Patience: timeout, ACL: servers[0].ACL()},
		servers: servers, path: path, link: link, Ledger: link.Ledger(), Monitor: monitor,
	}
	err = r.Create(ctx, r.path, timeout)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, namespace.ErrSilent) || ctx.Err() != nil: // it may have been created
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	default:
		r.CloseSession()
		return nil, err
	}
}

// CloseSession closes the session that owns the root. It leaves the znodes.
func (r *Root) CloseSession() {
	r.Monitor.Dismiss()
	r.Conn.Close()
}

// Session returns a new handle on the session that owns the root. It does not take part in a load.
func (r *Root) Session() *session.Session { return newSession(r.Conn, r.Monitor, r.servers[0]) }

// ErrOwnerLost is the cause of the end of a run whose root no longer has an owner.
var ErrOwnerLost = errors.New("the session that owns the run's znodes was lost")

// WhileOwned returns a context that ends when the root's session is lost, with ErrOwnerLost as its cause. After that,
// zkbench clean may remove the root as left over.
func (r *Root) WhileOwned(ctx context.Context) (context.Context, context.CancelFunc) {
	return session.UntilLost(ctx, r.Monitor.Lost(), func() error {
		why := "its connection ended, and no server took it back in time"
		if r.Ledger.Over() {
			why = "it expired"
		}
		return fmt.Errorf("%s: %w: %s", r.link.Server().Name, ErrOwnerLost, why)
	})
}

// BystanderBytes is the size of the znode that bystanders read.
const BystanderBytes = 64

// CreateRoot creates an empty znode for one measurement, and beside it the small znode that bystanders read. It first
// removes those of the previous measurement; [Root.Close] removes the last ones.
func (r *Root) CreateRoot(ctx context.Context) (root, bystander string, err error) {
	for _, path := range r.dirty {
		if _, err := r.Remove(ctx, path); err != nil {
			return "", "", fmt.Errorf("%s: %w", r.servers[0].Name, err)
		}
	}
	r.roots++
	root = fmt.Sprintf("%s/m%d", r.path, r.roots)
	bystander = root + "-bystander"
	r.dirty = []string{root, bystander}
	if err := r.CreateTree(ctx, r.dirty, BystanderBytes); err != nil {
		return "", "", fmt.Errorf("%s: %w", r.servers[0].Name, err)
	}
	return root, bystander, nil
}

// groupZnodes is how many znodes of the background have a parent in common. A server could not list all of them in one reply.
const groupZnodes = 1000

// CreateBackground creates the znodes that the background reads and writes, and returns their paths without those of their
// parents. They are removed with the root.
func (r *Root) CreateBackground(ctx context.Context, load results.BackgroundLoad) ([]string, error) {
	parents := []string{r.path + "/background"}
	var leaves []string
	for i := range load.Znodes {
		if i%groupZnodes == 0 {
			parents = append(parents, fmt.Sprintf("%s/%d", parents[0], i/groupZnodes))
		}
		leaves = append(leaves, fmt.Sprintf("%s/%d", parents[len(parents)-1], i%groupZnodes))
	}
	err := r.CreateTree(ctx, parents, 0)
	if err == nil {
		err = r.CreateTree(ctx, leaves, load.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: znodes of the background: %w", r.servers[0].Name, err)
	}
	r.tree = slices.Concat(parents, leaves)
	return leaves, nil
}

// LeftError reports that znodes of a run could not be removed.
type LeftError struct {
	Root string
	Err  error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("the znodes of this run, below %s, could not be removed: %v", e.Root, e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// Close removes the root with everything in it, through the run's own session. If that session gets no answer, Close opens
// another one on a server that answers. It returns a [LeftError] if znodes are left.
func (r *Root) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clearTimeout, fmt.Errorf("not done within %s", clearTimeout))
	defer cancel()
	r.Patience = namespace.Patience
	_, _, err := r.RemoveTree(ctx, r.tree)
	if err == nil {
		_, err = r.Remove(ctx, r.path)
	}
	r.CloseSession()
	if errors.Is(err, namespace.ErrSilent) {
		err = r.closeElsewhere(ctx)
	}
	if err != nil {
		return &LeftError{Root: r.path, Err: err}
	}
	return nil
}

// closeElsewhere removes the root through a new session. While the servers elect a leader, it tries again until ctx ends.
func (r *Root) closeElsewhere(ctx context.Context) error {
	other, err := namespace.Connect(ctx, r.servers)
	for errors.Is(err, namespace.ErrSilent) && ctx.Err() == nil && r.electing(ctx) {
		other, err = namespace.Connect(ctx, r.servers)
	}
	if err != nil {
		return err
	}
	defer other.Conn.Close()
	_, err = other.Remove(ctx, r.path)
	return err
}

func (r *Root) electing(ctx context.Context) bool {
	return slices.ContainsFunc(r.servers, func(s ensemble.Server) bool {
		_, err := ensemble.Srvr(ctx, s)
		return errors.Is(err, ensemble.ErrNotServing)
	})
}
