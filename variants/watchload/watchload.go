// Package watchload compares two ways to hold many watches: what they cost the servers that keep them, and how long it
// takes until all clients that watch have been notified.
//
// The promise of both variants: a client that watches a topic when it is published is notified, once, and no client is
// notified of a publication that has not been made.
//
// Client 0 publishes, and watches like all others. With N clients that watch S topics each there are N·S watches. A
// server keeps one watch for each znode and connection, however often it is set, so that one session cannot hold two
// on one znode:
//
//	variant          znodes                         to publish a topic              its largest herd
//	one-znode        <dir>/t-<topic>                1 write                         N
//	znode-per-watch  <dir>/t-<topic>-c-<client>     ⌈N/10⌉ multis of 10 sets each   10
//
// Which of them is naive depends on what an application has to avoid. One znode for all is cheaper in every respect but
// one: each publication notifies all clients at once, in one transaction, and the server that fires the watches serves no
// other request meanwhile. That is the herd, and makes it the naive one here. With a znode for each watch the publisher
// decides how many clients are notified at a time, and could leave some out. But it takes more writes, a znode for each
// watch in the memory of every server, and more memory for the watch itself, because nothing about it is shared (see
// scenario watch-memory).
//
// A topic is published in one write, or a few, however many clients watch it: 100,000 watches of 100 clients are fired by
// 1,000 writes or by 10,000 multis. A single multi for all is not possible: a request may have 1 MB (jute.maxbuffer),
// which is some 15,000 sets, and would be one herd of all. Deleting the znodes one by one would take 100,000 transactions,
// and measure those.
package watchload

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Group says which clients share the topics.
type Group struct {
	Dir     string // an existing znode, the group's alone
	Clients int
	Client  int // which of them this is, from 0 on; 0 publishes
	Topics  int
}

// Feed is one client's view of the topics. All clients of a group must have opened theirs before the first publication, so that
// none can join again.
// One goroutine at a time may use it. All methods return session.ErrSessionLost when the session is gone, and return
// within about a second when their context ends, even if the server is silent.
type Feed interface {
	// Watch sets the client's watch on a topic, and returns how often the topic has been published before. It returns
	// ErrClosed if the client's server does not know that the topic has a publisher.
	Watch(ctx context.Context, topic int) (published int, err error)
	// Changed waits until the topic has been published after Watch. When ctx ends first it may be called again.
	Changed(ctx context.Context, topic int) error
	// Publish notifies all clients that watch the topic. Only client 0 may call it. After an error, and before any other
	// publication of the topic, it must be called again: that completes the one that failed.
	Publish(ctx context.Context, topic int) error
	// Close deletes the client's znodes. A Changed of a client that watches one of them returns ErrClosed.
	Close(ctx context.Context) error
}

// The errors of a feed.
var (
	// ErrClosed says that the topic has no publisher, or not any more.
	ErrClosed = errors.New("the topic is closed")
	// ErrTaken says that the directory holds znodes of another session.
	ErrTaken = errors.New("the znodes belong to another session")
	// ErrNotWatched is returned by Changed for a topic without a watch.
	ErrNotWatched = errors.New("the topic is not watched")
	// ErrNotPublisher is returned by Publish to all but client 0.
	ErrNotPublisher = errors.New("only client 0 publishes")
)

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "watchload",
		Summary:   "a client that watches is notified of each publication, once",
		Source:    "Junqueira and Reed, ZooKeeper, chapter 4, on the cost of watches",
		Variants:  []variants.Variant{oneZnodeVariant(), znodePerWatchVariant()},
		Phases:    phases(),
		Operation: phaseWatch,
		Workload: variants.Workload{
			Collective:  true,
			Fixed:       true,
			Size:        "topics that each client watches",
			SizeIsBatch: true,
		},
		Events: []string{
			"asks for a watch", "has the watch", "comes too late", "publishes", "has published", "sees its watch fire", "gives up",
		},
		Calls:       []variants.EventKind{publishing},
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: phaseDelivery, Writes: "1/N", Reads: "1", Notifications: "1",
			Why: "A watch is set by a read and fires with a notification, and one write may fire those of all N clients"},
	}
}
