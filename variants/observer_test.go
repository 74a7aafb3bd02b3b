package variants_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// A span does not begin in one life of a client and end in another.
func TestSpansEndWithALife(t *testing.T) {
	for _, kind := range []variants.EventKind{variants.Died, variants.Rejoined, variants.SessionLost} {
		spans := 0
		o := variants.Findings{Span: func(variants.Span) { spans++ }}.Between("x", 1, 2)
		for i, e := range []variants.Event{{Kind: 1}, {Client: 1, Kind: 1}, {Kind: kind}, {Kind: 2}, {Client: 1, Kind: 2}} {
			e.At = time.Duration(i + 1)
			o.Observe(e)
		}
		want := 1 // the span of the other client
		if kind == variants.SessionLost {
			want = 2
		}
		if spans != want {
			t.Errorf("%d spans over an event of kind %d, want %d", spans, kind, want)
		}
	}
}

// Clients of a recipe that is fixed only for drivers can join again in Go, and not in a driver.
func TestFixed(t *testing.T) {
	driven := variants.Variant{Driver: &variants.Driver{}}
	for _, tt := range []struct {
		recipe  variants.Recipe
		variant variants.Variant
		want    bool
	}{
		{variants.Recipe{}, driven, false},
		{variants.Recipe{Workload: variants.Workload{Fixed: true}}, variants.Variant{}, true},
		{variants.Recipe{DrivenFixed: true}, variants.Variant{}, false},
		{variants.Recipe{DrivenFixed: true}, driven, true},
	} {
		if got := tt.recipe.IsFixed(tt.variant); got != tt.want {
			t.Errorf("fixed %t, fixed for drivers %t, in a driver %t: %t, want %t", tt.recipe.Fixed, tt.recipe.DrivenFixed, tt.variant.Driver != nil, got, tt.want)
		}
	}
}

// Between pairs events of one client, and Across pairs events of one value.
func TestPairsOfEvents(t *testing.T) {
	var between, across int
	count := func(n *int) variants.Findings { return variants.Findings{Span: func(variants.Span) { *n++ }} }
	all := variants.Observers{count(&between).Between("x", 1, 2), count(&across).Across("x", 1, 2)}
	for i, e := range []variants.Event{{Client: 0, Kind: 1}, {Client: 1, Kind: 2}, {Client: 0, Kind: 1, Value: 7}, {Client: 0, Kind: 2, Value: 8}} {
		e.At = time.Duration(i + 1)
		all.Observe(e)
	}
	all.Complete()
	if between != 1 || across != 1 {
		t.Errorf("%d spans between and %d across, want 1 and 1", between, across)
	}
}

func BenchmarkRecord(b *testing.B) {
	l := variants.NewLog(time.Now(), 0, func() (seen, shown int64, next variants.Write) { return 0, 0, nil }, []variants.EventKind{1})
	var taken []variants.Placed
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Record(1, 42)
		if i%1000 == 999 { // as the runner does from time to time
			taken = l.Take(taken[:0], math.MaxInt64)
		}
	}
}

// A Join gives away a client's end of a variant, or says why it could not be opened, and makes no participant.
func TestOpened(t *testing.T) {
	refused := errors.New("refused")
	open := func(_ context.Context, env variants.Env) (string, error) {
		if env.Root == "" {
			return "", refused
		}
		return "at " + env.Root, nil
	}
	join := variants.JoinBy(open, func(string, variants.Env) variants.Participant {
		t.Error("a participant is made")
		return nil
	})
	var end any
	opened := func(e any) { end = e }
	if _, err := join(t.Context(), variants.Env{Root: "/d", Opened: opened}); end != "at /d" || err != nil {
		t.Errorf("opened %q, %v", end, err)
	}
	if _, err := join(t.Context(), variants.Env{Opened: opened}); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}
