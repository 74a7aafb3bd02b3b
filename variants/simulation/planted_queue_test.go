package simulation_test

import (
	"bytes"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// unmarked leaves the markers of a producer out of its transactions: it may enqueue an item twice.
func unmarked(op any) any {
	var path string
	switch o := op.(type) {
	case *zk.CreateRequest:
		path = o.Path
	case *zk.DeleteRequest:
		path = o.Path
	}
	if strings.Contains(path, "/markers/") {
		return nil
	}
	return op
}

// persistentClaim makes claims persistent: no client takes an item whose taker has died.
func persistentClaim(op any) any {
	if c, ok := op.(*zk.CreateRequest); ok && c.Flags == zk.FlagEphemeral {
		lasting := *c
		lasting.Flags = 0
		return &lasting
	}
	return op
}

// markKept keeps the marks that a client would remove: no client takes an item whose taker has died.
func markKept(op any) any {
	if s, ok := op.(*zk.SetDataRequest); ok && bytes.HasPrefix(s.Data, []byte("\n")) {
		return &zk.CheckVersionRequest{Path: s.Path, Version: s.Version}
	}
	return op
}

// unmoved leaves the items of dead consumers where they are, and counts them as moved.
func unmoved(ops []any) []any {
	if len(ops) != 3 {
		return ops
	}
	_, deletes := ops[1].(*zk.DeleteRequest)
	if _, creates := ops[2].(*zk.CreateRequest); deletes && creates {
		return ops[:1]
	}
	return ops
}

// lonely is a connection that shows no tickets: a client takes each item before its own for an orphan.
type lonely struct{ session.Conn }

func (l lonely) Children(dir string) ([]string, *zk.Stat, error) {
	names, stat, err := l.Conn.Children(dir)
	if path.Base(dir) == "tickets" {
		names = nil
	}
	return names, stat, err
}
