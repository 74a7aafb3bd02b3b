package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// breakServer makes a server fail, and restores it when the time of the fault is over.
func (f *failing) breakServer(ctx context.Context, o *occurrence) error {
	breaker, ok := f.m.ensemble.(ensemble.Breaker)
	if !ok {
		return errors.New("this ensemble's servers cannot be made to fail") // refused before the run, see [faults.Unable]
	}
	server, err := f.target(ctx, o)
	if err != nil {
		return err
	}
	victims := f.clientsOf(ctx, server)
	release := f.m.stream.hold()
	defer release()
	begin := time.Now()
	if err := breaker.Break(ctx, server, ensemble.ServerFault(o.Kind)); err != nil {
		f.free(server)
		return err
	}
	f.beginAt(f.brokeAt(ctx, breaker, server, begin), o, server.Name, victims)
	release()
	recordAll(f.m.pool.clients, variants.Deafened) // requests of others may reach none of them
	if o.For > 0 && sleep(ctx, o.For) == nil {
		return f.restore(context.WithoutCancel(ctx), breaker, server)
	}
	return nil // restored at the end
}

// brokeAt returns when a server failed. An engine may have taken its time to say that it did.
func (f *failing) brokeAt(ctx context.Context, breaker ensemble.Breaker, server ensemble.Server, begin time.Time) time.Duration {
	now := f.m.pool.since()
	if d, ok := breaker.(ensemble.Dater); ok {
		if at, err := d.EndedAt(ctx, server); err == nil {
			return min(max(at.Sub(f.m.pool.epoch), begin.Sub(f.m.pool.epoch)), now)
		}
	}
	return now
}

// clientsOf returns the clients that a server's failure hits: those that are connected to it, or all of them if it leads.
func (f *failing) clientsOf(ctx context.Context, server ensemble.Server) []int {
	status, err := ensemble.Srvr(ctx, server)
	leads := err == nil && status.Role == ensemble.Leader
	var ids []int
	for _, c := range f.m.pool.clients {
		if leads || c.present().link.Server().Addr == server.Addr {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// target chooses the server that a fault hits, and reserves it. It waits for a leader while there is none.
func (f *failing) target(ctx context.Context, o *occurrence) (ensemble.Server, error) {
	for deadline := time.Now().Add(faultPatience); ; {
		for _, s := range f.candidates(ctx, o.Whom) {
			if f.reserve(s, o) {
				return s, nil
			}
		}
		if time.Now().After(deadline) || sleep(ctx, settlePoll) != nil {
			return ensemble.Server{}, errMissed
		}
	}
}

// candidates returns the servers that a fault may hit, in random order.
func (f *failing) candidates(ctx context.Context, whom string) []ensemble.Server {
	var found []ensemble.Server
	for _, s := range f.m.setting.servers {
		if f.isBroken(s) { // it would answer late, or not at all
			continue
		}
		switch whom {
		case faults.Any:
			found = append(found, s)
		case faults.Leader, faults.Follower:
			if status, err := ensemble.Srvr(ctx, s); err == nil && string(status.Role) == whom {
				found = append(found, s)
			}
		default:
			if s.Name == whom {
				found = append(found, s)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found
}

// isBroken reports whether a server has a fault.
func (f *failing) isBroken(s ensemble.Server) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken[s.ID] != nil
}

// reserve reports whether a server has no fault, and gives it this one.
func (f *failing) reserve(s ensemble.Server, o *occurrence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken[s.ID] != nil {
		return false
	}
	f.broken[s.ID] = o
	return true
}

// free returns the fault of a server, which no longer has it.
func (f *failing) free(s ensemble.Server) *occurrence {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.broken[s.ID]
	delete(f.broken, s.ID)
	return o
}

// restore undoes the fault of a server.
func (f *failing) restore(ctx context.Context, breaker ensemble.Breaker, s ensemble.Server) error {
	if err := breaker.Restore(ctx, s); err != nil {
		return fmt.Errorf("restore %s: %w", s.Name, err)
	}
	if o := f.free(s); o != nil {
		recordAll(f.m.pool.clients, variants.Hearing)
		f.end(o)
	}
	return nil
}

// restoreTimeout is how long the servers may take to have a quorum again when the schedule has ended.
const restoreTimeout = 90 * time.Second

// restoreAll undoes the faults of all servers, and waits until they have a quorum.
func (f *failing) restoreAll(ctx context.Context) error {
	breaker, ok := f.m.ensemble.(ensemble.Breaker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, restoreTimeout, fmt.Errorf("the servers had no quorum within %s after the faults", restoreTimeout))
	defer cancel()
	var errs []error
	for _, s := range f.m.setting.servers {
		if f.isBroken(s) {
			errs = append(errs, f.restore(ctx, breaker, s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := ensemble.CheckFaults(ctx, f.m.ensemble); err != nil { // a server that stays away would be waited for in vain
		return fmt.Errorf("after all faults of the schedule: %w", err)
	}
	return ensemble.AwaitQuorum(ctx, f.m.setting.servers)
}
