package conformance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// survey returns the effects of all writes, when all sessions have ended.
func survey(s *site, acked int64) map[int]zk.Stat {
	s.latest = acked
	p := s.peer()
	effects := map[int]zk.Stat{}
	listed := func(path string) []string {
		names, _, _ := p.children(s.root+path, false)
		return strings.Fields(names)
	}
	ensembletest.Await(s.T, func() string {
		p.sync("/")
		for _, name := range listed(logPath) {
			st, _ := p.exists(s.root+logPath+"/"+name, false)
			if st.NumChildren > 0 {
				return "the session of " + name + " has not ended"
			}
			n, _ := strconv.Atoi(name)
			effects[n] = st
		}
		return ""
	})
	for _, name := range listed(keptPath) {
		data, st, _ := p.getData(s.root+keptPath+"/"+name, false)
		n, _ := strconv.Atoi(string(data))
		effects[n] = st
	}
	return effects
}

// enough is the least number of requests that clients send, however slow the machine is.
const enough = 400

// observe records clients of servers of which one at a time is paused: a follower and the leader, each for a short and a long
// time. The other servers stop waiting for it after five ticks.
func observe(t *testing.T, e ensemble.Breaker, tick time.Duration, seed uint64) (history, *stand) {
	t.Helper()
	s := prepare(t, e.Servers())
	if !s.zxids {
		t.Skip("servers before 3.9 do not tell which transaction caused a notification")
	}
	d := newStand(s, tick)
	h := history{leaders: map[int64]int{}}
	var clients []*client
	var running sync.WaitGroup
	t.Cleanup(func() {
		d.over.Store(true)
		running.Wait()
	})
	const number = 6
	for i := range number {
		c := d.client(seed, uint64(i))
		clients = append(clients, c)
		running.Go(c.run)
	}
	d.fail(t, e, rand.New(rand.NewPCG(seed, number)), h.leaders)
	ensembletest.Await(t, func() string {
		if n := d.sent.Load(); n < enough {
			return fmt.Sprintf("%d requests were sent", n)
		}
		return ""
	})
	d.over.Store(true)
	running.Wait()
	for _, c := range clients {
		h.lines = append(h.lines, c.lines...)
	}
	h.effects = survey(s, d.acked.Load())
	return h, d
}

// fail pauses servers, and finds the leader in between.
func (d *stand) fail(t *testing.T, e ensemble.Breaker, r *rand.Rand, leaders map[int64]int) {
	t.Helper()
	ticks := func(least, most float64) {
		time.Sleep(time.Duration((least + r.Float64()*(most-least)) * float64(d.tick)))
	}
	pauses := []struct {
		leader      bool
		least, most float64
	}{{false, 1, 4}, {true, 1, 4}, {false, 6, 9}, {true, 6, 9}}
	r.Shuffle(len(pauses), func(i, j int) { pauses[i], pauses[j] = pauses[j], pauses[i] })
	leader := d.awaitHealth(t, e, leaders)
	for _, p := range pauses {
		ticks(1, 3)
		victim := leader
		if !p.leader {
			victim = (leader + 1 + r.IntN(len(d.addrs)-1)) % len(d.addrs)
		}
		server := e.Servers()[victim]
		d.healthy.Store(false)
		must.Do(t, e.Break(t.Context(), server, ensemble.Pause))
		restore := sync.OnceValue(func() error { return e.Restore(context.WithoutCancel(t.Context()), server) })
		t.Cleanup(func() { _ = restore() })
		ticks(p.least, p.most)
		must.Do(t, restore())
		leader = d.awaitHealth(t, e, leaders)
	}
	ticks(1, 3)
}

// awaitHealth returns the leader, when all servers serve.
func (d *stand) awaitHealth(t *testing.T, e ensemble.Breaker, leaders map[int64]int) int {
	t.Helper()
	leader := -1
	ensembletest.Await(t, func() string {
		if err := ensemble.CheckQuorum(t.Context(), e.Servers()); err != nil {
			return err.Error()
		}
		for i, server := range e.Servers() {
			if status, err := ensemble.Srvr(t.Context(), server); err == nil && status.Role == ensemble.Leader {
				leader = i
				leaders[status.Zxid>>32] = i
			}
		}
		if leader < 0 {
			return "no server leads"
		}
		return ""
	})
	d.healthy.Store(true)
	return leader
}

// tally counts the kinds of exchanges in a history.
type tally struct{ requests, unanswered, found, reads, lagging, syncs, behind, weak, belated, notified int }

func count(h history) (n tally) {
	j, seen := judge{history: h}, map[int64]int64{}
	for _, l := range h.lines {
		for _, e := range l.exchanges {
			_, found := h.effects[e.number]
			isSync, weak := e.answered && e.op == wire.OpSync, j.weak(l, e)
			for counter, yes := range map[*int]bool{
				&n.requests: true, &n.unanswered: !e.answered, &n.found: found && !e.answered, &n.belated: e.belated,
				&n.reads: e.answered && e.isRead(), &n.lagging: e.isRead() && e.lags(),
				&n.syncs: isSync && !weak, &n.behind: isSync && !weak && seen[l.session] < e.floor, &n.weak: isSync && weak,
			} {
				if yes {
					*counter++
				}
			}
			n.notified += len(e.notified)
			seen[l.session] = max(seen[l.session], e.zxid)
		}
	}
	return n
}

// report logs a summary of a run, and fails the test for contradictions.
func report(t *testing.T, h history, d *stand) tally {
	t.Helper()
	n := count(h)
	sessions, epochs := map[int64]bool{}, map[int64]bool{}
	for _, l := range h.lines {
		sessions[l.session] = true
	}
	for _, st := range h.effects {
		epochs[st.Czxid>>32] = true
	}
	t.Logf("%d sessions on %d connections sent %d requests, to %d leaders. %d got no answer, of which %d took effect. %d writes were belated.",
		len(sessions), len(h.lines), n.requests, len(epochs), n.unanswered, n.found, n.belated)
	t.Logf("%d of %d reads lagged. %d syncs were checked, of which %d had to wait; %d had nothing to promise. %d notifications.",
		n.lagging, n.reads, n.syncs, n.behind, n.weak, n.notified)
	t.Logf("%d handshakes were refused by servers that were well, and %d at other times. %d found that the session had expired.",
		d.refused.Load(), d.unserved.Load(), d.expired.Load())
	wrong := check(h)
	for _, w := range wrong[:min(len(wrong), 10)] {
		t.Error(w)
	}
	t.Logf("%d answers are outside of what is allowed", len(wrong))
	return n
}

// While a server is paused, answers are not determined, but each is in the set of allowed ones: see check.
func TestLivePauses(t *testing.T) {
	e, ok := live.Get(t).(ensemble.Breaker)
	if !ok || !slices.Contains(e.ServerFaults(), ensemble.Pause) {
		t.Skip("the engine cannot pause servers")
	}
	seed := max(*oneSeed, 1)
	h, d := observe(t, e, 2*time.Second, seed)
	report(t, h, d)
}

func TestPauses(t *testing.T) {
	for name, lag := range map[string]time.Duration{"prompt": 0, "lag": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tick = 200 * time.Millisecond
			e := ensembletest.Embedded(t, embedded.Config{Voters: 3, Tick: tick, Lag: lag})
			h, d := observe(t, e, tick, max(*oneSeed, 1))
			h.leaders = nil // every embedded server keeps the promise of a sync
			if n := report(t, h, d); lag > 0 && (n.lagging == 0 || d.refused.Load() == 0) {
				t.Error("no read lagged, or no handshake was refused")
			}
		})
	}
}
