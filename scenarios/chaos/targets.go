package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Targets are clients that faults hit, where the clients are: the ones of a worker, for example. It decides which of them fit a fault, and lets
// the fault happen to them.
type Targets struct {
	pool     *pool.Pool
	awaiting chan *wanted // takes faults that wait for the next client that begins to hold; never holds one

	mu   sync.Mutex
	deaf map[int]*silence // by client id
}

// silence is the time in which a client is deaf.
type silence struct {
	faults int           // that have made it deaf and are not over
	over   chan struct{} // closed when the client hears again
}

// Struck says to which clients a fault has happened, and when, since the measurement's epoch.
type Struck struct {
	At      time.Duration
	Clients []int // ids
}

// wanted is a fault that waits for a client that begins to hold.
type wanted struct {
	faults.Fault
	happened chan error
	Struck
}

// NewTargets returns the clients of a pool as targets.
func NewTargets(p *pool.Pool) *Targets {
	return &Targets{pool: p, awaiting: make(chan *wanted), deaf: map[int]*silence{}}
}

// Fitting returns the ids of the clients to which a fault can happen now.
func (t *Targets) Fitting(f faults.Fault) []int {
	return ids(list.Where(t.pool.Clients, func(c *pool.Client) bool { return fits(c, f) }))
}

func ids(clients []*pool.Client) []int {
	return list.Map(clients, func(c *pool.Client) int { return c.ID })
}

// Strike is a fault and the ids of clients to which it may happen.
type Strike struct {
	Fault faults.Fault
	IDs   []int
}

// Strike lets a fault happen to those of some clients that fit it. If it waits for an operation, it happens to the first client that sends
// the operation, or to each of them if it hits all. A fault that happens to no client within faultPatience strikes none.
func (t *Targets) Strike(ctx context.Context, s Strike) (Struck, error) {
	clients := list.Where(t.pool.Clients, func(c *pool.Client) bool { return slices.Contains(s.IDs, c.ID) && fits(c, s.Fault) })
	return t.aim(s.Fault, clients)(ctx)
}

// StrikeHolder lets a fault happen to the next client that begins to hold, at that moment. It waits for one up to faultPatience.
func (t *Targets) StrikeHolder(ctx context.Context, f faults.Fault) (Struck, error) {
	w := &wanted{Fault: f, happened: make(chan error, 1)}
	select {
	case t.awaiting <- w:
		err := <-w.happened // the caller must wait for that
		return w.Struck, err
	case <-time.After(faultPatience):
	case <-ctx.Done():
	}
	return Struck{}, nil
}

// meet lets the fault that has waited for a holder for longest happen to a client that begins to hold.
func (t *Targets) meet(ctx context.Context, c *pool.Client) {
	var w *wanted
	select {
	case w = <-t.awaiting:
	default:
		return
	}
	happen := t.aim(w.Fault, []*pool.Client{c})
	strike := func() {
		var err error
		w.Struck, err = happen(ctx)
		w.happened <- err
	}
	if w.AtOperation() { // the client sends the operation later in its step
		go strike()
	} else {
		strike()
	}
}

// aim returns a function that lets a fault happen to clients. The traps of a fault at an operation are set at once, so that
// the clients cannot send the operation before.
func (t *Targets) aim(f faults.Fault, clients []*pool.Client) func(context.Context) (Struck, error) {
	if !f.AtOperation() {
		return func(ctx context.Context) (Struck, error) { return t.strike(ctx, f, clients) }
	}
	traps := setTraps(f, clients)
	return func(ctx context.Context) (Struck, error) { return t.strike(ctx, f, caught(ctx, traps)) }
}

func (t *Targets) strike(ctx context.Context, f faults.Fault, targets []*pool.Client) (Struck, error) {
	struck := Struck{Clients: ids(targets)}
	if f.Kind == faults.Cut && !f.AtOperation() { // else the trap has cut the connection
		for _, c := range targets {
			c.Present().Link.Cut()
		}
	}
	struck.At = t.pool.Since()
	switch f.Kind {
	case faults.Cut:
	case faults.Stop:
		for _, c := range targets {
			c.Present().Die()
		}
	case faults.Deaf:
		t.deafen(targets)
	case faults.Expire:
		return struck, pool.Each(targets, func(c *pool.Client) error { return c.Expire(ctx) })
	default:
		return struck, fmt.Errorf("no way to cause %s is known", f.Kind)
	}
	return struck, nil
}

