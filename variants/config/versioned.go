package config

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// ErrForeign reports that something other than an update has written to the configuration, which is torn until the next
// update.
var ErrForeign = errors.New("the configuration was changed by something other than an update")

// versioned is shared by the variants with a version znode: they write alike, and differ in how they read.
type versioned struct{ store }

func (v versioned) path() string { return path.Join(v.dir, versionName) }

// update changes everything in one transaction. If it takes effect twice, after a lost reply, readers read the same values
// once more.
func (v versioned) update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	values, err := v.prepared(ctx, prepare)
	if err != nil {
		return err
	}
	ops := []any{&zk.SetDataRequest{Path: v.path(), Version: -1}}
	for i, value := range values {
		ops = append(ops, &zk.SetDataRequest{Path: path.Join(v.dir, valueName(i)), Data: value, Version: -1})
	}
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	_, _, err = v.session.Multi(ctx, ops...)
	return session.Attempted("change the configuration", err)
}

// whole returns the values of one update, and the transaction that made it, which is since or a later one.
//
// It reads the znodes in turn until as many reads in a row as there are znodes show the same transaction. Every update
// writes all of them, and a session never reads a state older than one that it has read before. So a value whose
// transaction is older than the last one was not written by an update.
func (v versioned) whole(ctx context.Context, since int64) ([][]byte, int64, error) {
	values := make([][]byte, v.znodes)
	newest, alike := since, 0
	for i := 0; alike < v.znodes; i = (i + 1) % v.znodes {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		value, transaction, err := v.value(ctx, i)
		switch {
		case err != nil:
			return nil, 0, err
		case transaction < newest:
			return nil, 0, fmt.Errorf("read %s: %w", valueName(i), ErrForeign)
		case transaction > newest:
			newest, alike = transaction, 0
		}
		values[i] = value
		alike++
	}
	return values, newest, nil
}

func (v versioned) version(ctx context.Context) (int64, *session.Watch, error) {
	_, stat, watch, err := v.session.GetW(ctx, v.path())
	if err != nil {
		return 0, nil, fmt.Errorf("read the version: %w", err)
	}
	return stat.Mzxid, watch, nil
}
