package exclusion_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// scripted is a lock whose outcome is given.
type scripted struct {
	grant          session.Grant
	refused, stays error
}

func (s scripted) Acquire(context.Context) (session.Grant, error) { return s.grant, s.refused }
func (s scripted) Release(context.Context) error                  { return s.stays }

// A participant records what happened to it, however its step ends. Its record of the end of its hold stands in the order of what it
// could know.
func TestStepRecordsHowAHoldEnds(t *testing.T) {
	const (
		requested, withdrew, acquired, heeded = exclusion.Requested, exclusion.Withdrew, exclusion.Acquired, exclusion.Heeded
		releasing, released, deposed, lost    = exclusion.Releasing, exclusion.Released, exclusion.Deposed, variants.SessionLost
	)
	over, gone := make(chan struct{}), session.ErrSessionLost
	close(over)
	for _, tt := range []struct {
		name string
		lock scripted
		want []variants.EventKind
	}{
		{"holds to the end", scripted{}, []variants.EventKind{requested, acquired, releasing, released}},
		{"is refused", scripted{refused: gone}, []variants.EventKind{requested, withdrew}},
		{"is asked", scripted{grant: session.Grant{Revoked: over}},
			[]variants.EventKind{requested, acquired, heeded, releasing, released}},
		{"loses its session", scripted{grant: session.Grant{Lost: over}, stays: gone},
			[]variants.EventKind{requested, acquired, lost, deposed}},
		{"loses its session, which is no request", scripted{grant: session.Grant{Revoked: over, Lost: over}, stays: gone},
			[]variants.EventKind{requested, acquired, lost, deposed}},
		{"loses its session, and releases all the same", scripted{grant: session.Grant{Lost: over}},
			[]variants.EventKind{requested, acquired, lost, deposed, released}},
		{"loses its session as it releases", scripted{stays: gone}, []variants.EventKind{requested, acquired, releasing}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, recorded := variantstest.Recorder()
			env.Hold = func(context.Context, <-chan struct{}) error {
				if tt.lock.grant.Lost != nil { // the runner records the loss when the channel is closed
					env.Record(lost, 0)
				}
				return nil
			}
			want := cmp.Or(tt.lock.refused, tt.lock.stays)
			if err := exclusion.NewParticipant(tt.lock, env).Step(t.Context()); !errors.Is(err, want) {
				t.Errorf("err = %v, want %v", err, want)
			}
			if got := recorded(); !slices.Equal(got, tt.want) {
				t.Errorf("recorded %v, want %v", got, tt.want)
			}
		})
	}
}

// A holder that meets many others is reported a few times, not without bound.
func TestFencingBoundsWhatItKeepsOfOneHold(t *testing.T) {
	violations := 0
	o := exclusion.Exclusive(variants.Findings{Span: func(variants.Span) {}, Violation: func(variants.Violation) { violations++ }}, exclusion.LockWords())
	observe := func(client int, kind variants.EventKind, token int64) {
		o.Observe(variants.Event{Client: client, Kind: kind, Value: token})
	}
	observe(0, exclusion.Acquired, 0)
	for token := range int64(100) {
		observe(1, exclusion.Acquired, token+1)
		observe(1, exclusion.Releasing, token+1)
		observe(1, exclusion.Released, token+1)
	}
	if violations > 0 {
		t.Fatalf("%d violations before it is known whether the first client's session was alive", violations)
	}
	observe(0, exclusion.Releasing, 0)
	observe(0, exclusion.Released, 0)
	if violations == 0 || violations > 10 {
		t.Errorf("%d violations, want a few", violations)
	}
}
