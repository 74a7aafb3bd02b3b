package scenarios

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// settlePoll is how often the ledgers are asked whether they have; asking costs nothing on the wire.
const settlePoll = 100 * time.Microsecond

// drain is a load that zkbench conducts step by step.
type drain struct {
	*measurement
	holding chan *member              // who has come to hold, in the order of coming
	turn    map[*member]chan struct{} // closed when the holder may go on
	done    map[*member]chan struct{} // closed when its step is over
}

// runDrain lets all clients enqueue one after another, then leave one by one. Before each step every session has
// received what the last one caused, and every waiter has an armed watch and nothing outstanding: so no two events
// meet one watch, and the counts are exact.
func (m *measurement) runDrain(ctx context.Context) (observation, error) {
	d := &drain{measurement: m, holding: make(chan *member, len(m.crowd.members)),
		turn: map[*member]chan struct{}{}, done: map[*member]chan struct{}{}}
	for _, member := range m.crowd.members {
		d.turn[member], d.done[member] = make(chan struct{}), make(chan struct{})
	}
	m.crowd.setHold(d.hold)
	group, ctx := errgroup.WithContext(ctx)
	var o observation
	group.Go(func() error {
		var err error
		o, err = d.conduct(ctx, group)
		return err
	})
	err := group.Wait()
	return o, err
}

// hold announces the holder and waits for its turn to go on.
func (d *drain) hold(m *member) holdFunc {
	return func(ctx context.Context, _ <-chan struct{}) error {
		d.holding <- m
		select {
		case <-d.turn[m]:
			return sleep(ctx, time.Duration(d.scenario.Hold))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *drain) conduct(ctx context.Context, group *errgroup.Group) (observation, error) {
	waiting := map[*member]bool{}
	for i, m := range d.crowd.members {
		group.Go(func() error {
			defer close(d.done[m])
			return m.explain(m.participant.Step(ctx))
		})
		if err := d.seat(ctx, m, i == 0, waiting); err != nil {
			return observation{}, err
		}
	}
	if err := d.settle(ctx, waiting); err != nil {
		return observation{}, err
	}
	begin, err := d.quiesce(ctx)
	if err != nil {
		return observation{}, err
	}
	begin.at = d.crowd.since()
	for range d.crowd.members {
		if err := d.step(ctx, waiting); err != nil {
			return observation{}, err
		}
	}
	end, err := d.quiesce(ctx)
	return between(begin, end), err
}

// seat waits until a newcomer holds, if it is the first, or has lined up behind the others.
func (d *drain) seat(ctx context.Context, m *member, first bool, waiting map[*member]bool) error {
	if first {
		holder, err := d.next(ctx)
		if err != nil {
			return err
		}
		d.holding <- holder
		return nil
	}
	waiting[m] = true
	return d.awaitSettled(ctx, m)
}

// step lets the present holder go and waits until the next one holds and all others are at rest.
func (d *drain) step(ctx context.Context, waiting map[*member]bool) error {
	holder, err := d.next(ctx)
	if err != nil {
		return err
	}
	close(d.turn[holder])
	select {
	case <-d.done[holder]:
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(waiting) > 0 {
		next, err := d.next(ctx)
		if err != nil {
			return err
		}
		delete(waiting, next)
		d.holding <- next
	}
	return d.settle(ctx, waiting)
}

// next returns whoever holds.
func (d *drain) next(ctx context.Context) (*member, error) {
	select {
	case m := <-d.holding:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(d.patience):
		return nil, fmt.Errorf("%w: nobody came to hold within %s", ErrStuck, d.patience)
	}
}

// settle returns when every session has received what has happened so far, and every waiter has drawn its conclusions.
func (d *drain) settle(ctx context.Context, waiting map[*member]bool) error {
	if err := d.crowd.fence(); err != nil {
		return err
	}
	for m := range waiting {
		if err := d.awaitSettled(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (d *drain) awaitSettled(ctx context.Context, m *member) error {
	deadline := time.Now().Add(d.patience)
	for !m.ledger.Settled() {
		if time.Now().After(deadline) {
			return m.explain(fmt.Errorf("%w: it did not re-arm its watch within %s", ErrStuck, d.patience))
		}
		if err := sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
	return nil
}