// deafen makes clients ignore requests of other clients until Hear.
func (t *Targets) deafen(targets []*pool.Client) {
	t.mu.Lock()
	for _, c := range targets {
		if t.deaf[c.ID] == nil {
			t.deaf[c.ID] = &silence{over: make(chan struct{})}
		}
		t.deaf[c.ID].faults++
	}
	t.mu.Unlock()
	recordAll(targets, variants.Deafened)
}

// Hear ends the deafness of clients that one fault has made deaf. A client hears when no fault makes it deaf any more.
func (t *Targets) Hear(ids []int) {
	hearing := list.Where(t.pool.Clients, func(c *pool.Client) bool { return slices.Contains(ids, c.ID) })
	recordAll(hearing, variants.Hearing) // first: a client that hears goes on
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range hearing {
		s := t.deaf[c.ID]
		if s.faults--; s.faults == 0 {
			delete(t.deaf, c.ID)
			close(s.over)
		}
	}
}

// Record records an event of all clients, such as that requests of others may not reach them any more.
func (t *Targets) Record(kind variants.EventKind) { recordAll(t.pool.Clients, kind) }

// ConnectedTo returns the ids of the clients that are connected to the server at an address, or to any server for an empty one.
func (t *Targets) ConnectedTo(addr string) []int {
	return ids(list.Where(t.pool.Clients, func(c *pool.Client) bool { return addr == "" || c.Present().Link.Server().Addr == addr }))
}

// Hold returns the hold of clients while faults happen. Clients that no fault hits hold as usual.
func (t *Targets) Hold(usual pool.HoldFunc) pool.HoldFunc {
	return func(ctx context.Context, c *pool.Client, l *pool.Life, asked <-chan struct{}) error {
		c.Enter(pool.InHold)
		defer c.Enter(pool.InStep)
		if !l.Over() {
			t.meet(ctx, c)
		}
		t.mu.Lock()
		deaf := t.deaf[c.ID]
		t.mu.Unlock()
		if deaf != nil {
			return l.Pause(ctx, deaf.over, pool.Endless)
		}
		return usual(ctx, c, l, asked)
	}
}

func recordAll(clients []*pool.Client, kind variants.EventKind) {
	for _, c := range clients {
		l := c.Present()
		l.Log.Record(kind, int64(l.Number))
	}
}

func fits(c *pool.Client, f faults.Fault) bool {
	member := c.Member()
	number, named := f.Client()
	activity, active := map[string]pool.Activity{faults.Idle: pool.Outside, faults.Waiter: pool.InStep, faults.Holder: pool.InHold}[f.Whom]
	roled, _ := member.(variants.Roled)
	switch {
	case member == nil:
		return false
	case named:
		return c.ID == number
	case active:
		return c.Does().Activity == activity
	default:
		return f.Whom == faults.Any || f.Whom == faults.All || roled != nil && roled.Role() == f.Whom
	}
}

// trap waits until a trap has fired, and returns the client that it caught; nil if it has not fired when ctx ends.
type trap func(ctx context.Context) *pool.Client

// setTraps sets the traps of a fault at an operation: one for the first of the clients that sends it, or one for each if it hits all.
func setTraps(f faults.Fault, clients []*pool.Client) []trap {
	if len(clients) > 0 && f.Whom != faults.All {
		return []trap{setTrap(f, clients...)}
	}
	return list.Map(clients, func(c *pool.Client) trap { return setTrap(f, c) })
}

// caught waits up to faultPatience until the traps have fired, and returns the clients that they caught.
func caught(ctx context.Context, traps []trap) []*pool.Client {
	ctx, cancel := context.WithTimeout(ctx, faultPatience)
	defer cancel()
	caught := list.Map(traps, func(t trap) *pool.Client { return t(ctx) })
	return slices.DeleteFunc(caught, func(c *pool.Client) bool { return c == nil })
}

func setTrap(f faults.Fault, among ...*pool.Client) trap {
	ledgers := list.Map(among, func(c *pool.Client) *wire.Ledger { return c.Present().Ledger })
	op, _ := wire.OpcodeNamed(f.Before + f.After)
	t := wire.CutFirst(ledgers, op, f.After != "")
	return func(ctx context.Context) *pool.Client {
		select {
		case <-t.Fired():
		case <-ctx.Done():
			if t.Disarm() {
				return nil
			}
			<-t.Fired()
		}
		return among[t.Victim()]
	}
}
