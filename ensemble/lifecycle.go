package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ErrNotUp means that no ensemble with that name is kept up.
var ErrNotUp = errors.New("no such ensemble is up")

// ErrNotStarted is wrapped by errors of engines whose servers did not start or did not form a quorum. The servers have been removed.
var ErrNotStarted = errors.New("the servers could not be started")

// ErrPortTaken is wrapped by errors of servers that did not start because a port that had been free was in use.
var ErrPortTaken = errors.New("another program took one of the free ports first")

// Local is the common part of engines that start their servers on this machine. Their ensembles embed it.
type Local struct {
	*Breakage
	Heap       func(ctx context.Context, s Server) (int64, error) // collects all garbage, and returns the bytes in use
	Members    []Server
	TxnLog     TxnLog
	Protection Protection
	Found      bool                            // kept up since an earlier command: Close leaves it up
	LockName   string                          // reserves the ensemble
	Remove     func(ctx context.Context) error // everything of an ensemble that was not found; set by Up
	lock       *FileLock
}

// Servers implements [Ensemble].
func (l *Local) Servers() []Server { return l.Members }

// Owned implements [Ensemble]: the servers listen on the loopback address only, and the ensemble is locked.
func (l *Local) Owned() bool { return true }

// Attached reports whether the ensemble was up before: Close leaves it up.
func (l *Local) Attached() bool { return l.Found }

// AccessFlags returns the flags by which zkbench gets access to the servers when they are given by --servers.
func (l *Local) AccessFlags() []string { return l.Protection.AccessFlags() }

// Lock locks an ensemble that was found, until Release. It returns [ErrBusy] if a run uses the ensemble for longer than opts.Wait.
func (l *Local) Lock(ctx context.Context, opts Options) (err error) {
	l.lock, err = Lock(ctx, l.LockName, opts)
	return err
}

// Release unlocks an ensemble that stays up.
func (l *Local) Release() error { return l.lock.Release() }

// Close implements [Ensemble]: it removes the ensemble and unlocks it. If the ensemble was up before, Close does not remove it, but
// restores the servers that this process has broken.
func (l *Local) Close(ctx context.Context) error {
	if l.Found {
		return errors.Join(l.restoreBroken(ctx), l.lock.Release())
	}
	l.abandon(l.Members)
	return errors.Join(l.Remove(ctx), l.lock.Release())
}

func (l *Local) restoreBroken(ctx context.Context) error {
	restored, err := l.RestoreAll(ctx, l.Members)
	if err != nil || restored == 0 {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, QuorumTimeout)
	defer cancel()
	return AwaitQuorum(ready, l.Members, nil)
}

// HeapUsed implements [HeapMeter].
func (l *Local) HeapUsed(ctx context.Context) (int64, error) {
	var total int64
	for _, s := range l.Members {
		n, err := l.Heap(ctx, s)
		if err != nil {
			return 0, fmt.Errorf("ask %s for its heap: %w", s.Name, err)
		}
		total += n
	}
	return total, nil
}

func (l *Local) local() *Local { return l } //nolint:unused // the constraint of Lifecycle has it

// Lifecycle holds the functions by which an engine starts, finds and removes the ensemble of one name.
type Lifecycle[E interface {
	Ensemble
	local() *Local
}] struct {
	LockName string
	Find     func(ctx context.Context) (E, error) // the ensemble that is kept up; ErrNotUp if there is none
	Remove   func(ctx context.Context) error      // everything that is left of an earlier ensemble
	Start    func(ctx context.Context) (E, error) // its servers need not be ready yet
}

// startAttempts bounds the starts that fail because another program takes a free port between its choice and its use.
const startAttempts = 3

const cleanupTimeout = time.Minute

// Up attaches to the ensemble if it is kept up. Otherwise it removes the remains of an earlier one, and starts a new one. The
// ensemble is locked until its Close or Release.
func (l Lifecycle[E]) Up(ctx context.Context, opts Options) (E, error) {
	var none E
	lock, err := Lock(ctx, l.LockName, opts)
	if err != nil {
		return none, err
	}
	e, err := l.up(ctx, opts)
	if err != nil {
		return none, errors.Join(err, lock.Release())
	}
	e.local().lock, e.local().Remove = lock, l.Remove
	return e, nil
}

func (l Lifecycle[E]) up(ctx context.Context, opts Options) (E, error) {
	var none E
	kept, err := l.Find(ctx)
	if err == nil {
		return kept, attach(ctx, kept, kept.local(), opts)
	}
	if !errors.Is(err, ErrNotUp) {
		return none, err
	}
	if err := l.Remove(ctx); err != nil {
		return none, err
	}
	for attempt := 1; ; attempt++ {
		e, err := l.tryStart(ctx)
		if !errors.Is(err, ErrPortTaken) || len(opts.Ports) > 0 || attempt == startAttempts || ctx.Err() != nil {
			return e, err
		}
		fmt.Fprintf(opts.Progress, "%v: starting again with others\n", ErrPortTaken)
	}
}

