package lock

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
)

// racer is a client that creates one znode, and watches it with exists when another client has been faster.
type racer struct {
	next  request
	armed bool // the server has a watch of its session
	left  int  // operations
}

// request is what a racer sends next, or what it waits for.
type request int

const (
	create request = iota
	exists
	deletion // a notification: nothing is sent until the watch fires
	release
)

// costs are what a race has cost.
type costs struct {
	operations, requests, writes, failedWrites, notifications, herdMax float64
}

// race is a model of clients that race for one znode. Each request takes effect at once; which client sends the
// next one is drawn, with odds that favour some clients and some requests.
type race struct {
	costs
	racers  []*racer
	taken   bool
	odds    []float64 // by client
	patient float64   // the odds of a release, against those of other requests
}

// newRace returns a race of n clients with some operations each.
func newRace(n, operations int, random *rand.Rand) *race {
	r := &race{costs: costs{operations: float64(n * operations)}}
	for range n {
		r.racers = append(r.racers, &racer{left: operations})
		r.odds = append(r.odds, random.Float64())
	}
	r.patient = []float64{1, 0.1, 0.001}[random.IntN(3)]
	return r
}

// weight is how likely a client is to send its request next.
func (r *race) weight(i int) float64 {
	switch c := r.racers[i]; {
	case c.left == 0 || c.next == deletion:
		return 0
	case c.next == release:
		return r.odds[i] * r.patient
	default:
		return r.odds[i]
	}
}

// run lets the clients go on until all are done.
func (r *race) run(random *rand.Rand) costs {
	for {
		var total float64
		for i := range r.racers {
			total += r.weight(i)
		}
		if total == 0 {
			return r.costs
		}
		drawn := random.Float64() * total
		i := slices.IndexFunc(r.racers, func(c *racer) bool {
			drawn -= r.weight(slices.Index(r.racers, c))
			return drawn < 0
		})
		r.send(r.racers[max(i, 0)])
	}
}

// send lets a client's request take effect.
func (r *race) send(c *racer) {
	switch c.next {
	case create:
		r.create(c)
	case exists:
		r.requests++
		c.armed = true
		c.next = create
		if r.taken {
			c.next = deletion
		}
	case release:
		r.taken = false
		r.write()
		c.next = create
		c.left--
	case deletion:
	}
}

func (r *race) create(c *racer) {
	if r.taken {
		r.requests++
		r.writes++
		r.failedWrites++
		c.next = exists
		return
	}
	r.taken = true
	r.write()
	c.next = release
}

// write creates or deletes the znode, which notifies all who watch.
func (r *race) write() {
	r.requests++
	r.writes++
	fired := 0.0
	for _, c := range r.racers {
		if c.armed {
			fired++
			c.armed = false
		}
		if c.next == deletion && !c.armed {
			c.next = create
		}
	}
	r.notifications += fired
	r.herdMax = max(r.herdMax, fired)
}

// The master-znode of elections has the costs of the lock znode: its clients race for one znode, too.
func TestCostsMatchSimulatedRaces(t *testing.T) {
	checkRaceCosts(t, znodeVariant().Free)
	for _, v := range election.Recipe().Variants {
		if v.Name == "master-znode" {
			checkRaceCosts(t, v.Free)
			return
		}
	}
	t.Error("there is no election/master-znode")
}

// checkRaceCosts holds a variant's bounds to simulated races for one znode: none costs more, and the costliest ones come close
// enough that a variant which costs twice as much is over the bounds.
func checkRaceCosts(t *testing.T, free variants.Cost) {
	t.Helper()
	const operations = 20
	for _, n := range []int{1, 2, 3, 10, 30} {
		var worst costs
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // a simulation, no secret
			c := newRace(n, operations, random).run(random)
			worst.requests = max(worst.requests, c.requests/c.operations)
			worst.writes = max(worst.writes, c.writes/c.operations)
			worst.failedWrites = max(worst.failedWrites, c.failedWrites/c.operations)
			worst.notifications = max(worst.notifications, c.notifications/c.operations)
			worst.herdMax = max(worst.herdMax, c.herdMax)
		}
		for _, c := range []struct {
			what         string
			worst, bound float64
		}{
			{"requests", worst.requests, free.Requests.At(n)},
			{"writes", worst.writes, free.Writes.At(n)},
			{"failed writes", worst.failedWrites, free.FailedWrites.At(n)},
			{"notifications", worst.notifications, free.Notifications.At(n)},
			{"herd", worst.herdMax, free.HerdMax.At(n)},
		} {
			if c.worst > c.bound || c.bound > 0 && 2*c.worst <= c.bound {
				t.Errorf("N=%d: %s are up to %g in simulated races, which the bound of %g does not fit", n, c.what, c.worst, c.bound)
			}
		}
	}
}
