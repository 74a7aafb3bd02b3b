// Package treecache compares ways in which clients that keep a copy of a whole tree of znodes recover when their
// connections have been lost and made again.
//
// Each client has the data of every znode of the tree at hand. It has a watch on the data of each, and one on the
// children of each that may have children. A notification says what to read again. The promise of all variants: a copy
// never shows a change that was not made, nor older data of a znode than it has shown; it shows each change at the latest
// 20 seconds after it was acknowledged, unless the client is cut off or has not caught up since; and when the load has
// come to rest, it is the tree.
//
// As long as all connections hold, the variants do the same: a znode's new data costs a client one notification and one
// read, a znode that replaces another costs it two notifications and two reads. They differ in what they do after a
// reconnect, with N clients that cache a tree of Z znodes, p of them parents, of which d have changed meanwhile:
//
//	variant           reads after a reconnect of all clients   when
//	full-reload       (Z+p)·N                                  at once
//	resumed-watches   about d·N, and a few syncs               at once
//	jittered-reload   (Z+p)·N                                  spread over 5 seconds
//
// The reads after a reconnect can bring an ensemble down. When the leader changes, all clients are cut off and come
// back at the same moment. If each then reads the whole tree, the servers are so busy that sessions run out, and
// clients with a new session have to read the whole tree. In an ensemble with 200 such caches of 5,000 znodes, reads
// went from 600 to 30,000 a second whenever a leader was elected (python-zk/kazoo issue 664). At Elastic Cloud on 18
// January 2019, reloads and lost sessions kept each other going for three hours.
//
// A client whose session is lost has no watches at the servers any more, and reads the whole tree with each variant.
package treecache

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Cache is one client's copy of a tree of znodes. One goroutine at a time may use it. Its methods return within about a second
// when their context ends, even if the server is silent, and return session.ErrSessionLost when the session is gone: the caller
// then closes the cache's session and makes a new cache with a new one.
type Cache interface {
	// Load reads the whole tree. It is called first, and again if it has failed.
	Load(ctx context.Context) error
	// Changed waits until Refresh has something to do, or State has changed.
	Changed(ctx context.Context) error
	// Refresh reads the changes. It costs no request if nothing is known to have changed.
	Refresh(ctx context.Context) error
	// State returns how up to date the copy is, as of the last call of another method.
	State() State
}

// Tree describes the tree to copy.
type Tree struct {
	Root  string // an existing znode
	Depth int    // how far below the root the znodes are that have no children, and so need no watch on them; deeper ones are left out
}

// State is how up to date a copy is.
type State int

// The states.
const (
	Current   State = iota // it has what the session's server has, except for changes whose notifications are under way
	CutOff                 // the connection is lost
	Restoring              // the connection is made again, and the copy may lack changes made meanwhile
)

// Listener is called for each znode that is new in the copy, has other data there, or has gone from it, and when the cache notices
// that the connection is lost or made again, also while it reads. It is called by one goroutine at a time, and must not call the
// cache.
type Listener func(Update)

// Update is a change of a znode of the copy, or of the connection.
type Update struct {
	Kind  UpdateKind
	Path  string // of the znode
	Data  []byte // nil for a znode that has gone; it must not be modified
	State State  // of the copy from now on; CutOff or Restoring for the connection
}

// UpdateKind is a kind of update.
type UpdateKind int

// The kinds of updates.
const (
	Added UpdateKind = iota
	Changed
	Removed
	Connection // it is lost or made again
)

// ErrNoTree says that the root of the tree does not exist.
var ErrNoTree = errors.New("the root of the tree does not exist")

// Recipe returns the recipe with its variants, the naive one first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "treecache",
		Summary:   "every client has a copy of a whole tree of znodes, also after reconnects",
		Source:    "Apache Curator, TreeCache; python-zk/kazoo issue 664; CURATOR-441",
		Variants:  []variants.Variant{fullReloadVariant(), resumedWatchesVariant(), jitteredReloadVariant()},
		Phases:    phases(),
		Operation: phaseChange,
		Workload: variants.Workload{
			Batch:      changesPerStep,
			Collective: true,
			Size:       "leaves of the tree that each client caches; there is a parent for every 50 of them",
			Roles:      []string{roleWriter, roleCache},
		},
		NewObserver: newObserver,
		Code:        code,
		Prepare:     prepare,
		Calls:       []variants.EventKind{changing},
		Events: []string{
			"begins to load the tree", "begins to make a change", "has made it", "waits for changes", "shows a change", "has updated its copy",
			"notices that its connection is lost", "notices that it is connected again", "has everything again",
		},
		Bound: variants.Bound{Phase: phaseRefresh, Writes: "1", Reads: "N-1", Notifications: "N-1",
			Why: "A change is a write, of which each copy is notified; it must read the znode, as a notification has no data"},
	}
}
