package simulation

import (
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// usualLatency is the average latency of a message, unless its client is far away.
const usualLatency = Duration(200 * time.Microsecond)

// tick is the servers' unit of session timeouts.
const tick = 500 * time.Millisecond

// NewPlan makes a plan from a seed. It is a pure function. Each seed leaves out some kinds of fault altogether, and has
// its own number of faults: faults that every run has hide those that few have (swarm testing). In one plan of three,
// each fault is a lost reply, and something else that happens while the client finds out whether its request took
// effect.
func NewPlan(recipe variants.Recipe, variant variants.Variant, seed uint64) Plan {
	name := fnv.New64()
	_, _ = name.Write([]byte(recipe.Name + "/" + variant.Name))
	r := generator{rand.New(rand.NewPCG(seed, name.Sum64()))} //nolint:gosec // to be repeated
	p := Plan{
		Recipe: recipe.Name, Variant: variant.Name, Seed: seed,
		Clients: 2 + r.IntN(4), Steps: r.skewed(1, 25), Session: Duration(2+r.IntN(19)) * Duration(tick),
	}
	if recipe.IsFixed(variant) {
		p.Session = Duration(20 * tick)
	}
	p.Hold = []Duration{0, Duration(8 * time.Millisecond), p.Session / 2}[r.IntN(3)]
	p.Latency = r.latencies(p.Clients)
	p.Beside = []Duration{0, p.Session/40 + r.upTo(time.Duration(p.Session)/10)}[min(1, r.IntN(4))]
	p.Rewatch = []Duration{0, Duration(session.RewatchPause)}[min(1, r.IntN(4))]
	p.Lag, p.Expiry = r.lags(), []Duration{0, r.upTo(tick)}[r.IntN(2)]
	if r.IntN(20) == 0 {
		return p
	}
	applicable := slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return traits()[k].ends && recipe.IsFixed(variant) || k == Ignore && !recipe.Revocable || traits()[k].several && len(p.Lag) < 2
	})
	kinds := slices.DeleteFunc(applicable, func(Kind) bool { return r.IntN(2) == 0 })
	if len(kinds) == 0 {
		return p
	}
	double := r.IntN(3) == 0
	second := kinds[r.IntN(len(kinds))]
	for range r.skewed(1, 16) {
		if !double {
			p.Faults = append(p.Faults, r.fault(kinds[r.IntN(len(kinds))], recipe, variant, p))
			continue
		}
		lost := r.fault(DropAfter, recipe, variant, p)
		next := r.fault(second, recipe, variant, p)
		next.Client, next.After, next.Delay, next.Then = lost.Client, r.IntN(5), r.upTo(500*time.Microsecond), true
		p.Faults = append(p.Faults, lost, next)
	}
	return p
}

type generator struct{ *rand.Rand }

// skewed returns a number from low to high, half of them below the geometric mean.
func (r generator) skewed(low, high float64) int {
	return int(low * math.Pow((high+1)/low, r.Float64()))
}

// upTo returns a time below d, to the nanosecond, so that hardly anything happens at the same instant.
func (r generator) upTo(d time.Duration) Duration { return Duration(1 + r.Int64N(int64(d))) }

// latencies are about the same for all clients, or one client is far away.
func (r generator) latencies(clients int) []Duration {
	out := slices.Repeat([]Duration{usualLatency}, clients)
	if r.IntN(4) == 0 {
		out[r.IntN(clients)] = Duration(20 * time.Millisecond)
	}
	return out
}

// lags returns nil, for one server, in half of the plans. Several servers lag by nothing, for a moment, or, mostly, for
// long.
func (r generator) lags() []Duration {
	var out []Duration
	most := []time.Duration{1, 5 * time.Millisecond, tick, tick, tick}[r.IntN(5)]
	for range []int{0, 0, 3, 5}[r.IntN(4)] {
		out = append(out, r.upTo(most)-1)
	}
	return out
}

func (r generator) fault(kind Kind, recipe variants.Recipe, variant variants.Variant, p Plan) Fault {
	f := Fault{Kind: kind, Client: r.IntN(p.Clients), After: r.skewed(1, float64(6*p.Steps))}
	f.Delay = r.upTo([]time.Duration{500 * time.Microsecond, 500 * time.Microsecond, 10 * time.Millisecond,
		time.Duration(p.Session)}[r.IntN(4)])
	if kind.lasts() {
		f.For = r.length(p.Session)
		f.Also = (kind == Cut || kind == Silence) && r.IntN(4) == 0
	}
	if recipe.IsFixed(variant) || kind == Stall && len(p.Lag) == 0 { // a paused server receives no pings: sessions would expire
		f.For = min(f.For, p.Session/8)
	}
	f.Leader = traits()[kind].server && r.IntN(2) == 0
	switch draw := r.IntN(8); {
	case traits()[kind].request, draw < 2:
		f.At = r.request()
	case draw < 4:
		f.At = Waiting
	case draw < 5 && !recipe.NeverHolds:
		f.At = Holding
	}
	return f
}

// request is a kind of request: in half of the cases a write, which may have taken effect when its reply is lost.
func (r generator) request() string {
	write := r.IntN(2) == 0
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(Requests())), func(name string) bool { return Requests()[name].IsWrite() != write })
	return all[r.IntN(len(all))]
}

// length is short, a part of the session timeout, about as long as that, or longer.
func (r generator) length(session Duration) Duration {
	s := time.Duration(session)
	spans := [][2]time.Duration{{0, tick}, {0, s / 3}, {s * 9 / 10, s / 5}, {0, 2 * s}}
	span := spans[r.IntN(len(spans))]
	return Duration(span[0]) + r.upTo(span[1])
}
