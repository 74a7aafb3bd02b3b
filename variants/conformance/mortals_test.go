package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/variants"
)

// mortals are clients that take steps, lose their sessions or die, and join again with new ones, as in a run with faults.
type mortals struct {
	t       *testing.T
	v       venue
	server  *embedded.Ensemble
	variant variants.Variant
	env     variants.Env
	epoch   time.Time
	ctx     context.Context
	fail    func(m *mortals, holder, nth int) // called with each hold, from 1 on
	failed  chan struct{}                     // for fail
	begun   func(client int, l *mortal)       // called with each session, before the client joins; may be nil

	mu    sync.Mutex
	lives []*mortal // the current ones, by client
	all   []*mortal
	holds int
	steps int              // of each client
	taken variants.History // from the logs
	busy  sync.WaitGroup
}

// mortal is one life of a client.
type mortal struct {
	*client
	number int64
	log    *variants.Log
	cable  *cable
	stop   context.CancelFunc
}

// newMortals returns clients that have not begun. fail makes them fail while one of them holds.
func newMortals(t *testing.T, v venue, variant variants.Variant, clients int, fail func(m *mortals, holder, nth int)) *mortals {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	m := &mortals{
		t: t, v: v, server: embeddedServer(t, v), variant: variant, env: variants.Env{Clients: clients, Root: directory(t, v)},
		epoch: time.Now(), ctx: ctx, fail: fail, failed: make(chan struct{}), lives: make([]*mortal, clients),
	}
	t.Cleanup(m.busy.Wait)
	t.Cleanup(cancel)
	return m
}

// start lets each client complete so many steps, in as many lives as it takes. The channel is closed when all have.
func (m *mortals) start(steps int) <-chan struct{} {
	m.steps = steps
	done := make(chan struct{})
	var all sync.WaitGroup
	for client := range m.lives {
		all.Go(func() {
			for number, left := int64(0), steps; left > 0 && m.ctx.Err() == nil; number++ {
				left = m.live(client, number, left)
			}
		})
	}
	m.busy.Go(func() { all.Wait(); close(done) })
	return done
}

// live is one life of a client. It returns how many steps are left for the next one.
func (m *mortals) live(client int, number int64, steps int) (left int) {
	ctx, l := m.begin(client, number)
	over := make(chan struct{})
	var recording sync.WaitGroup
	recording.Go(func() { l.recordLoss(over) })
	defer func() { close(over); recording.Wait(); l.stop() }()
	p, err := m.variant.Join(ctx, m.envOf(client, l))
	if err == nil && number > 0 {
		l.log.Record(variants.Rejoined, number)
	}
	for steps = m.left(p, steps); steps > 0 && err == nil; steps = m.left(p, steps-1) {
		if err = p.Step(ctx); err != nil {
			break
		}
	}
	switch {
	case errors.Is(err, variants.ErrSessionLost), ctx.Err() != nil:
		return steps
	case err == nil:
		err = p.Leave(ctx)
	}
	if err != nil && l.handle.Alive() == nil {
		m.t.Errorf("client %d: %v", client, err)
	}
	return 0
}

// left returns how many steps a participant has still to take: steps, unless they are numbered for the whole group.
func (m *mortals) left(p variants.Participant, steps int) int {
	if r, ok := p.(variants.Rounded); ok {
		return m.steps - int(r.Round())
	}
	return steps
}

// begin opens a client's next session.
func (m *mortals) begin(client int, number int64) (context.Context, *mortal) {
	ctx, stop := context.WithCancel(m.ctx)
	l := &mortal{number: number, log: variants.NewLog(m.epoch, client), cable: &cable{}, stop: stop}
	l.client = connect(m.t, m.v.Servers()[0], m.v.shortest, l.cable.wrap)
	if m.begun != nil {
		m.begun(client, l)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lives[client] = l
	m.all = append(m.all, l)
	return ctx, l
}

func (m *mortals) envOf(client int, l *mortal) variants.Env {
	env := m.env
	env.Index, env.Session, env.Dial = client, l.handle, sharing(l.handle)
	env.Record, env.RecordUnless = l.log.Record, l.log.RecordUnless
	env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
		m.mu.Lock()
		m.holds++
		nth := m.holds
		m.mu.Unlock()
		m.fail(m, client, nth)
		return variants.WaitFor(ctx, time.Millisecond, asked, l.handle.Lost())
	}
	return env
}

// recordLoss records from when the client can know that its session is lost.
func (l *mortal) recordLoss(over <-chan struct{}) {
	select {
	case <-l.handle.Lost():
	case <-over:
		if l.handle.Alive() == nil {
			return
		}
	}
	l.log.Record(variants.SessionLost, l.number)
}

func (m *mortals) life(client int) *mortal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lives[client]
}

// expire ends a client's session, of which the client learns, and returns when it has.
func (m *mortals) expire(client int) {
	l := m.life(client)
	if m.server.Expire(l.conn.SessionID()) {
		<-l.handle.Lost()
	}
}

// kill stops a client dead, and ends its session as if it had run out.
func (m *mortals) kill(client int) {
	l := m.life(client)
	session := l.conn.SessionID()
	l.cable.unplug()
	l.log.End(variants.Died, l.number)
	m.server.Expire(session)
	l.stop()
}

// history is what all have recorded so far.
func (m *mortals) history() variants.History {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.all {
		m.taken = l.log.Take(m.taken)
	}
	slices.SortStableFunc(m.taken, func(a, b variants.Event) int { return int(a.At - b.At) })
	return slices.Clone(m.taken)
}

// findings returns what a recipe's observer finds in a whole history: violations, and how much was lost.
func findings(recipe variants.Recipe, h variants.History) (violations []variants.Violation, lost map[variants.Loss]int64) {
	return findingsOf(recipe, h, true)
}

// findingsOf does the same with a history that is complete, or cut off.
func findingsOf(recipe variants.Recipe, h variants.History, complete bool) (violations []variants.Violation, lost map[variants.Loss]int64) {
	lost = map[variants.Loss]int64{}
	o := recipe.NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { violations = append(violations, v) },
		Damage:    func(d variants.Damage) { lost[d.Loss] += d.Amount },
	})
	for _, e := range h {
		o.Observe(e)
	}
	if complete {
		o.Complete()
	}
	return violations, lost
}
