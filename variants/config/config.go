// Package config compares ways to change and to read a configuration that is spread over several znodes.
//
// The promise: no reader ever acts on a torn configuration, which mixes the values of two updates, nor on an older one than
// before, nor on one that was replaced more than 20 seconds before it was asked for. All variants are held to it, except
// that [Unprotected] may tear configurations, to show what the others prevent. There must be one writer at a time; an election can
// decide which client that is.
//
// How to write, with K readers that wait for the change, S znodes:
//
//	variant       znodes                                  one update
//	unprotected   <dir>/m1 … m<S>                         S writes, KS notifications, KS reads; torn while it is written
//	invalid-flag  <dir>/m1 … m<S>, <dir>/invalid          S+2 writes, 2K notifications, K(S+2) reads
//	multi         <dir>/m1 … m<S>, <dir>/version          1 write, K notifications, K(S+1) reads
//
// How to read what one multi writes, with K readers who use it u times before it changes again:
//
//	variant        znodes                                 one update
//	read-through   <dir>/m1 … m<S>                        1 write, no notification, KuS reads
//	watched-cache  <dir>/m1 … m<S>, <dir>/version         1 write, K notifications, K(S+1) reads
//
// These are two recipes, [Recipe] and [ReadRecipe], because they are two workloads: a reader that waits for a change has
// to watch for it, and then may as well keep a copy. The optimized variant of both is [WatchedCache].
package config

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Configuration is one client's view of a configuration. Its methods may be called concurrently and then run one after
// another. When their context ends, they return within about a second even if the server is silent; operations that
// have begun are then completed in the background, and a later call waits for them. All return session.ErrSessionLost
// when the session is gone: a new session may read older values.
type Configuration interface {
	// Update changes all values. It calls prepare for the new ones as soon as the variant may write them; nothing is
	// changed if prepare fails. Once writing has begun it is finished even if ctx ends. After an error, the writer or
	// its successor updates again.
	Update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error
	// Read returns the values to act on, which must not be modified. They are of one update, except with [Unprotected].
	Read(ctx context.Context) ([][]byte, error)
	// Changed waits until the values that Read returned last have been, or are being, replaced.
	Changed(ctx context.Context) error
}

const sizeMeaning = "znodes of the configuration"

// Recipe returns the recipe for ways to write a configuration, with its variants, the naive one first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "config",
		Summary:   "a configuration in several znodes, never half changed",
		Source:    "Junqueira and Reed, ZooKeeper, chapter 4; ZooKeeper recipes page, Configuration",
		Variants:  []variants.Variant{unprotectedVariant(), invalidFlagVariant(), multiVariant()},
		Phases:    phases(),
		Operation: phaseUpdate,
		Workload: variants.Workload{
			Collective:  true,
			Roles:       []string{roleReader, roleWriter},
			Size:        sizeMeaning,
			DefaultSize: defaultZnodes,
		},
		Losses: []variants.Loss{variants.TornReads, variants.Blocked},
		Events: []string{
			"begins an update", "may write it", "has updated", "awaits an update", "uses its oldest value",
			"uses its newest value", "reads", "had to wait",
		},
		Calls:       []variants.EventKind{updating, writing},
		NewObserver: newObserver,
		Code:        code,
		Prepare:     prepare,
		Bound: variants.Bound{Phase: phasePropagation, Writes: "1", Reads: "N-1", Notifications: "N-1",
			Why: "An update is a write, of which each reader is notified; it must read the values, as a notification has no data"},
	}
}

// Create creates a configuration with its first values below an existing znode dir, in one transaction. If there is one
// already, it is left as it is.
func Create(ctx context.Context, s *session.Session, dir string, values [][]byte) error {
	ops := []any{&zk.CreateRequest{Path: path.Join(dir, versionName)}}
	for i, value := range values {
		ops = append(ops, &zk.CreateRequest{Path: path.Join(dir, valueName(i)), Data: value})
	}
	if _, _, err := s.Multi(ctx, ops...); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create a configuration in %s: %w", dir, err)
	}
	return nil
}

const (
	versionName = "version"
	flagName    = "invalid"
)

func valueName(i int) string { return fmt.Sprintf("m%d", i+1) }

// store gives access to the znodes of a configuration, and makes a [Configuration] of a variant's strategy, whose steps cannot be
// interrupted while the server is silent.
type store struct {
	session  *session.Session
	dir      string
	znodes   int
	strategy strategy
}

type strategy struct {
	update  func(context.Context, func(context.Context) ([][]byte, error)) error
	read    func(context.Context) ([][]byte, error)
	changed func(context.Context) error
}

func (s store) Update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	return s.session.DoWhileAlive(ctx, func(ctx context.Context) error { return s.strategy.update(ctx, prepare) }, nil)
}

func (s store) Read(ctx context.Context) ([][]byte, error) {
	return session.RunWhileAlive(ctx, s.session, s.strategy.read, nil)
}

func (s store) Changed(ctx context.Context) error {
	return s.session.DoWhileAlive(ctx, s.strategy.changed, nil)
}

func newStore(s *session.Session, dir string, znodes int) store {
	return store{session: s, dir: path.Clean(dir), znodes: znodes} // a trailing slash would make dir a path that no server accepts
}

// values reads all znodes, one after another: between two reads anything may happen.
func (s store) values(ctx context.Context) (values [][]byte, err error) {
	values = make([][]byte, s.znodes)
	for i := range values {
		if values[i], _, err = s.value(ctx, i); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (s store) value(ctx context.Context, i int) (value []byte, transaction int64, err error) {
	value, stat, err := s.session.Get(ctx, path.Join(s.dir, valueName(i)))
	if err != nil {
		return nil, 0, fmt.Errorf("read the configuration: %w", err)
	}
	return value, stat.Mzxid, nil
}

func (s store) set(ctx context.Context, values [][]byte) error {
	for i, value := range values {
		if _, err := s.session.Set(ctx, path.Join(s.dir, valueName(i)), value, -1); err != nil {
			return fmt.Errorf("set %s: %w", valueName(i), err)
		}
	}
	return nil
}

func (s store) prepared(ctx context.Context, prepare func(context.Context) ([][]byte, error)) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values, err := prepare(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("prepare the configuration: %w", err)
	case len(values) != s.znodes:
		return nil, fmt.Errorf("%d values for a configuration of %d znodes", len(values), s.znodes)
	default:
		return values, ctx.Err()
	}
}

// copied is a copy of the values that is used until a watch fires.
type copied struct {
	values [][]byte
	watch  *session.Watch
}

func (c *copied) current() bool { return c.values != nil && !c.watch.Fired() }

func (c *copied) await(ctx context.Context, s *session.Session) error {
	if c.values == nil {
		return nil
	}
	err := s.Await(ctx, c.watch)
	if err == nil {
		c.values = nil
	}
	return err
}
