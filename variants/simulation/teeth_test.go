package simulation_test

import (
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/doublebarrier"
	"github.com/zkbench/zkbench/variants/enqueue"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/simulation"
	"github.com/zkbench/zkbench/variants/treecache"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// mistake is a variant that is broken on purpose, or was once.
type mistake struct {
	name    string
	recipe  func() variants.Recipe
	variant func() variants.Variant
}

func named(r variants.Recipe, name string) variants.Variant {
	return r.Variants[slices.IndexFunc(r.Variants, func(v variants.Variant) bool { return v.Name == name })]
}

// in returns a recipe's variant whose clients see their session through a mistake.
func in(recipe func() variants.Recipe, variant string, see func(context.Context, *session.Session) *session.Session) func() variants.Variant {
	return func() variants.Variant {
		v := named(recipe(), variant)
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			seen := see(ctx, env.Session)
			env.Session, env.Dial = seen, func(context.Context) (*session.Session, func(), error) { return seen.Fork(), func() {}, nil }
			return join(ctx, env)
		}
		return v
	}
}

// on returns a recipe's variant whose clients have a connection with a mistake.
func on(recipe func() variants.Recipe, variant string, mistaken func(session.Conn) session.Conn) func() variants.Variant {
	return in(recipe, variant, func(_ context.Context, s *session.Session) *session.Session { return s.Through(mistaken(s.Conn())) })
}

// mistakes returns the mistakes that the simulator must find. The last ones were faults of zkbench once.
func mistakes() []mistake {
	return slices.Concat(lockMistakes(), queueMistakes(), serverMistakes(), []mistake{
		{"persistent locks", lock.Recipe, on(lock.Recipe, "predecessor-watch", func(c session.Conn) session.Conn { return persistent{c} })},
		{"deaf successors", lock.Recipe, on(lock.Recipe, "predecessor-watch", func(c session.Conn) session.Conn { return announced{c} })},
		{"undying holders", lock.Recipe, undyingHolders},
		{"stale tokens", lock.Recipe, staleTokens},
		{"items without markers", enqueue.Recipe, on(enqueue.Recipe, "guid-marker", changed(unmarked))},
		{"claims that last", queue.Recipe, on(queue.Recipe, "multi-claim", changed(persistentClaim))},
		{"repeated writes", queue.Recipe, on(queue.Recipe, "list-and-delete", sending(repeated))},
		{"marks that last", queue.Recipe, on(queue.Recipe, "mark-and-requeue", changed(markKept))},
		{"forgotten workers", masterworker.Recipe, on(masterworker.Recipe, "multi", func(c session.Conn) session.Conn { return &forgetful{Conn: c} })},
		{"trusted watches", doublebarrier.Recipe, in(doublebarrier.Recipe, "counted", func(_ context.Context, s *session.Session) *session.Session {
			return Trusting(s)
		})},
		{"outages learned late", treecache.Recipe, in(treecache.Recipe, "resumed-watches", late)},
		{"former requests", twophasecommit.Recipe, on(twophasecommit.Recipe, "coordinator-ephemeral", func(c session.Conn) session.Conn {
			return Unexpecting{Conn: c}
		})},
	})
}

func late(ctx context.Context, s *session.Session) *session.Session {
	l, err := Late(ctx, s)
	if err != nil {
		panic(err)
	}
	return l
}

// bases is the number of first seeds from which each mistake is looked for. More of them give a median.
var bases = flag.Int("bases", 1, "first seeds from which each mistake is looked for")

// mostSeeds is the number of seeds within which a mistake must be found.
const mostSeeds = 1000

// Each mistake is found within mostSeeds.
func TestMistakesAreFound(t *testing.T) {
	slow(t)
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			var seeds []int
			var last simulation.Finding
			for base := range uint64(*bases) {
				n, finding := m.find(t, base*mostSeeds)
				if n > mostSeeds {
					t.Errorf("it was not found in %d seeds from %d on", mostSeeds, base*mostSeeds)
				}
				seeds, last = append(seeds, n), finding
			}
			slices.Sort(seeds)
			t.Logf("seeds %v, median %d: %.150v", seeds, seeds[len(seeds)/2], last)
		})
	}
}

// alone returns the recipe with the mistake as its only variant.
func (m mistake) alone() func() variants.Recipe {
	return func() variants.Recipe {
		r := m.recipe()
		r.Variants = []variants.Variant{m.variant()}
		return r
	}
}

// find returns how many seeds it takes to find the mistake, and what was found.
func (m mistake) find(t *testing.T, from uint64) (seeds int, found simulation.Finding) {
	t.Helper()
	recipe := m.alone()
	r := recipe()
	for n := range mostSeeds {
		if out := simulation.Play(t, recipe, simulation.NewPlan(r, r.Variants[0], from+uint64(n))); out.Fails() {
			return n + 1, out.Findings[0]
		}
	}
	return mostSeeds + 1, simulation.Finding{}
}
