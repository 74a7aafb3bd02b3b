package runner

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// crewOf returns clients as one block, to which no fault happens.
func crewOf(p *pool.Pool) *crew {
	b := block.New(variants.Recipe{}, variants.Variant{})
	b.Pool = p
	for _, c := range p.Clients {
		c.Enter(pool.Outside)
	}
	c, _ := newCrew(context.Background(), p.Epoch, len(p.Clients))
	c.parts = append(c.parts, b)
	return c
}

func holdNot(context.Context, *pool.Client, *pool.Life, <-chan struct{}) error { return nil }

// OpenClients opens the clients of a measurement: sessions with ledgers, monitors and logs, joined to a variant below root.
func OpenClients(
	ctx context.Context, servers []ensemble.Server, recipe variants.Recipe, v variants.Variant, root string, n int,
) (steps []func(context.Context) error, closeAll func(), err error) {
	c, err := pool.Connect(ctx, pool.Config{Servers: servers, Clients: n, Root: root}, v)
	if err != nil {
		return nil, nil, err
	}
	c.Hold = holdNot
	for _, one := range c.Clients {
		steps = append(steps, one.Participant.Step)
	}
	s := newStream(crewOf(c), recipe, recorder.New(recorder.Config{Operation: recipe.Operation}), nil)
	s.start()
	return steps, func() { s.finish(false); c.CloseAll(context.WithoutCancel(ctx)) }, nil
}

// InVirtualTime lets a runner work in a bubble of testing/synctest, in which a thread that sleeps stops the clock.
func (r *Runner) InVirtualTime() { r.nap = time.Sleep }

// InBlocks makes a runner divide the clients of each measurement into blocks, each as on a worker of its own.
func (r *Runner) InBlocks(n int) { r.blocks = n }

// SkipRehearsals makes a runner measure at once, as on a server that needs no warming up.
func (r *Runner) SkipRehearsals() { r.unrehearsed = true }

// ShortenFloors makes a runner measure floors with as few rounds as they need.
func (r *Runner) ShortenFloors() { r.shortFloors = true }

// ReportServers reads the servers of an ensemble, calls meanwhile, and reads them again. It fails if counters that are needed are
// missing.
func ReportServers(ctx context.Context, e ensemble.Ensemble, meanwhile func()) ([]results.ServerReport, error) {
	begin := readServers(ctx, e, e.Owned())
	meanwhile()
	end := readServers(ctx, e, e.Owned())
	var errs []error
	for _, r := range end {
		errs = append(errs, r.err)
	}
	return reportServers(begin, end), errors.Join(errs...)
}

// CountWords reads the first server of an ensemble, and returns how many four-letter words it is known to have counted, and whether it
// may have counted more.
func CountWords(ctx context.Context, e ensemble.Ensemble) (known int64, more bool) {
	var s snapshot
	s.add(readServers(ctx, e, e.Owned())[0])
	return s.commands, s.uncounted
}

// OracleWithout returns the oracle of a measurement at whose end a server's counters were missing.
func OracleWithout(account error) results.Oracle {
	return crossCheck(true, snapshot{leader: 1}, snapshot{leader: 1, err: account})
}
