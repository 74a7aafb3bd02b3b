// Package barrier compares two ways to wait at a barrier until one client opens it for all.
//
// The promise of both variants: no client passes a barrier before it is opened, and every client that waits at an opened
// barrier passes it.
//
//	variant     znodes               one opening with N-1 waiting
//	recheck     <dir>/barrier-<seq>  N-1 notifications, 2N-1 requests
//	no-recheck  <dir>/barrier-<seq>  N-1 notifications, N requests
//
// The recipe takes one position: a barrier that is used again gets a new name. Under its old name, a client that is slow
// to look for the barrier could find it closed again, and miss the opening for which it had waited. So the barriers of a
// directory are numbered. One multi deletes a barrier and creates the next, at no extra request. The absence of a barrier
// is then final: a client that has passed one barrier has seen the next, and finds it gone only after its opening.
//
// The znodes are persistent: the end of the client that created a barrier does not open it. If the client dies that was to
// open a barrier, the others wait until another client opens it, or until that client is back. In the workload each client
// has its turn to open, and one that joins again goes on with the barrier that is closed then. If that is its own, the client
// opens it, and the others have waited for about a session timeout. A client that dies while it waits delays no other client.
// It passes no barrier that was opened without it.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run barrier-drain` checks the formulas.
package barrier

import (
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// ErrNone says that there is no barrier in the directory.
var ErrNone = errors.New("there is no barrier")

// Recipe returns the barrier recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "barrier",
		Summary:   "no client passes until the barrier is opened, then all clients do",
		Source:    "ZooKeeper recipes page, Barriers",
		Variants:  []variants.Variant{recheckVariant(), noRecheckVariant()},
		Phases:    phases(),
		Operation: phaseOpen,
		Workload: variants.Workload{
			CountFrom:  variants.FromStart,
			Collective: true,
		},
		Events: []string{
			"waits at the barrier", "has passed the barrier", "begins to open the barrier", "has opened the barrier", "stops waiting",
		},
		Calls:       []variants.EventKind{opening},
		NewObserver: newObserver,
		Code:        code,
	}
}
