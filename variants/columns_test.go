package variants_test

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// answered is a write whose reply has arrived.
type answered int64

func (answered) Sent() bool                   { return true }
func (a answered) Zxid() (zxid int64, _ bool) { return int64(a), true }

// recorded returns events of some clients as a drain takes them, each client's together.
func recorded(random *rand.Rand, events int, number func() int64) (all []variants.Placed) {
	for len(all) < events {
		p := variants.Places{Calls: []variants.EventKind{1}}
		at, seen := time.Duration(random.Int64N(int64(time.Second))), 5<<32+number()
		client := random.IntN(1000)
		for range 1 + random.IntN(8) {
			kind := variants.EventKind(random.IntN(4))
			if random.IntN(20) == 0 {
				kind = variants.EventKind(random.IntN(256))
			}
			at += time.Duration(random.IntN(int(time.Millisecond)))
			seen += random.Int64N(20)
			shown := []int64{0, seen, seen - 3}[random.IntN(3)]
			e := variants.Event{At: at, Client: client, Kind: kind, Value: number()}
			if random.IntN(20) == 0 {
				p.Add(e, -1, shown, nil)
			} else {
				p.Add(e, seen, shown, answered(seen+1))
			}
		}
		all = p.Take(all, math.MaxInt64)
	}
	return all
}

func TestEventsRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // to be repeated
		number := func() int64 { return int64(random.Uint64()) >> random.IntN(64) }
		events := recorded(random, random.IntN(100), number)
		got, err := variants.EventsOf(events).Placed(7)
		for i := range events {
			events[i].Worker = 7
		}
		if err != nil || !slices.Equal(got, events) {
			t.Fatalf("seed %d: %v, %v; want %v", seed, got, err, events)
		}
	}
}

func TestColumnsOfDifferentLengths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // to be repeated
	events := recorded(random, 20, random.Int64)
	for name, spoil := range map[string]func(*variants.Events){
		"at":     func(c *variants.Events) { c.At = c.At[1:] },
		"client": func(c *variants.Events) { c.Client = c.Client[1:] },
		"value":  func(c *variants.Events) { c.Value = append(c.Value, 0) },
		"shown":  func(c *variants.Events) { c.Shown = nil },
		"place":  func(c *variants.Events) { c.Place = c.Place[1:] },
		"kind":   func(c *variants.Events) { c.Kind = c.Kind[1:] },
		"loose":  func(c *variants.Events) { c.Loose = c.Loose[1:] },
		"blind":  func(c *variants.Events) { c.Blind = c.Blind[1:] },
	} {
		columns := variants.EventsOf(events)
		spoil(&columns)
		if got, err := columns.Placed(1); err == nil || !strings.Contains(err.Error(), "run the same build") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// As a worker sends them, but many batches in one stream: the description of the type is written once.
func BenchmarkEvents(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // to be repeated
	events := recorded(random, 10_000, func() int64 { return random.Int64N(1000) })
	var stream bytes.Buffer
	encoder, decoder := gob.NewEncoder(&stream), gob.NewDecoder(&stream)
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := encoder.Encode(variants.EventsOf(events)); err != nil {
			b.Fatal(err)
		}
		size = stream.Len()
		var columns variants.Events
		if err := decoder.Decode(&columns); err != nil {
			b.Fatal(err)
		}
		if _, err := columns.Placed(1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/float64(len(events)), "bytes/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

// The end of a session stands just after what clients of the same worker had seen by then, however the clock of another worker is set.
func TestLooseEventsStandByTheirOwnWorker(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
		var p variants.Places
		for i, seen := range []int64{3, 6, 9} {
			p.Add(variants.Event{At: time.Duration(i) * time.Second, Client: 1, Value: seen}, seen, 0, nil)
		}
		p.Add(variants.Event{At: 1500 * time.Millisecond, Client: 2, Kind: variants.SessionLost}, 1, 0, nil)
		here := p.Take(nil, math.MaxInt64)
		for _, seen := range []int64{1, 7, 20} {
			p.Add(variants.Event{At: skew + time.Duration(seen)*100*time.Millisecond, Client: 3, Value: seen}, seen, 0, nil)
		}
		there := p.Take(nil, math.MaxInt64)
		var values []int64
		for _, e := range variants.HistoryOf(here, there) {
			if e.Kind == variants.SessionLost {
				e.Value = -1
			}
			values = append(values, e.Value)
		}
		if want := []int64{1, 3, 6, -1, 7, 9, 20}; !slices.Equal(values, want) {
			t.Errorf("with clocks %s apart: %v, want %v", skew, values, want)
		}
	}
}
