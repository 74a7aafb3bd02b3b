// Package config compares ways to change and to read a configuration that is spread over several znodes.
//
// The promise, to which all are held: no reader ever acts on a torn configuration, which mixes the values of two
// updates, nor on one older than it has acted on before. One writer at a time is assumed; which client that is, an
// election decides.
//
// How to write, with K readers who wait for the change, m znodes:
//
//	variant       znodes                                  one update
//	invalid-flag  <dir>/m1 … m<m>, <dir>/invalid          m+2 writes, 2K notifications, K(m+2) reads
//	multi         <dir>/m1 … m<m>, <dir>/version          1 write, K notifications, K(m+1) reads
//
// How to read what one multi writes, with K readers who use it u times before it changes again:
//
//	variant        znodes                                 one update
//	read-through   <dir>/m1 … m<m>                        1 write, no notification, Kum reads
//	watched-cache  <dir>/m1 … m<m>, <dir>/version         1 write, K notifications, K(m+1) reads
//
// These are two recipes, [Recipe] and [ReadRecipe], because they are two workloads: who waits for a change has to watch
// for it, and then may as well keep a copy. What comes out best is one type, [WatchedCache], in both. Each variant's own
// comment has the steps and the exact formulas; `zkbench run config-update config-read` holds them to it.
package config

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Configuration is one client's view of a configuration. Its methods may be called concurrently and then run one after
// another. When their context ends, they return within about a second even if the server is silent; what they have begun
// is then brought to an end behind the caller's back, and a later call waits for it. All return variants.ErrSessionLost
// when the session is gone: what a new session reads may be older.
type Configuration interface {
	// Update changes all values. It calls prepare for the new ones as soon as the algorithm allows for them to be
	// written; nothing is changed if prepare fails. Once writing has begun it is finished even if ctx ends. After an
	// error, the writer or its successor updates again.
	Update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error
	// Read returns the values to act on, which must not be modified. They are of one update.
	Read(ctx context.Context) ([][]byte, error)
	// Changed waits until the values that Read returned last have been, or are being, replaced.
	Changed(ctx context.Context) error
}

// Recipe returns the recipe about how to write a configuration, with its variants, the naive one first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "config",
		Summary:     "a configuration in several znodes, never half changed",
		Source:      "Junqueira and Reed, ZooKeeper, chapter 4; ZooKeeper recipes page, Configuration",
		Variants:    []variants.Variant{invalidFlagVariant(), multiVariant()},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseUpdate,
		CountFrom:   variants.FromStart,
		Collective:  true,
		Check:       check,
		CheckPrefix: check,
		Code:        code,
	}
}

// Create creates a configuration with its first values below an existing znode dir, at once. One that is there already
// is left as it is.
func Create(ctx context.Context, session variants.Session, dir string, values [][]byte) error {
	ops := []any{&zk.CreateRequest{Path: path.Join(dir, versionName), Acl: variants.WorldACL()}}
	for i, value := range values {
		ops = append(ops, &zk.CreateRequest{Path: path.Join(dir, valueName(i)), Data: value, Acl: variants.WorldACL()})
	}
	err := variants.Retry(ctx, nil, func() error {
		_, err := session.Multi(ops...)
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create a configuration in %s: %w", dir, err)
	}
	return nil
}

// The names of the znodes.
const (
	versionName = "version"
	flagName    = "invalid"
)

func valueName(i int) string { return fmt.Sprintf("m%d", i+1) }

// store is where a configuration stands: dir has so many znodes with values.
type store struct {
	session variants.Session
	lost    <-chan struct{}
	dir     string
	znodes  int
}

func newStore(session variants.Session, dir string, znodes int, lost <-chan struct{}) store {
	return store{session, lost, path.Clean(dir), znodes} // a trailing slash would make dir a path that no server accepts
}

// values reads all znodes, one after another: between two reads anything may happen.
func (s store) values(ctx context.Context) ([][]byte, error) {
	values := make([][]byte, s.znodes)
	for i := range values {
		err := variants.Retry(ctx, s.lost, func() error {
			var err error
			values[i], _, err = s.session.Get(path.Join(s.dir, valueName(i)))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
	}
	return values, nil
}

// prepared returns what prepare does, if that is a value for each znode.
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

// serial makes a Configuration of a variant's steps, which cannot be interrupted while the server is silent.
type serial struct {
	lane  variants.Lane
	over  <-chan struct{} // closed when the session is lost
	steps steps
}

// steps are what the variants differ in.
type steps struct {
	update  func(context.Context, func(context.Context) ([][]byte, error)) error
	read    func(context.Context) ([][]byte, error)
	changed func(context.Context) error
}

func newSerial(lost <-chan struct{}, s steps) serial { return serial{variants.NewLane(), lost, s} }

// Update implements [Configuration].
func (s serial) Update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	return s.run(ctx, func(ctx context.Context) error { return s.steps.update(ctx, prepare) })
}

// Read implements [Configuration].
func (s serial) Read(ctx context.Context) ([][]byte, error) {
	return variants.Run(ctx, s.lane, func(ctx context.Context) ([][]byte, error) {
		values, err := s.steps.read(ctx)
		if err == nil {
			err = variants.Alive(s.over)
		}
		return values, err
	}, func([][]byte) {})
}

// Changed implements [Configuration].
func (s serial) Changed(ctx context.Context) error { return s.run(ctx, s.steps.changed) }

func (s serial) run(ctx context.Context, step func(context.Context) error) error {
	return variants.Do(ctx, s.lane, func(ctx context.Context) error {
		if err := step(ctx); err != nil {
			return err
		}
		return variants.Alive(s.over)
	}, nil)
}
