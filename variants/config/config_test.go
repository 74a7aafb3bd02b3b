package config

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are numbers, except of a use: "used:low-high" is one of values that may differ, "used:number" one of
// values that are the same. See [inTwo].
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Answered: []string{"updated"},
		Events: map[string]variants.EventKind{
			"updating": updating, "writing": writing, "updated": updated, "awaiting": awaiting, "reading": reading, "heldUp": heldUp, "used": used,
		},
		Value: func(t testing.TB, event string, parts []string) int64 {
			low, high, torn := strings.Cut(parts[0], "-")
			switch {
			case event != "used":
				return variantstest.Number(t, parts[0])
			case !torn:
				high = low
			}
			return variantstest.Number(t, low)<<32 | variantstest.Number(t, high)
		},
	}
}

// inTwo returns a recipe whose observer sees two events for each use, which a story has in one word.
func inTwo(r variants.Recipe) variants.Recipe {
	whole := r.NewObserver
	r.NewObserver = func(out variants.Findings) variants.Observer {
		o := whole(out)
		return variants.ObserverFunc(func(e variants.Event) {
			if e.Kind == used {
				first := e
				first.Kind, first.Value = oldest, e.Value>>32
				e.Value &= math.MaxUint32
				o.Observe(first)
			}
			o.Observe(e)
		})
	}
	return r
}

func TestCheck(t *testing.T) {
	teller().Check(t, inTwo(Recipe()), []variantstest.Case{
		{"nothing", "", ""},
		{"the first configuration", "0:used:0 0:used:0", ""},
		{"one after the other", "0:used:0 9:updating:1 9:writing:1 0:used:1 9:updated:1 0:used:1", ""},
		{"one is never seen", "9:writing:1 9:writing:2 0:used:2", ""},
		{"an old one, still in use", "9:writing:1 9:updated:1 0:used:0", ""},
		{"readers differ", "9:writing:1 0:used:1 1:used:0 1:used:1", ""},
		{"an update again, after an error", "9:writing:1 9:writing:1 9:updated:1 0:used:1", ""},
		{"torn", "9:writing:1 0:used:0-1", "client 0 acted on a torn configuration, of updates 0 to 1"},
		{"torn, after another's whole one", "9:writing:1 1:used:1 0:used:0-1", "client 0 acted on a torn configuration"},
		{"backwards", "9:writing:1 0:used:1 0:used:0", "client 0 acted on configuration 0 after 1"},
		{"older in a new life", "9:writing:1 0:used:1 0:died:0 0:rejoined:1 0:used:0", ""},
		{"backwards in a new life", "9:writing:1 0:died:0 0:rejoined:1 0:used:1 0:used:0", "client 0 acted on configuration 0 after 1"},
		{"an update again, by a writer in a new life", "9:writing:1 9:died:0 9:rejoined:1 9:writing:1 9:updated:1 0:used:1", ""},
		{"a reader that waits for the writer's next life", "9:updating:1 9:writing:1 0:reading:0 9:died:0 9:rejoined:1 9:updating:1 9:writing:1 9:updated:1 0:heldUp:0 0:used:1",
			"client 0 could not read until the writer was back"},
		{"a reader that reads while the writer is dead", "9:updating:1 9:writing:1 0:reading:0 9:died:0 0:used:0 9:rejoined:1 0:reading:0 9:updating:1 9:writing:1 9:updated:1 0:used:1", ""},
		{"an update of the writer's former life, in its next", "9:writing:1 9:updated:1 9:writing:2 9:died:0 9:rejoined:1 9:updating:2 0:used:2 9:writing:2 0:used:2", ""},
		{"backwards beside that", "9:writing:1 9:updated:1 9:writing:2 9:died:0 9:rejoined:1 9:updating:1 0:used:2 0:used:0", "client 0 acted on configuration 0 after 2"},
		{"a late write of the writer's former life", "9:writing:1 9:died:0 9:rejoined:1 9:writing:1 9:updated:1 9:writing:2 9:updated:2 0:used:2 0:used:1", "client 0 acted on configuration 1 after 2"},
		{"backwards in two steps", "9:writing:1 9:writing:2 0:used:2 0:used:1 0:used:1", "client 0 acted on configuration 1 after 2 | client 0 acted on configuration 1 after 2"},
		{"not written yet", "9:updating:1 0:used:1 9:writing:1", "client 0 acted on configuration 1 when the last was 0"},
	})
}

