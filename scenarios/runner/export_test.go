package runner

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/variants"
)

// OpenClients opens what a measurement opens: sessions with ledgers, monitors and logs, joined to a variant below root.
func OpenClients(ctx context.Context, servers []ensemble.Server, recipe variants.Recipe, v variants.Variant, root string, n int) (steps []func(context.Context) error, closeAll func(), err error) {
	c, err := connectAll(ctx, setting{servers: servers, clients: n, root: root}, v)
	if err != nil {
		return nil, nil, err
	}
	m := &measurement{pool: c}
	c.setHold(m.hold)
	for _, one := range c.clients {
		steps = append(steps, one.participant.Step)
	}
	s := newStream(c, recipe, recorder.New(recorder.Config{Operation: recipe.Operation}), nil)
	s.start()
	return steps, func() { s.finish(false); c.closeAll(context.WithoutCancel(ctx)) }, nil
}

// SetTicks makes a runner check the progress of closed loads at each tick instead of by the clock.
func (r *Runner) SetTicks(ticks <-chan time.Time) { r.ticks = ticks }

// SkipRehearsals makes a runner measure at once, as on a server that needs no warming up.
func (r *Runner) SkipRehearsals() { r.unrehearsed = true }

// ShortenFloors makes a runner measure floors with as few rounds as they need.
func (r *Runner) ShortenFloors() { r.shortFloors = true }

// ShortenPatience makes a runner judge loads with faults in which no operation completes for d once all faults are over.
func (r *Runner) ShortenPatience(d time.Duration) { r.patience = d }

// ShortenLooks makes a runner look every d whether a load stands still.
func (r *Runner) ShortenLooks(d time.Duration) { r.look = d }

// ShortenAlone makes backgrounds run alone for d before a load.
func (r *Runner) ShortenAlone(d time.Duration) { r.alone = d }

// Floor measures both halves of a floor with nothing in between.
func Floor(ctx context.Context, servers []ensemble.Server, root string, timeout time.Duration) results.Floor {
	f := newFloorMeter(ensemble.Container, variants.Recipe{}, root)
	f.timeout = timeout
	f.before(ctx, servers)
	f.after(ctx)
	f.close(context.WithoutCancel(ctx))
	return f.floor
}

// ReportServers reads the servers of an ensemble, waits for what happens meanwhile, and reads them again. The error is that
// of an account that is needed and missing.
func ReportServers(ctx context.Context, e ensemble.Ensemble, meanwhile func()) ([]results.ServerReport, error) {
	begin := readServers(ctx, e)
	meanwhile()
	end := readServers(ctx, e)
	var errs []error
	for _, r := range end {
		errs = append(errs, r.err)
	}
	return reportServers(begin, end), errors.Join(errs...)
}

// OracleWithout returns the oracle of a measurement at whose end a server's account was missing.
func OracleWithout(account error) results.Oracle {
	return crossCheck(true, snapshot{leader: 1}, snapshot{leader: 1, err: account})
}

// CheckEvery sets the time between two checkpoints.
func (r *Runner) CheckEvery(d time.Duration) { r.checkpointEvery = d }

// SetLimit makes a runner end loads that have a limit when the channel says so instead of by the clock.
func (r *Runner) SetLimit(limit <-chan time.Time) { r.limit = limit }
