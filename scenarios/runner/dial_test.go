package runner_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/session"
)

// dialling is a participant that opens a further session in each step, and leaves it open.
type dialling struct {
	variants.Participant
	env  variants.Env
	t    *testing.T
	last *session.Session
}

func (d *dialling) Step(ctx context.Context) error {
	session, _, err := d.env.Dial(ctx)
	if err != nil {
		return err
	}
	d.last = session
	if _, _, _, err := session.ChildrenW(ctx, d.env.Root); err == nil {
		d.t.Error("a further session has set a watch")
	}
	return errors.Join(session.Ensure(ctx, d.env.Root+"/x", nil, 0), d.Participant.Step(ctx))
}

// diallingRecipe returns recipes with a variant of enqueue whose participants leave sessions open.
func diallingRecipe(t *testing.T, joined func(*dialling)) []variants.Recipe {
	var mu sync.Mutex
	return sabotageOf("enqueue", "blind-retry", func(v *variants.Variant) {
		surround(v, func(env variants.Env, p variants.Participant) variants.Participant {
			d := &dialling{Participant: p, env: env, t: t}
			mu.Lock()
			defer mu.Unlock()
			joined(d)
			return d
		})
	})
}

// Sessions that a participant opens are counted like its other writes, are confirmed by the servers, and end with the participant.
func TestFurtherSessions(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		const clients = 3
		var all []*dialling
		s := lockstepOf(clients)
		s.Recipe, s.Variants = "enqueue", []string{"blind-retry"}
		d := mustMeasure(t, e, s, diallingRecipe(t, func(p *dialling) { all = append(all, p) }))[0]
		if n := d.Counts.Requests["createSession"]; n != clients || d.Counts.Requests["closeSession"] != 0 {
			t.Errorf("requests %v", d.Counts.Requests)
		}
		if want := int64(clients * (1 + 1 + 2)); d.Counts.Writes != want { // createSession, its create, and those of blind-retry
			t.Errorf("%d writes, want %d", d.Counts.Writes, want)
		}
		if !d.Oracle.Checked || !d.Oracle.Agrees() {
			t.Errorf("the servers do not confirm the counts: %+v", d.Oracle)
		}
		for _, p := range all {
			if err := p.last.Once(t.Context(), func(c session.Conn) error { _, _, err := c.Exists("/"); return err }); err == nil {
				t.Error("a session that was left open outlives its participant")
			}
		}
	})
}

// If a client stops dead or loses a session, the effect of its further sessions is still known exactly.
func TestFurtherSessionsUnderFaults(t *testing.T) {
	t.Parallel()
	bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) {
		s := faulty("enqueue", 3, schedule(t, "stop: any, after: create, every: 900ms", "expire: any, every: 300ms", "cut: any, every: 200ms"))
		s.Variants, s.Duration = []string{"session-per-put"}, 4*time.Second
		for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
			if d.Failure.Rejoins == 0 || d.Counts.Requests["closeSession"] == 0 {
				t.Errorf("%d clients joined again, requests %v: the test tests nothing", d.Failure.Rejoins, d.Counts.Requests)
			}
			checkSound(t, d)
		}
	})
}