// A cache that is never refreshed does not go back in time. It is caught when no server can be so far behind.
func TestCheckOfConfigurationsThatStayOld(t *testing.T) {
	const old = "client 1 acted on configuration 0, although its server had shown a state with update 1 before"
	teller().Check(t, inTwo(ReadRecipe()), []variantstest.Case{
		{"by a server that lags behind", "0:writing:1 0:updated:1 1:reading:0 1:used:0 1:sees 1:reading:0 1:used:1", ""},
		{"asked for before", "0:writing:1 0:updated:1 1:reading:0 1:sees 1:used:0", ""},
		{"of a state that was shown", "0:writing:1 0:updated:1 1:sees 1:reading:0 1:used:0", old},
		{"once more after that", "0:writing:1 0:updated:1 1:used:0 1:sees 1:used:0 1:used:0", old},
		{"by a session that has seen no such state", "0:writing:1 0:updated:1 1:sees 1:rejoined:1 1:reading:0 1:used:0", ""},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, inTwo(Recipe()), []variantstest.Case{{
		"client 1 is late: it never sees update 1, and finds update 2 when it asks for it; client 0 uses update 1 twice",
		"0:awaiting:1 9:updating:1 9:writing:1 9:updated:1 0:used:1 0:used:1 9:updating:2 9:writing:2 0:used:0 1:awaiting:1 1:used:2 9:updated:2",
		"update(9)=2ms update(9)=5ms await(0)=4ms await(1)=1ms propagation(0)=2ms propagation(1)=3ms",
	}, {
		"client 0 acts on half of update 1 first, which is not what it waits for",
		"0:awaiting:1 9:updating:1 9:writing:1 0:used:0-1 9:updated:1 0:used:1",
		"update(9)=3ms await(0)=5ms propagation(0)=3ms",
	}})
}

// The copy of 3 znodes pays from 5/3 uses between two updates on, notifications counted like requests: not for one use, but for two.
func TestBreakEven(t *testing.T) {
	for _, tt := range []struct {
		n    int // with N/2 uses on average
		pays bool
	}{{2, false}, {3, false}, {4, true}, {5, true}, {20, true}} {
		through, cached := messages(readThroughVariant(), tt.n), messages(watchedCacheVariant(), tt.n)
		if got := cached < through; got != tt.pays {
			t.Errorf("N=%d: the copy pays: %v, want %v (%g against %g)", tt.n, got, tt.pays, cached, through)
		}
	}
}

// messages are the requests and notifications of an update of 3 znodes, which each reader uses once more often than the one before it.
func messages(v variants.Variant, n int) float64 {
	return v.Lockstep.Requests.AtSize(n, 3) + v.Lockstep.Notifications.AtSize(n, 3)
}

func TestReadSpans(t *testing.T) {
	teller().Spans(t, inTwo(ReadRecipe()), []variantstest.Case{{
		"three uses of the same update",
		"0:updating:1 0:writing:1 0:updated:1 1:reading:0 1:used:1 1:reading:0 2:reading:0 1:used:1 2:used:1",
		"update(0)=2ms read(1)=1ms read(1)=2ms read(2)=2ms",
	}})
}

// script is a configuration with given results.
type script struct {
	Configuration
	reads []int64
	waits int
}

func (s *script) Read(context.Context) ([][]byte, error) {
	number := s.reads[0]
	if len(s.reads) > 1 {
		s.reads = s.reads[1:]
	}
	return numbered(number, 3), nil
}

func (s *script) Changed(context.Context) error { s.waits++; return nil }

// A reader that has fallen behind catches up without waiting for updates that are over.
func TestReaderKeepsStep(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reads []int64
		waits []int // that each step adds
	}{
		{"in step", []int64{1, 1, 1, 1, 2, 2, 2, 2, 3}, []int{1, 1, 1}},
		{"behind", []int64{3}, []int{1, 0, 0}},
		{"woken for nothing", []int64{0, 0, 1, 1, 1, 1, 2}, []int{3, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{reads: tt.reads}
			r := &follower{reader: reader{config: s, env: variants.Env{Session: session.NewSession(nil, nil), Record: func(variants.EventKind, int64) {}}}}
			for step, want := range tt.waits {
				s.waits = 0
				if err := r.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s.waits != want {
					t.Errorf("step %d waited %d times, want %d", step+1, s.waits, want)
				}
			}
		})
	}
}

func TestPreparedWantsAValueForEachZnode(t *testing.T) {
	s := store{znodes: 3}
	if _, err := s.prepared(t.Context(), func(context.Context) ([][]byte, error) { return numbered(1, 2), nil }); err == nil {
		t.Error("two values were accepted for three znodes")
	}
	broken := errors.New("broken")
	if _, err := s.prepared(t.Context(), func(context.Context) ([][]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want what prepare returned", err)
	}
}
