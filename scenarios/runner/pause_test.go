package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/variants"
)

// pauseLength is longer than a JVM takes to start on a busy machine: the server's maximum includes pauses at its start.
const pauseLength = 3 * time.Second

// A server that stands still during a measurement is named in the document, with the stretch in which nothing was done.
func TestLivePausedServerIsNamed(t *testing.T) {
	e := onServers(t)
	server := e.Servers()[len(e.Servers())-1] // the only client is on the first
	s := uncontended()
	s.Operations, s.WarmUp, s.Variants = 100, 0, []string{"znode"}
	joined := 0
	docs := mustMeasure(t, e, s, sabotage("znode", func(v *variants.Variant) {
		surround(v, func(_ variants.Env, p variants.Participant) variants.Participant {
			if joined++; joined == 1 { // the rehearsal
				return p
			}
			return &interrupted{Participant: p, before: func(ctx context.Context, step int) error {
				if step != 50 {
					return nil
				}
				return pause(ctx, e.(ensemble.Breaker), server)
			}}
		})
	}))
	d := docs[0]
	named := func(reason string) bool { return strings.HasPrefix(reason, server.Name) }
	if !slices.ContainsFunc(doubts.Delayed(d), named) || !slices.ContainsFunc(d.Warnings, named) {
		t.Errorf("%s is not named: delayed by %q, warnings %q, servers %+v", server.Name, doubts.Delayed(d), d.Warnings, d.Servers)
	}
	if len(d.Servers) != len(e.Servers()) || len(d.Invalid) > 0 || !d.Oracle.Checked {
		t.Errorf("servers %+v, invalid %q, oracle %+v", d.Servers, d.Invalid, d.Oracle)
	}
}

func pause(ctx context.Context, e ensemble.Breaker, s ensemble.Server) error {
	if err := e.Break(ctx, s, ensemble.Pause); err != nil {
		return err
	}
	time.Sleep(pauseLength) // a pause has a length; nothing is waited for
	return e.Restore(ctx, s)
}
