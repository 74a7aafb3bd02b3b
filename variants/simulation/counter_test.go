package simulation_test

import (
	"context"
	"errors"
	"path"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/simulation"
)

// counter gives each client numbers that no other one is given.
type counter struct{ env variants.Env }

const drawn variants.EventKind = 0 // the value is the number

func (c counter) Step(ctx context.Context) error {
	znode := path.Join(c.env.Root, "counter")
	for {
		data, stat, err := c.env.Session.Get(ctx, znode)
		if err != nil {
			return err
		}
		last, _ := strconv.ParseInt(string(data), 10, 64)
		_, err = c.env.Session.Set(ctx, znode, strconv.AppendInt(nil, last+1, 10), stat.Version)
		if errors.Is(err, zk.ErrBadVersion) {
			continue // another client was faster, or the reply to an earlier attempt was lost
		}
		if err == nil {
			c.env.Record(drawn, last+1)
		}
		return err
	}
}

func (c counter) Leave(context.Context) error { return nil }

func recipe() variants.Recipe {
	return variants.Recipe{
		Name:   "counter",
		Events: []string{"draws"},
		Prepare: func(ctx context.Context, env variants.Env) error {
			return env.Session.Ensure(ctx, path.Join(env.Root, "counter"), nil, 0)
		},
		Variants: []variants.Variant{{
			Name: "compare-and-set",
			Join: func(_ context.Context, env variants.Env) (variants.Participant, error) { return counter{env}, nil },
		}},
		NewObserver: func(out variants.Findings) variants.Observer {
			owner := map[int64]int{}
			return variants.ObserverFunc(func(e variants.Event) {
				if e.Kind != drawn { // such as that of a client that joins again
					return
				}
				if other, taken := owner[e.Value]; taken {
					out.Breach(e, "clients %d and %d have drawn number %d", other, e.Client, e.Value)
				}
				owner[e.Value] = e.Client
			})
		},
	}
}

func TestCounter(t *testing.T) { simulation.Run(t, recipe, simulation.Options{Seeds: 50}) }
