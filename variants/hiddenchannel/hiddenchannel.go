// Package hiddenchannel compares three ways to learn of an update that another client has made.
//
// A writer updates a znode and sends the readers a message that does not go through ZooKeeper, over a hidden channel. A
// reader's own server may not have the update yet when the message comes: what it then reads is stale.
//
// The promise of all variants: no client reads what was never written, no client's reads go back in time, and no client
// reads a value that was replaced more than 20 seconds before. With the variant that watches, a client that has heard of
// an update reads that one or a later one. The others do not promise that: the share of their reads that are stale is
// measured, as stale/read.
//
//	variant            one update with K readers                         stale reads
//	message-then-read  1 write, K messages, K reads                      while the reader's server lags behind
//	sync-then-read     1 write, K messages, K syncs, K reads             few
//	watch              1 write, K notifications, K reads with a watch    none
//
// The writer can make S updates in a row. A reader that is not ready to be notified of each of them then reads once for several:
// if it learns of a burst only once, it costs 1/S notifications for each update. It misses no update, because it reads the newest.
//
// A single server never lags behind itself, so that no read is stale on a standalone one, nor on embedded ones without --lag. There must
// be one writer at a time; an election can decide which client that is.
package hiddenchannel

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Value is one client's view of a value in a znode that one client updates and others follow. Its methods may be called
// concurrently and then run one after another. When their context ends, they return within about a second even if the
// server is silent. All return session.ErrSessionLost when the session is gone: a new session may read an older value.
type Value interface {
	// Update replaces the value and announces the new version to the readers. Once begun, it is finished even if ctx ends.
	Update(ctx context.Context, data []byte) error
	// Changed waits until the client hears of a version that it did not know of, and returns the newest that it then knows of.
	// The next call is Read.
	Changed(ctx context.Context) (version int64, err error)
	// Read returns the value as the client's server has it. If its version is smaller than the one that Changed has
	// returned, it is stale.
	Read(ctx context.Context) (Reading, error)
}

// Reading is a value with its version, which counts the updates: 0 is the value with which the znode was created.
type Reading struct {
	Version int64
	Data    []byte
}

// Mail is the hidden channel, such as a connection between the clients, or a message broker. A message is the version
// that an update has made, by which a reader notices that its read is stale.
type Mail interface {
	// Send announces a version to all readers.
	Send(ctx context.Context, version int64) error
	// Receive waits for a version after the given one, and returns the newest.
	Receive(ctx context.Context, after int64) (version int64, err error)
}

// ErrOvertaken is returned by Update if another client has updated the value: there must be one writer.
var ErrOvertaken = errors.New("another client has updated the value")

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "hiddenchannel",
		Summary:   "reads never go back; how many are stale is measured",
		Source:    "Junqueira and Reed, ZooKeeper, chapter 4 (Order of Reads)",
		Variants:  []variants.Variant{messageThenReadVariant(), syncThenReadVariant(), watchVariant()},
		Phases:    phases(),
		Operation: phaseUpdate,
		Workload: variants.Workload{
			Together:   true, // the hidden channel
			Collective: true,
			Size:       "updates that the writer makes in a row, without waiting for readers",
		},
		Events: []string{
			"begins to update", "has updated", "waits for an update", "hears of an update", "has read an update", "promises fresh reads",
		},
		Calls:       []variants.EventKind{writing},
		NewObserver: newObserver,
		Code:        code,
		Prepare: func(ctx context.Context, env variants.Env) error {
			return env.Session.Ensure(ctx, znode(env), numbered(0), 0)
		},
		Bound: variants.Bound{Phase: phasePropagation, Writes: "1", Reads: "(N-1)/S", Notifications: "0",
			Why: "An update is a write, and each reader must read once for S updates, as the message is not part of ZooKeeper and " +
				"costs it nothing"},
	}
}
