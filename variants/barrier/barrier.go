// Package barrier compares two ways to wait at a barrier until somebody opens it for all.
//
// The promise, to which both are held: nobody passes a barrier before it is opened, and everybody who waits at one that
// was opened passes.
//
//	variant     znodes               one opening with N-1 waiting
//	recheck     <dir>/barrier-<seq>  N-1 notifications, 2N-1 requests
//	no-recheck  <dir>/barrier-<seq>  N-1 notifications, N requests
//
// The recipe takes one position: a barrier that is used again gets a new name. Under its old one, a client that is slow
// to ask whether the barrier has gone could find it closed again, and miss an opening that it had waited for. So the
// barriers of a directory are numbered. One multi deletes a barrier and creates the next, which makes the absence of a
// barrier final: whoever has passed one has seen the next already, and will see it gone only once it has been opened.
// That costs no request.
//
// The znodes are persistent: a barrier does not open because the client that has closed it is gone.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run barrier-drain` holds them to it.
package barrier

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Barrier is one client's place before the barriers of a directory, which it passes one after another. Its methods may
// be called concurrently and then run one after another. When their context ends first, its error comes back within about
// a second even from a session that does not answer, and the client is before the same barrier still.
//
// All return variants.ErrSessionLost when the session is gone: what a new session sees may be older.
type Barrier interface {
	// Wait returns when the barrier that the client is before has been opened.
	Wait(ctx context.Context) error
	// Open opens the barrier that the client is before, passes it, and leaves the next one closed. If somebody else has
	// opened it, the client only passes. After an error it may be open or not, and to call Open again is safe.
	Open(ctx context.Context) error
}

// ErrNone says that there is no barrier in the directory.
var ErrNone = errors.New("there is no barrier")

// Recipe returns the barrier recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "barrier",
		Summary:     "nobody passes until it is opened, then everybody does",
		Source:      "ZooKeeper recipes page, Barriers",
		Variants:    []variants.Variant{recheckVariant(), noRecheckVariant()},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseOpen,
		CountFrom:   variants.FromStart,
		Collective:  true,
		Check:       check,
		CheckPrefix: checkPrefix,
		Code:        code,
	}
}