func (l Lifecycle[E]) tryStart(ctx context.Context) (E, error) {
	e, err := l.Start(ctx)
	if err == nil {
		err = AwaitReady(ctx, e)
	}
	if err == nil {
		return e, nil
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if !errors.Is(err, ErrUnavailable) { // callers treat ErrUnavailable and ErrNotStarted alike
		err = fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	return e, errors.Join(err, l.Remove(cleanup))
}

// PortTaken adds ErrPortTaken to the error of servers that did not start, if Docker or Java have printed that a port was in use.
func PortTaken(err error, printed string) error {
	if strings.Contains(printed, "port is already allocated") || strings.Contains(printed, "ddress already in use") {
		return fmt.Errorf("%w: %w", ErrPortTaken, err)
	}
	return err
}

// DownCommand returns the command that takes the ensemble of a name down, and removes the remains of a crashed one.
func DownCommand(name string) string { return "zkbench ensemble down --name " + name }

// HealCommand returns the command that undoes the faults of the servers of an ensemble.
func HealCommand(name string) string { return "zkbench ensemble heal --name " + name }

// attach returns an error unless the ensemble that is kept up is well and has the transaction log and the protection that the options
// ask for.
func attach(ctx context.Context, kept Ensemble, local *Local, opts Options) error {
	log, protection := local.TxnLog, local.Protection
	err := CheckFaults(ctx, kept)
	if err == nil {
		err = CheckQuorum(ctx, kept.Servers())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return fmt.Errorf("ensemble %q is up but not well, `%s` restores its servers, and `%s` ends it: %w",
			opts.Name, HealCommand(opts.Name), DownCommand(opts.Name), err)
	case len(opts.Ports) > 0 || opts.Image != "" || opts.Home != "":
		return fmt.Errorf("ensemble %q is already up: `%s` first to start it differently", opts.Name, DownCommand(opts.Name))
	case opts.TxnLog != "" && opts.TxnLog != log:
		return fmt.Errorf("ensemble %q is already up and keeps its transaction logs %s: `%s` first to start it with --txn-log %s",
			opts.Name, log.where(), DownCommand(opts.Name), opts.TxnLog)
	case opts.TLS && !protection.TLS || opts.Digest && !protection.Digest:
		return fmt.Errorf("ensemble %q is already up %s: `%s` first to start it %s", opts.Name, protection.describe(),
			DownCommand(opts.Name), Protection{TLS: opts.TLS, Digest: opts.Digest}.describe())
	}
	fmt.Fprintf(opts.Progress, "using the ensemble %q that is already up, with its transaction logs %s, %s\n",
		opts.Name, log.where(), protection.describe())
	return nil
}

// QuorumTimeout bounds the time until servers form a quorum. They take about three seconds on two idle cores. Each round of an election
// that fails takes them initLimit, 20 s: a follower gives up half a second after the election if the leader does not listen yet. Where ten
// other processes waited for each core, three rounds failed in a row.
const QuorumTimeout = 3 * time.Minute

// AwaitReady returns when the ensemble has a quorum. If a server ends before, or after [QuorumTimeout], the error has the lines of the
// logs that say why, and wraps [ErrPortTaken] if a port was in use.
func AwaitReady(ctx context.Context, e Ensemble) error {
	ready, cancel := context.WithTimeout(ctx, QuorumTimeout)
	defer cancel()
	err := AwaitQuorum(ready, e.Servers(), e)
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var logs strings.Builder
	_ = e.Logs(ctx, &logs, math.MaxInt) // whole logs: a server that could not bind a port may log more lines
	return PortTaken(fmt.Errorf("the servers did not become ready: %w\nfrom their logs:\n%s", err, complaints(logs.String())), logs.String())
}

// complaints returns the last lines of Java's logs about errors, each text once: no stack frames, and no levels below errors.
func complaints(logs string) string {
	noise := regexp.MustCompile(`^\s*(at |\.\.\. \d+ more|Picked up |$)| (TRACE|DEBUG|INFO|WARN) `)
	var lines, texts []string
	for line := range strings.Lines(logs) {
		if _, text, _ := strings.Cut(line, " | "); !noise.MatchString(text) && !slices.Contains(texts, text) {
			lines, texts = append(lines, line), append(texts, text)
		}
	}
	return strings.Join(lines[max(len(lines)-6, 0):], "")
}
