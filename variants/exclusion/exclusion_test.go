package exclusion_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

// A worker's record of the end of its hold stands in the order of what it could know.
func TestWorkerRecordsALossInOrder(t *testing.T) {
	const token = 7
	over := make(chan struct{})
	close(over)
	for _, tt := range []struct {
		name        string
		asked, lost chan struct{}
		want        []variants.EventKind
	}{
		{"holds to the end", nil, nil, []variants.EventKind{exclusion.Releasing, exclusion.Released}},
		{"is asked", over, nil, []variants.EventKind{exclusion.Heeded, exclusion.Releasing, exclusion.Released}},
		{"loses its session", nil, over, []variants.EventKind{variants.SessionLost, exclusion.Deposed, exclusion.Released}},
		{"loses its session, which is no request", over, over, []variants.EventKind{variants.SessionLost, exclusion.Deposed, exclusion.Released}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := variants.NewLog(time.Now(), 3, func() (seen, shown int64, next variants.Write) { return 0, 0, nil }, nil)
			w := exclusion.NewWorker(variants.Env{
				Record: log.Record, RecordUnless: log.RecordUnless,
				Hold: func(context.Context, <-chan struct{}) error {
					if tt.lost != nil { // the runner records the loss when the channel is closed
						log.Record(variants.SessionLost, 0)
					}
					return nil
				},
			}, func(int) exclusion.Operation {
				return exclusion.Operation{
					Acquire: func(context.Context) (session.Grant, error) {
						return session.Grant{Token: token, Revoked: tt.asked, Lost: tt.lost}, nil
					},
					Release: func(context.Context) error { return nil },
				}
			})
			if err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []variants.EventKind
			for _, e := range log.Take(nil, math.MaxInt64)[2:] {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("recorded %v after the acquisition, want %v", got, tt.want)
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
