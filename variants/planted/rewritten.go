package planted

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// rewriting is a connection that changes transactions before they are sent.
type rewriting struct {
	variants.Conn
	rewrite func(ops []any) []any
}

// Multi implements [variants.Conn].
func (r rewriting) Multi(ops ...any) ([]zk.MultiResponse, error) {
	return r.Conn.Multi(r.rewrite(slices.Clone(ops))...)
}

// rewritten returns a variant whose clients send other transactions than it makes.
func rewritten(v variants.Variant, name, summary string, rewrite func(ops []any) []any) variants.Variant {
	join := v.Join
	v.Name, v.Kind, v.Summary = name, variants.Naive, summary
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		env.Session = variants.NewSession(rewriting{env.Session.Conn(), rewrite}, env.Session.Lost())
		return join(ctx, env)
	}
	return v
}
