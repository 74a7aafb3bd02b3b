package config

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// phaseRead is one use of the configuration: what it takes to have the values.
const phaseRead = "read"

// ReadRecipe returns the recipe about how to read a configuration, with its variants, the naive one first. Both write in
// one multi. Other than in [Recipe], readers do not wait for updates but use, now and then, what there is; that is why
// all notifications count as useless wake-ups.
func ReadRecipe() variants.Recipe {
	return variants.Recipe{
		Name:     "configread",
		Summary:  "a configuration at hand, never half changed",
		Source:   "Junqueira and Reed, ZooKeeper, chapters 2 and 4",
		Variants: []variants.Variant{readThroughVariant(), watchedCacheVariant()},
		Phases: []variants.Phase{
			{Name: phaseRead, Meaning: "from when a reader asks for the values until it acts on them"},
			{Name: phaseUpdate, Meaning: "from just before the writer sends new values to the reply", Floor: variants.FloorWrite},
		},
		Spans:       readSpans,
		Operation:   phaseUpdate,
		CountFrom:   variants.FromStart,
		Check:       check,
		CheckPrefix: check,
		Code:        code,
	}
}

// joinReading makes a variant's Join out of its constructor. The first participant writes: in a lockstep run all others
// have a copy by then, and use the configuration after it. Of those, the first uses it once in each step, the second
// twice, and so on: the number of clients is, but for a factor, that of uses for each update.
func joinReading(open func(variants.Session, variants.Env) Configuration) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		c := open(s, env)
		if env.Index == 0 {
			return &occasionalWriter{writer{config: c, env: env}}, nil
		}
		u := &user{reader{config: c, env: env}}
		return u, u.use(ctx)
	}
}

// occasionalWriter changes the configuration once in each step, when nobody expects it.
type occasionalWriter struct{ writer }

var _ variants.Participant = (*occasionalWriter)(nil)

// Step implements [variants.Participant].
func (w *occasionalWriter) Step(ctx context.Context) error {
	if err := w.env.Hold(ctx, w.env.Lost); err != nil {
		return err
	}
	return w.write(ctx, func(context.Context) error { return nil })
}

// user uses the configuration several times in each step, whether it has changed or not.
type user struct{ reader }

var _ variants.Participant = (*user)(nil)

// Step implements [variants.Participant].
func (u *user) Step(ctx context.Context) error {
	if err := u.env.Hold(ctx, u.env.Lost); err != nil {
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

func readSpans(h variants.History) []variants.Span {
	return append(h.Between(phaseUpdate, updating, updated), h.Between(phaseRead, reading, used)...)
}
