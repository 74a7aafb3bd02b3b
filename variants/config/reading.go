package config

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// ReadRecipe returns the recipe for ways to read a configuration, with its variants, the naive one first. It covers the
// name service, too, which the recipes page names beside the configuration as "provided directly by the ZooKeeper API":
// a name is a znode, a lookup is a read, and a client that looks up the same names often keeps copies of them until a
// watch fires. A size of 1 is one name. A configuration adds lookups of several names at once, from one update. Both
// variants write in one multi. Unlike in [Recipe], readers do not wait for updates but use the current values now and
// then. So all notifications count as spurious wake-ups.
func ReadRecipe() variants.Recipe {
	return variants.Recipe{
		Name:     "configread",
		Summary:  "a configuration or a name at hand, never half changed",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4; ZooKeeper recipes page, Name Service and Configuration",
		Variants: []variants.Variant{readThroughVariant(), watchedCacheVariant()},
		Phases: []variants.Phase{
			{Name: "read", From: reading, To: used, Meaning: "from when a reader asks for the values until it acts on them"},
			{Name: phaseUpdate, From: updating, To: updated, Floor: variants.FloorWrite,
				Meaning: "from just before the writer sends new values to the reply"},
		},
		Operation: phaseUpdate,
		Workload: variants.Workload{
			Roles:       []string{roleReader, roleWriter},
			Size:        sizeMeaning,
			DefaultSize: defaultZnodes,
			Unpaced:     true,
		},
		Losses: []variants.Loss{variants.TornReads},
		Events: Recipe().Events,
		Calls:  Recipe().Calls,
		NewObserver: func(out variants.Findings) variants.Observer {
			return append(out.Timed(ReadRecipe().Phases), newUses(out))
		},
		Code:    code,
		Prepare: prepare,
		Bound: variants.Bound{Phase: phaseUpdate, Writes: "1", Reads: "N-1", Notifications: "0",
			Why: "An update is a write, and each reader must read the new values once; one that reads for each use needs no notification"},
	}
}

// The first participant of joinReading writes: in a lockstep run all others have a copy by then, and use the
// configuration after it. Of the readers, the first uses it once in each step, the second twice, and so on: the number
// of uses for each update is proportional to the number of clients.
func joinReading(open func(variants.Env) Configuration) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		if env.Index == 0 {
			w, err := newWriter(ctx, open(env), env)
			return &occasionalWriter{w}, err
		}
		u := &user{reader{config: open(env), env: env}}
		return u, u.use(ctx)
	}
}

// occasionalWriter changes the configuration once in each step. No reader waits for it.
type occasionalWriter struct{ writer }

func (w *occasionalWriter) Step(ctx context.Context) error {
	if err := w.env.Hold(ctx, nil); err != nil {
		return err
	}
	return w.write(ctx, func(context.Context) error { return nil })
}

// user uses the configuration several times in each step, whether it has changed or not.
type user struct{ reader }

func (u *user) Step(ctx context.Context) error {
	if err := u.env.Hold(ctx, nil); err != nil {
		return err
	}
	for range u.env.Index {
		u.env.Record(reading, 0)
		if err := u.use(ctx); err != nil {
			return fmt.Errorf("use: %w", err)
		}
	}
	return nil
}
