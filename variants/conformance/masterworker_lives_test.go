package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
)

// masterworkerLives are participants who join again when their session is lost or they have died.
type masterworkerLives struct {
	venue   venue
	variant variants.Variant
	dir     string
	epoch   time.Time

	mu      sync.Mutex
	history variants.History
	traps   map[int]masterworkerTrap // of participants in their first life
	fired   int
	done    int // batches since the last trap
}

// masterworkerTrap is a request at which a participant's session ends, or at which it stops dead.
type masterworkerTrap struct {
	op   wire.Opcode
	nth  int
	do   embedded.Action
	dead bool
}

// masterworkerLife is one life of a participant, which is nil if its session was lost before it could join.
type masterworkerLife struct {
	variants.Participant
	client *client
	ctx    context.Context
	log    func(variants.EventKind, int64)
}

func (l *masterworkerLives) record(e variants.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.At = time.Since(l.epoch)
	l.history = append(l.history, e)
}

// join begins a life of a participant.
func (l *masterworkerLives) join(t *testing.T, index, life int) *masterworkerLife {
	c, cable := cabled(t, l.venue, l.venue.shortest)
	ctx, kill := context.WithCancel(t.Context())
	t.Cleanup(kill)
	one := &masterworkerLife{client: c, ctx: ctx}
	var mu sync.Mutex
	dead := false
	one.log = func(kind variants.EventKind, value int64) {
		mu.Lock()
		defer mu.Unlock()
		if !dead {
			l.record(variants.Event{Client: index, Kind: kind, Value: value})
		}
		dead = dead || kind == variants.Died
	}
	c.monitor.WhenLost(func() { one.log(variants.SessionLost, int64(life)) })
	if life > 0 {
		one.log(variants.Rejoined, int64(life))
	}
	p, err := l.variant.Join(testContext(t), variants.Env{
		Clients: masterworkerCrew, Index: index, Life: life, Faults: true, Session: c.session(), Root: l.dir, Record: one.log,
		Hold: func(ctx context.Context, _ <-chan struct{}) error { return ctx.Err() },
	})
	if !errors.Is(err, variants.ErrSessionLost) {
		must(t, err)
		one.Participant = p
	}
	if trap, ok := l.traps[index]; ok && life == 0 {
		l.set(t, c, trap, func() {
			if trap.dead {
				one.log(variants.Died, int64(life))
				cable.unplug()
				c.monitor.Lose()
				kill()
			}
		})
	}
	return one
}

// set sets a trap, and springs it when it has fired.
func (l *masterworkerLives) set(t *testing.T, c *client, trap masterworkerTrap, spring func()) {
	armed := embeddedServer(t, l.venue).Inject(embedded.Fault{Session: c.conn.SessionID(), Op: trap.op, Nth: trap.nth, Do: trap.do})
	go func() {
		select {
		case <-armed.Fired():
		case <-t.Context().Done():
			return
		}
		spring()
		l.mu.Lock()
		l.fired, l.done = l.fired+1, 0
		l.mu.Unlock()
	}()
}

func (one *masterworkerLife) step() error {
	if one.Participant == nil {
		return variants.ErrSessionLost
	}
	ctx, cancel := context.WithTimeout(one.ctx, patience)
	defer cancel()
	return one.Step(ctx)
}

func (one *masterworkerLife) leave(t *testing.T) error {
	t.Helper()
	if one.Participant == nil {
		return variants.ErrSessionLost
	}
	return one.Leave(testContext(t))
}

// live lets a participant take steps, and join again whenever its life is over, until until returns true.
func (l *masterworkerLives) live(t *testing.T, index int, until func() bool) {
	one := l.join(t, index, 0)
	for life := 1; !until(); {
		err := one.step()
		switch {
		case err == nil && index == masterworkerCrew-1:
			l.mu.Lock()
			l.done++
			l.mu.Unlock()
		case err == nil:
		case one.client.handle.Alive() == nil && one.ctx.Err() == nil:
			t.Errorf("participant %d, life %d: %v", index, life-1, err)
			return
		default:
			one = l.join(t, index, life)
			life++
		}
	}
	if err := one.leave(t); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("participant %d leaves: %v", index, err)
	}
}

