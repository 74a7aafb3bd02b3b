package simulation_test

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// rewritten returns a variant whose clients send other transactions than it makes.
func rewritten(v variants.Variant, name, summary string, rewrite func(ops []any) []any) variants.Variant {
	return mistaken(v, name, summary, sending(rewrite))
}

// mistaken returns a variant whose clients work on a connection with a mistake.
func mistaken(v variants.Variant, name, summary string, mistake func(variants.Conn) variants.Conn) variants.Variant {
	join := v.Join
	v.Name, v.Kind, v.Summary = name, variants.Naive, summary
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		env.Session = env.Session.Through(mistake(env.Session.Conn()))
		return join(ctx, env)
	}
	return v
}

// named returns a variant of a recipe.
func named(r variants.Recipe, name string) variants.Variant {
	return r.Variants[slices.IndexFunc(r.Variants, func(v variants.Variant) bool { return v.Name == name })]
}
