package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// breachesOf returns how a variant breaks its promise in a history in which nothing fails, and which is complete or cut
// off. A loss that it does not promise to avoid is not a breach.
func breachesOf(recipe variants.Recipe, variant variants.Variant, h variants.History, complete bool) []variants.Violation {
	if len(variant.ForgoesAlways) == 0 {
		_, violations := recipe.Replay(h, complete)
		return violations
	}
	violations, lost := findingsOf(recipe, h, complete)
	for loss, amount := range lost {
		if loss.IsBreach() && !variant.ForgoneAlways(loss) {
			violations = append(violations, variants.Violation{Text: fmt.Sprintf("%s: %d", loss, amount)})
		}
	}
	return violations
}

// recordsOf returns the records of the participants, on servers that name the transactions in notifications or do not.
func recordsOf(
	t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant, participants, steps int, named bool,
) []variants.Placed {
	t.Helper()
	c := newCompany(t.Context(), variant, variants.Env{
		Clients: participants, Root: directory(t, v),
		Hold: func(ctx context.Context, asked <-chan struct{}) error {
			return variants.WaitFor(ctx, 2*time.Millisecond, asked, nil)
		},
	})
	c.calls, c.unnamed = recipe.Calls, !named
	c.prepare(t, recipe, clients(t, v, 1)[0])
	c.joinAll(t, clients(t, v, participants)...)
	c.mustStep(t, steps)
	c.leave(t)
	return c.records()
}

// company is the set of participants in one run of a variant, with their records.
type company struct {
	variant variants.Variant
	env     variants.Env // of the client that joins next, except for its own parts
	epoch   time.Time
	calls   []variants.EventKind // see [variants.Recipe]
	unnamed bool                 // notifications name no transaction
	members []variants.Participant
	logs    []*variants.Log // of the members

	ctx  context.Context // of their steps
	busy sync.WaitGroup

	mu   sync.Mutex // the history may be read while a client still works
	kept []variants.Placed
	errs []error // of those whose steps have failed
}

// newCompany has no members yet. They hold for no time at all, unless env says otherwise.
func newCompany(ctx context.Context, variant variants.Variant, env variants.Env) *company {
	if env.Hold == nil {
		env.Hold = func(ctx context.Context, _ <-chan struct{}) error { return ctx.Err() }
	}
	return &company{variant: variant, env: env, epoch: time.Now(), ctx: ctx}
}

// prepare creates what must exist before the first participant joins.
func (c *company) prepare(t testing.TB, recipe variants.Recipe, by *client) {
	t.Helper()
	if recipe.Prepare == nil {
		return
	}
	env := c.env
	env.Session = by.session()
	must(t, recipe.Prepare(testContext(t), env))
}

// joinWith adds a member with a handle on a session. The ledger says what the session has seen; it is nil if a test has
// changed the session.
func (c *company) joinWith(t testing.TB, s *session.Session, ledger *wire.Ledger) {
	t.Helper()
	env, member := c.env, len(c.members)
	env.Index, env.Session, env.Dial = member, s, sharing(s)
	sight := func() (seen, shown int64, next variants.Write) {
		seen, shown, next = ledger.Sight()
		if c.unnamed && ledger.Disturbed() {
			seen = -1
		}
		return seen, shown, next
	}
	log := variants.NewLog(c.epoch, member, sight, c.calls)
	env.Record, env.RecordUnless = log.Record, log.RecordUnless
	p, err := c.variant.Join(testContext(t), env)
	must(t, err)
	remember(t, p, env.Session)
	c.members, c.logs = append(c.members, p), append(c.logs, log)
}

// sharing opens further sessions that are the first one, so that they suffer what a test does to that session, too.
func sharing(first *session.Session) variants.DialFunc {
	return func(context.Context) (*session.Session, func(), error) { return first.Fork(), func() {}, nil }
}

// joinAll lets several clients join, and each learn that all have joined, as a run does before its first step.
func (c *company) joinAll(t testing.TB, cs ...*client) {
	t.Helper()
	for _, member := range cs {
		c.joinWith(t, member.session(), member.ledger)
	}
	catchUpAll(t, c.env.Root, cs...)
}

// start lets a member take so many steps in the background, or until one fails. Others may still be joining.
func (c *company) start(member, steps int) {
	p := c.members[member]
	c.busy.Go(func() {
		for step := range steps {
			if err := stepInTime(c.ctx, p); err != nil {
				c.failed(fmt.Errorf("participant %d, step %d: %w", member, step, err))
				return
			}
		}
	})
}

func stepInTime(ctx context.Context, p variants.Participant) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.Step(ctx)
}

func (c *company) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

// end waits for all members that have started, and returns their errors.
func (c *company) end() error {
	c.busy.Wait()
	return errors.Join(c.errs...)
}

// step lets all members take so many steps, starting at the same time.
func (c *company) step(n int) error {
	for i := range c.members {
		c.start(i, n)
	}
	return c.end()
}

func (c *company) mustStep(t testing.TB, n int) {
	t.Helper()
	if err := c.step(n); err != nil {
		t.Error(err)
	}
}

// leave lets all members leave, one after another.
func (c *company) leave(t testing.TB) {
	t.Helper()
	for i, p := range c.members {
		if err := p.Leave(testContext(t)); err != nil {
			t.Errorf("participant %d leaves: %v", i, err)
		}
	}
}

// history is what the members have recorded so far.
func (c *company) history() variants.History { return variants.HistoryOf(c.records()) }

func (c *company) records() []variants.Placed {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, log := range c.logs {
		c.kept = log.Take(c.kept, math.MaxInt64)
	}
	return slices.Clone(c.kept)
}

func variantOf(recipe variants.Recipe, name string) variants.Variant {
	return recipe.Variants[slices.IndexFunc(recipe.Variants, func(v variants.Variant) bool { return v.Name == name })]
}

// phasesIn counts the spans of a history by phase.
func phasesIn(recipe variants.Recipe, h variants.History) map[string]int {
	phases := map[string]int{}
	spans, _ := recipe.Replay(h, false)
	for _, span := range spans {
		phases[span.Phase]++
	}
	return phases
}

// findingsOf gives the recipe's observer a history that is complete, or cut off.
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

// briefly holds for about as long as a request takes.
func briefly(ctx context.Context, asked <-chan struct{}) error {
	return variants.WaitFor(ctx, time.Millisecond, asked, nil)
}

// hooked is a session that calls a function just before each of these operations.
type hooked struct {
	*zk.Conn
	before func(op, path string)
}

func (h hooked) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	h.before("create", path)
	return h.Conn.Create(path, data, flags, acl)
}

func (h hooked) Children(path string) ([]string, *zk.Stat, error) {
	h.before("list", path)
	return h.Conn.Children(path)
}

func (h hooked) Exists(path string) (bool, *zk.Stat, error) {
	h.before("exists", path)
	return h.Conn.Exists(path)
}

func (h hooked) Get(path string) ([]byte, *zk.Stat, error) {
	h.before("get", path)
	return h.Conn.Get(path)
}

func (h hooked) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	h.before("set", path)
	return h.Conn.Set(path, data, version)
}

func (h hooked) Delete(path string, version int32) error {
	h.before("delete", path)
	return h.Conn.Delete(path, version)
}

func (h hooked) Multi(ops ...any) ([]zk.MultiResponse, error) {
	h.before("multi", "")
	return h.Conn.Multi(ops...)
}