// masterworkerCrew is how many participants there are: the first is master at first, and the last submits tasks.
const masterworkerCrew = 4

// run lets all participants live until the client has completed some batches after the last trap, or more than any trap waits for.
func (l *masterworkerLives) run(t *testing.T) {
	t.Helper()
	finished := make(chan struct{})
	var all sync.WaitGroup
	for i := range masterworkerCrew - 1 {
		all.Go(func() {
			l.live(t, i, func() bool {
				select {
				case <-finished:
					return true
				default:
					return false
				}
			})
		})
	}
	all.Go(func() {
		defer close(finished)
		l.live(t, masterworkerCrew-1, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.fired == len(l.traps) && l.done >= 3 || l.done > 1000
		})
	})
	all.Wait()
}

// findings returns what an observer finds in what happened, and how much was lost.
func (l *masterworkerLives) findings() (violations []string, damage map[variants.Loss]int64) {
	damage = map[variants.Loss]int64{}
	o := masterworker.Recipe().NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { violations = append(violations, v.Text) },
		Damage:    func(d variants.Damage) { damage[d.Loss] += d.Amount },
	})
	for _, e := range l.history {
		o.Observe(e)
	}
	o.Complete()
	return violations, damage
}

// masterworkerEnds are how a participant meets its end around a request.
var masterworkerEnds = []struct {
	name string
	do   embedded.Action
	dead bool
}{
	{"expires before", embedded.ExpireBefore, false},
	{"expires after", embedded.ExpireAfter, false},
	{"dies before", embedded.DropBefore, true},
	{"dies after", embedded.DropAfter, true},
}

// Wherever a master, a worker, both, or the client that submits meets its end, no task is lost, and the others go on. Which request
// of a kind it is differs from case to case.
func TestMasterWorkerLives(t *testing.T) {
	t.Parallel()
	reads := []wire.Opcode{wire.OpMulti, wire.OpGetData, wire.OpGetChildren2}
	cases := 0
	for _, victims := range []struct {
		name    string
		indexes []int
		ops     []wire.Opcode
	}{
		{"master", []int{0}, reads},
		{"worker", []int{1}, reads},
		{"master and worker", []int{0, 1}, reads[:1]},
		{"submitter", []int{masterworkerCrew - 1}, reads[:1]},
	} {
		for _, end := range masterworkerEnds {
			for i, op := range victims.ops {
				const step, most = 7, 24
				cases++
				first := cases * step
				for _, variant := range masterworker.Recipe().Variants {
					op := op
					if strings.HasPrefix(variant.Name, "book") {
						if i > 0 { // the reads are the same for all variants
							continue
						}
						op = wire.OpCreate // which master, worker and client of all three send
					}
					trap := masterworkerTrap{op, 1 + (first+len(variant.Name))%most, end.do, end.dead}
					name := fmt.Sprintf("%s/%s %s %s %d", variant.Name, victims.name, end.name, op, trap.nth)
					bubbles.run(t, name, func(t *testing.T, v venue) { masterworkerLive(t, v, variant, victims.indexes, trap) })
				}
			}
		}
	}
}

// masterworkerLive sets the same trap for some participants.
func masterworkerLive(t *testing.T, v venue, variant variants.Variant, victims []int, trap masterworkerTrap) {
	t.Helper()
	l := &masterworkerLives{venue: v, variant: variant, dir: directory(t, v), epoch: time.Now(), traps: map[int]masterworkerTrap{}}
	c := clients(t, v, 1)[0]
	must(t, variant.Prepare(testContext(t), variants.Env{Session: c.session(), Root: l.dir}))
	for _, index := range victims {
		l.traps[index] = trap
	}
	l.run(t)
	violations, damage := l.findings()
	if len(violations) > 0 || damage[variants.ItemsLost] > 0 {
		t.Errorf("%d violations %q, damage %v", len(violations), violations[:min(3, len(violations))], damage)
	}
	n, err := masterworker.Recipe().Orphans(testContext(t), variants.Env{Session: c.session(), Root: l.dir})
	if err != nil || n > 0 && !variant.Forgone(variants.Orphans) {
		t.Errorf("%d statuses are left (%v)", n, err)
	}
	if l.fired < len(l.traps) {
		t.Error("a participant did not meet its end: the test tests nothing")
	}
}
