package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotUp is returned for a name under which nothing runs that would outlive its run.
var ErrNotUp = errors.New("no such ensemble is up")

// ErrNotStarted is wrapped by errors that mean that the servers of an engine did not come up: they could not be started, or
// formed no quorum. What had been started has been removed.
var ErrNotStarted = errors.New("the servers could not be started")

// Lifecycle is what an engine does to start, find and remove an ensemble of one name.
type Lifecycle[E Ensemble] struct {
	ClaimName string
	Find      func(ctx context.Context) (E, error) // the kept one; ErrNotUp if there is none
	Remove    func(ctx context.Context) error      // whatever is left of any
	Start     func(ctx context.Context) (E, error)
	TxnLogOf  func(E) TxnLog
}

// cleanupTimeout is how long removing a half-started ensemble may take, even after an interrupt.
const cleanupTimeout = time.Minute

// Up starts an ensemble, after removing what an earlier one left behind; one that is kept is attached to instead. The
// caller holds the claim on it, and so has it to itself.
func (l Lifecycle[E]) Up(ctx context.Context, opts Options) (E, *Claim, error) {
	var none E
	claim, err := TryClaim(l.ClaimName)
	if err != nil {
		return none, nil, err
	}
	e, err := l.up(ctx, opts)
	if err != nil {
		return none, nil, errors.Join(err, claim.Release())
	}
	return e, claim, nil
}

func (l Lifecycle[E]) up(ctx context.Context, opts Options) (E, error) {
	var none E
	kept, err := l.Find(ctx)
	if err == nil {
		if sick := CheckQuorum(ctx, kept.Servers()); sick != nil {
			return none, fmt.Errorf("ensemble %q is up but not well, `zkbench ensemble down --name %s` ends it: %w", opts.Name, opts.Name, sick)
		}
	}
	switch {
	case err == nil && len(opts.Ports) == 0 && opts.Image == "" && opts.Home == "":
		if err := opts.attachable(l.TxnLogOf(kept)); err != nil {
			return none, err
		}
		fmt.Fprintf(opts.Progress, "using the ensemble %q that is already up, with its transaction logs %s\n", opts.Name, l.TxnLogOf(kept).where())
		return kept, nil
	case err == nil:
		return none, fmt.Errorf("ensemble %q is already up: `zkbench ensemble down --name %s` first to start it differently", opts.Name, opts.Name)
	case !errors.Is(err, ErrNotUp):
		return none, err
	}
	if err := l.Remove(ctx); err != nil {
		return none, err
	}
	e, err := l.Start(ctx)
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if !errors.Is(err, ErrUnavailable) { // callers treat both alike
			err = fmt.Errorf("%w: %w", ErrNotStarted, err)
		}
		return none, errors.Join(err, l.Remove(cleanup))
	}
	return e, nil
}

// readyTimeout is how long three servers may take to form a quorum. They take about three seconds on two idle cores, and were
// seen to take more than 20 where ten other processes waited for each core.
const readyTimeout = time.Minute

// AwaitReady returns when the ensemble has a quorum, or with what was missing and what the servers logged.
func AwaitReady(ctx context.Context, e Ensemble) error {
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := AwaitQuorum(ready, e.Servers())
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var logs strings.Builder
	_ = e.Logs(ctx, &logs, 5)
	return fmt.Errorf("the servers started but did not become ready within %s: %w\nthe last lines of their logs:\n%s", readyTimeout, err, logs.String())
}
