// Package watchload compares two ways to hold many watches: what they cost the servers that keep them, and how long it
// takes until all who watch have been told.
//
// The promise, to which both are held: whoever watches a topic when it is published is told, once, and nobody is told
// of what has not been published.
//
// Client 0 publishes, and watches like all others. With N clients that watch S topics each there are N·S watches. A
// server keeps one watch for each znode and connection, however often it is asked, so that one session cannot hold two
// on one znode:
//
//	variant          znodes                         to publish a topic              its largest herd
//	one-znode        <dir>/t-<topic>                1 write                         N
//	znode-per-watch  <dir>/t-<topic>-c-<client>     ⌈N/10⌉ multis of 10 sets each   10
//
// Which of them is naive depends on what one has to fear. One znode for all is cheaper in every respect but one: each
// publication wakes everybody who watches at once, in one transaction, while the server that fires them serves nobody
// else. That is the herd, and what makes it the naive one here. With a znode for each watch the publisher says how many
// are woken at a time, and could leave some out; but it takes more writes, a znode for each watch in the memory of every
// server, and more memory for the watch itself, because nothing about it is shared (see scenario watch-memory).
//
// A topic is published in one write, or a few, however many watch it: 100,000 watches of 100 clients are fired by 1,000
// writes or by 10,000 multis. A single multi for all is no way: a request may have 1 MB (jute.maxbuffer), which is
// some 15,000 sets, and would be one herd of all. Deleting the znodes one by one would take 100,000 transactions, and
// measure those.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run watch-delivery` holds them to it.
package watchload

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Group says who shares the topics.
type Group struct {
	Dir     string // an existing znode, the group's alone
	Clients int
	Client  int // which of them this is, from 0 on; 0 publishes
	Topics  int
}

// Feed is one client's view of the topics. All clients of a group must have opened theirs before the first publication.
// One goroutine at a time may use it. All methods return variants.ErrSessionLost when the session is gone, and return
// within about a second when their context ends, even if the server is silent.
type Feed interface {
	// Watch sets the client's watch on a topic, and returns how often the topic has been published before. It returns
	// ErrClosed while the client's server does not know yet that somebody publishes it.
	Watch(ctx context.Context, topic int) (published int, err error)
	// Changed waits until the topic has been published after Watch. When ctx ends first it may be called again.
	Changed(ctx context.Context, topic int) error
	// Publish tells everybody who watches the topic. Only client 0 may call it. After an error, and before any other
	// publication of the topic, it must be called again: that completes the one that failed.
	Publish(ctx context.Context, topic int) error
	// Close deletes the client's znodes. Whoever watches one of them is told ErrClosed.
	Close(ctx context.Context) error
}

// The errors that tell what is wrong with a topic.
var (
	// ErrClosed says that nobody publishes the topic, or not any more.
	ErrClosed = errors.New("the topic is closed")
	// ErrTaken says that the directory holds znodes of somebody else.
	ErrTaken = errors.New("the znodes belong to somebody else")
	// ErrNotWatched is returned by Changed for a topic without a watch.
	ErrNotWatched = errors.New("the topic is not watched")
	// ErrNotPublisher is returned by Publish to all but client 0.
	ErrNotPublisher = errors.New("only client 0 publishes")
)

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "watchload",
		Summary:     "whoever watches is told of each publication, once",
		Source:      "Junqueira and Reed, ZooKeeper, chapter 4, on the cost of watches",
		Variants:    []variants.Variant{oneZnodeVariant(), znodePerWatchVariant()},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseWatch,
		CountFrom:   variants.FromStart,
		Collective:  true,
		Size:        "topics that each client watches",
		Check:       check,
		CheckPrefix: checkPrefix,
		Code:        code,
	}
}
