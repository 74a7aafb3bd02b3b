package ensemble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// ServerFault is a way in which a server can be made to fail.
type ServerFault string

// The server faults.
const (
	Kill      ServerFault = "kill"      // ends it at once, as a crash or a power failure does
	Pause     ServerFault = "pause"     // stops it without ending its connections, as a long garbage collection does
	Partition ServerFault = "partition" // cuts it off from the other servers, while clients still reach it
)

// Condition describes a server that has the fault, such as in "zoo2 is paused". A crashed server cannot be told from a killed one.
func (f ServerFault) Condition() string {
	return map[ServerFault]string{Kill: "not running", Pause: "paused", Partition: "cut off"}[f]
}

// Dater is an ensemble that knows when a server ended.
type Dater interface {
	// EndedAt returns when a server that was killed ended, by the machine's clock. It is an error if the server runs.
	EndedAt(ctx context.Context, s Server) (time.Time, error)
}

// Breaker is an ensemble whose servers zkbench can make fail. Its methods may be called concurrently for different servers.
type Breaker interface {
	Ensemble
	// ServerFaults returns the faults that this engine can cause.
	ServerFaults() []ServerFault
	// Faults returns the servers' faults by their names, including those that another process has caused. It does not ask the servers:
	// a paused one would not answer.
	Faults(ctx context.Context) (map[string]ServerFault, error)
	// Break makes a server fail, and returns when it has. A server has one fault at a time.
	Break(ctx context.Context, s Server, f ServerFault) error
	// Restore undoes the fault of a server, such as by starting it again. It returns before the server serves requests; see
	// [AwaitQuorum]. Restore has no effect on a server without a fault.
	Restore(ctx context.Context, s Server) error
}

// FaultyError is the error for an ensemble with faulty servers. Restore undoes the faults.
type FaultyError struct{ Faults map[string]ServerFault } // by the servers' names

// Error lists the faulty servers by their names, such as "zoo1 is paused, zoo3 is cut off".
func (e *FaultyError) Error() string {
	describe := func(name string) string { return name + " is " + e.Faults[name].Condition() }
	return strings.Join(list.Map(slices.Sorted(maps.Keys(e.Faults)), describe), ", ")
}

// CheckFaults returns a [FaultyError] if servers of the ensemble have faults. It returns nil for engines that cannot find them.
func CheckFaults(ctx context.Context, e Ensemble) error {
	b, ok := e.(Breaker)
	if !ok {
		return nil
	}
	faults, err := b.Faults(ctx)
	if err == nil && len(faults) > 0 {
		err = &FaultyError{faults}
	}
	return err
}

// Breakage is the part of a [Breaker] that all engines share. It records the faults that this process has caused, so that they
// are undone on every way out.
type Breakage struct {
	Possible []ServerFault
	Cause    func(ctx context.Context, s Server, f ServerFault) error
	Undo     func(ctx context.Context, s Server) error // any fault; no effect on a server without one

	servers sync.Map    // of *breakable, by the server's id
	over    atomic.Bool // no more faults: the ensemble is being closed
	removed atomic.Bool // nothing is restored either: a server that is started now would be left behind
}

// breakable is a server that this process has broken at least once.
type breakable struct {
	mu    sync.Mutex // held while a fault is caused or undone
	fault ServerFault
}

// ServerFaults implements [Breaker].
func (b *Breakage) ServerFaults() []ServerFault { return slices.Clone(b.Possible) }

// CheckPossible returns an error that lists the possible faults unless the engine can cause f.
func (b *Breakage) CheckPossible(f ServerFault) error {
	if slices.Contains(b.Possible, f) {
		return nil
	}
	if len(b.Possible) == 0 {
		return fmt.Errorf("this engine cannot %s a server", f)
	}
	return fmt.Errorf("this engine cannot %s a server, only %s", f, strings.Join(list.Texts(b.Possible), " and "))
}

// errClosing is the error of a fault that comes too late to be undone.
var errClosing = errors.New("the ensemble is being closed")

// undoTimeout is how long undoing a fault that failed halfway may take.
const undoTimeout = 30 * time.Second

// Break implements [Breaker]. If the engine fails, the fault may exist, such as when the context ends during a command. Break then
// undoes it. If that fails, too, the fault counts until the server is restored.
func (b *Breakage) Break(ctx context.Context, s Server, f ServerFault) error {
	if err := b.CheckPossible(f); err != nil {
		return err
	}
	server := b.lock(s)
	defer server.mu.Unlock()
	switch {
	case b.over.Load():
		return fmt.Errorf("%s %s: %w", f, s.Name, errClosing)
	case server.fault != "":
		return fmt.Errorf("%s %s: it is already %s", f, s.Name, server.fault.Condition())
	}
	server.fault = f
	err := b.Cause(ctx, s, f)
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return errors.Join(fmt.Errorf("%s %s: %w", f, s.Name, err), b.restore(undo, s, server))
}

// Restore implements [Breaker].
func (b *Breakage) Restore(ctx context.Context, s Server) error {
	server := b.lock(s)
	defer server.mu.Unlock()
	return b.restore(ctx, s, server)
}

func (b *Breakage) restore(ctx context.Context, s Server, server *breakable) error {
	if b.removed.Load() {
		return fmt.Errorf("restore %s: %w", s.Name, errClosing)
	}
	if err := b.Undo(ctx, s); err != nil {
		return fmt.Errorf("restore %s: %w", s.Name, err)
	}
	server.fault = ""
	return nil
}

// RestoreAll undoes the faults that this process has caused, and refuses further ones. It returns the number of servers that it
// has restored.
func (b *Breakage) RestoreAll(ctx context.Context, servers []Server) (restored int, err error) {
	b.over.Store(true)
	var errs []error
	for _, s := range servers {
		server := b.lock(s)
		if server.fault != "" {
			restored++
			errs = append(errs, b.restore(ctx, s, server))
		}
		server.mu.Unlock()
	}
	return restored, errors.Join(errs...)
}

// abandon refuses further faults and restorations, and returns when none is under way: the servers are about to be removed.
func (b *Breakage) abandon(servers []Server) {
	b.over.Store(true)
	b.removed.Store(true)
	for _, s := range servers {
		b.lock(s).mu.Unlock()
	}
}

// lock returns what is known of a server when no fault of it is being caused or undone, until the caller unlocks it.
func (b *Breakage) lock(s Server) *breakable {
	known, _ := b.servers.LoadOrStore(s.ID, new(breakable))
	server := known.(*breakable)
	server.mu.Lock()
	return server
}
