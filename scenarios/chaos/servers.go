package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// breakServer makes a server fail, and restores it when the time of the fault is over; restoreAll undoes a fault without an end.
func (in *Injector) breakServer(ctx context.Context, o *occurrence) error {
	breaker := in.Ensemble.(ensemble.Breaker) // a schedule that other ensembles cannot have is refused, see [faults.Unable]
	server, err := in.chooseServer(ctx, o)
	if err != nil {
		return err
	}
	status, err := ensemble.Srvr(ctx, server)
	leads := err == nil && status.Role == ensemble.Leader // then all clients are hit, and not only those that are connected to it
	hit := server.Addr
	if leads {
		hit = ""
	}
	clients := in.Crew.ConnectedTo(hit)
	release := in.Log.KeepBack()
	defer release()
	begin := time.Now()
	if err := breaker.Break(ctx, server, ensemble.ServerFault(o.Kind)); err != nil {
		in.broken.Delete(server.ID)
		return err
	}
	in.beginAt(in.brokeAt(ctx, breaker, server, begin), o, server.Name, clients)
	release()
	in.Crew.Record(variants.Deafened) // requests of other clients may not reach any of them
	if o.For > 0 && pool.Sleep(ctx, o.For) == nil {
		return in.restore(context.WithoutCancel(ctx), breaker, server)
	}
	return nil
}

// brokeAt returns when a server failed. An engine may report that only later.
func (in *Injector) brokeAt(ctx context.Context, breaker ensemble.Breaker, server ensemble.Server, begin time.Time) time.Duration {
	now := in.Crew.Since()
	if d, ok := breaker.(ensemble.Dater); ok {
		if at, err := d.EndedAt(ctx, server); err == nil {
			return min(max(at.Sub(in.Epoch), begin.Sub(in.Epoch)), now)
		}
	}
	return now
}

// chooseServer chooses a server for a fault and reserves it. It waits for one up to faultPatience: for a time, none may lead.
func (in *Injector) chooseServer(ctx context.Context, o *occurrence) (ensemble.Server, error) {
	for deadline := time.Now().Add(faultPatience); ; {
		for _, s := range in.serversThat(ctx, o.Whom) {
			if _, taken := in.broken.LoadOrStore(s.ID, o); !taken {
				return s, nil
			}
		}
		if time.Now().After(deadline) || pool.Sleep(ctx, pool.SettlePoll) != nil {
			return ensemble.Server{}, errMissed
		}
	}
}

func (in *Injector) serversThat(ctx context.Context, whom string) []ensemble.Server {
	found := list.Where(in.Ensemble.Servers(), func(s ensemble.Server) bool {
		switch {
		case in.isBroken(s): // it would answer late, or not at all
			return false
		case whom == faults.Leader || whom == faults.Follower:
			status, err := ensemble.Srvr(ctx, s)
			return err == nil && string(status.Role) == whom
		default:
			return whom == faults.Any || whom == s.Name
		}
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Random.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found
}

func (in *Injector) isBroken(s ensemble.Server) bool {
	_, broken := in.broken.Load(s.ID)
	return broken
}

func (in *Injector) restore(ctx context.Context, breaker ensemble.Breaker, s ensemble.Server) error {
	if err := breaker.Restore(ctx, s); err != nil {
		return fmt.Errorf("restore %s: %w", s.Name, err)
	}
	in.Crew.Record(variants.Hearing)
	o, _ := in.broken.LoadAndDelete(s.ID)
	in.end(o.(*occurrence))
	return nil
}

func (in *Injector) restoreAll(ctx context.Context) error {
	breaker, ok := in.Ensemble.(ensemble.Breaker)
	if !ok {
		return nil
	}
	late := fmt.Errorf("the servers had no quorum within %s after the faults", ensemble.QuorumTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, ensemble.QuorumTimeout, late)
	defer cancel()
	broken := list.Where(in.Ensemble.Servers(), in.isBroken)
	errs := list.Map(broken, func(s ensemble.Server) error { return in.restore(ctx, breaker, s) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ensemble.AwaitQuorum(ctx, in.Ensemble.Servers(), in.Ensemble)
}
