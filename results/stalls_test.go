package results_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// load makes samples of an operation that takes as long as it does, by clients that do nothing in between.
type load []results.Sample

// client adds operations of one client, each of which begins after a break, until a time.
func (l *load) client(id int, from, until, takes, rest time.Duration) *load {
	for at := from + rest; at+takes <= until; at += takes + rest {
		*l = append(*l, results.Sample{Phase: "release", Client: id, Start: at, End: at + takes})
	}
	return l
}

// clients adds several, offset against each other.
func (l *load) clients(n int, until, takes, rest time.Duration) *load {
	for id := range n {
		l.client(id, time.Duration(id)*(takes+rest)/time.Duration(n), until, takes, rest)
	}
	return l
}

// paused moves everything after a moment, as a server that stands still does: what is under way takes longer.
func (l *load) paused(at, length time.Duration) *load {
	for i := range *l {
		s := &(*l)[i]
		if s.Start > at {
			s.Start += length
		}
		if s.End > at {
			s.End += length
		}
	}
	return l
}

// line makes clients come to hold one after another, each for a while, as in the line for a lock.
func (l *load) line(n int, until, hold, releases time.Duration) *load {
	id := 0
	for at := hold; at+releases <= until; at += hold + releases {
		*l = append(*l, results.Sample{Phase: "release", Client: id % n, Start: at, End: at + releases})
		id++
	}
	return l
}

// rounds makes all of 50 clients complete in a burst at the end of each round.
func (l *load) rounds(until, length, burst time.Duration) *load {
	const n = 50
	for at := length; at <= until; at += length {
		for id := range n {
			end := at - burst + burst*time.Duration(id)/time.Duration(n)
			*l = append(*l, results.Sample{Phase: "release", Client: id, Start: end - ms, End: end})
		}
	}
	return l
}

// Stalls are found whatever they do to the percentiles, and slow loads that go on steadily have none. The window goes
// from 2 s to 12 s; what is before it is warm-up.
func TestStalls(t *testing.T) {
	const s = time.Second
	window := results.Window{Start: 2 * s, End: 12 * s}
	short := results.Window{Start: 2 * s, End: 5 * s}
	frozen := results.Stretch{Start: 4 * s, End: 9 * s}
	for _, tt := range []struct {
		name string
		raw  results.Raw
		want []results.Stall // begin and length, to the nearest 100 ms
	}{
		{"nothing", results.Raw{Window: window}, nil},
		{"one client, steady", results.Raw{Window: window, Samples: *new(load).clients(1, 12*s, 2*ms, 0)}, nil},
		{"one client, paused", results.Raw{Window: window, Samples: *new(load).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s)},
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		// 50 of some 3,500 operations take 5 s, which is the p99.
		{"the stall is the p99", results.Raw{Window: window, Samples: *new(load).clients(50, 7*s, 100*ms, 0).paused(4*s, 5*s)},
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"and most of the window", results.Raw{Window: short, Samples: *new(load).clients(50, 3*s, 100*ms, 0).paused(2100*ms, 2300*ms)},
			[]results.Stall{{Start: 100 * ms, Length: 2300 * ms}}},
		// No pause is longer than another, and half of the time is one.
		{"paused again and again", results.Raw{Window: window, Samples: *new(load).clients(10, 9600*ms, 10*ms, 0).
			paused(3*s, 600*ms).paused(4*s, 600*ms).paused(5*s, 600*ms).paused(6*s, 600*ms)},
			[]results.Stall{{Start: 1 * s, Length: 600 * ms}, {Start: 2 * s, Length: 600 * ms}, {Start: 3 * s, Length: 600 * ms}, {Start: 4 * s, Length: 600 * ms}}},
		{"paused until after the window", results.Raw{Window: short, Samples: *new(load).clients(10, 7*s, 10*ms, 0).paused(2*s+100*ms, 5*s)},
			[]results.Stall{{Start: 100 * ms, Length: 2900 * ms}}},
		{"paused in the warm-up", results.Raw{Window: short, Samples: *new(load).clients(10, 7*s, 10*ms, 0).paused(1*s, 2500*ms)},
			[]results.Stall{{Start: 0, Length: 1500 * ms}}},
		{"nothing completed in the window", results.Raw{Window: short, Samples: *new(load).clients(10, 7*s, 10*ms, 0).paused(1900*ms, 9*s)},
			[]results.Stall{{Start: 0, Length: 3 * s}}},
		{"400 ms are none", results.Raw{Window: window, Samples: *new(load).clients(10, 12*s, 10*ms, 0).paused(4*s, 400*ms)}, nil},
		{"another phase goes on", results.Raw{Window: window, Samples: append(
			*new(load).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s), results.Sample{Phase: "acquire", Start: 5 * s, End: 6 * s})},
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		// The clients of a long line come round every 4 s, but one of them completes every 20 ms.
		{"a long line, paused", results.Raw{Window: window, Samples: *new(load).line(200, 7*s, 15*ms, 5*ms).paused(4*s, 5*s)},
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"a break of 1 s between operations, paused", results.Raw{Window: window, Samples: *new(load).clients(10, 8*s, 2*ms, s).paused(4*s, 4*s)},
			[]results.Stall{{Start: 1900 * ms, Length: 4100 * ms}}},

		{"slow operations", results.Raw{Window: window, Samples: *new(load).clients(3, 12*s, 2500*ms, 0)}, nil},
		{"a hold of 1 s by one client", results.Raw{Window: window, Samples: *new(load).client(0, 0, 12*s, 2*ms, s)}, nil},
		{"a hold of 1 s in a line", results.Raw{Window: window, Samples: *new(load).line(10, 12*s, s, 2*ms)}, nil},
		{"a hold of 5 s in a line", results.Raw{Window: window, Samples: *new(load).line(10, 12*s, 5*s, 2*ms)}, nil},
		{"a break of 5 s, nearly in step", results.Raw{Window: window, Samples: *new(load).client(0, 0, 12*s, 2*ms, 5*s).client(1, 3*ms, 12*s, 2*ms, 5*s)}, nil},
		{"rounds of 1 s", results.Raw{Window: window, Samples: *new(load).rounds(12*s, s, 100*ms)}, nil},
		{"one round, longer than the others", results.Raw{Window: window, Samples: *new(load).rounds(11700*ms, 390*ms, 5*ms).paused(5*s, 300*ms)}, nil},
		{"rounds of 1 s with long bursts", results.Raw{Window: window, Collective: true, Samples: *new(load).rounds(12*s, 1200*ms, 550*ms)}, nil},
		{"polls", results.Raw{Window: window, Samples: *new(load).clients(2, 12*s, 700*ms, 0)}, nil},
		{"lockstep with long steps", results.Raw{Window: window, Samples: *new(load).line(1000, 12*s, 800*ms, 2*ms)}, nil},
		{"lockstep, a line-up before all complete at once", results.Raw{Window: window, Samples: *new(load).rounds(12*s, 12*s, 50*ms)}, nil},
		{"the servers were held up by zkbench", results.Raw{Window: window, Frozen: frozen,
			Samples: *new(load).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.raw.Operation = "release"
			d := &results.Document{}
			if err := d.Observe(tt.raw); err != nil {
				t.Fatal(err)
			}
			var got []results.Stall
			for _, s := range d.Stalls {
				got = append(got, results.Stall{Start: s.Start.Round(100 * ms), Length: s.Length.Round(100 * ms)})
			}
			if !slices.EqualFunc(got, tt.want, func(a, b results.Stall) bool { return a.Start == b.Start && a.Length == b.Length }) {
				t.Errorf("stalls %v, want %v", got, tt.want)
			}
		})
	}
}

// Exponential breaks between operations leave gaps of every length; the longest of them is no stall.
func TestThinkingClientsDoNotStall(t *testing.T) {
	var samples load
	random := rand.New(rand.NewPCG(1, 1))
	for id := range 10 {
		for at := time.Duration(random.ExpFloat64() * float64(time.Second)); at < time.Minute; at += time.Duration(random.ExpFloat64() * float64(time.Second)) {
			samples = append(samples, results.Sample{Phase: "release", Client: id, Start: at, End: at + 2*ms})
		}
	}
	d := &results.Document{}
	if err := d.Observe(results.Raw{Operation: "release", Samples: samples, Window: results.Window{End: time.Minute}}); err != nil {
		t.Fatal(err)
	}
	if len(d.Stalls) > 0 {
		t.Errorf("stalls %v", d.Stalls)
	}
}

// A stall is reported with the servers whose reads it delayed, and an empty list is not null.
func TestStallNamesServers(t *testing.T) {
	const s = time.Second
	read := func(server int, at, took time.Duration) results.BystanderRead {
		return results.BystanderRead{Server: server, At: at, Service: took, Response: took + ms}
	}
	window := results.Window{Start: 2 * s, End: 12 * s}
	paused := *new(load).clients(3, 7*s, 2*ms, 0).paused(4*s, 5*s)
	for _, tt := range []struct {
		name    string
		samples load
		reads   []results.BystanderRead
		want    []string
	}{
		{"no stall", *new(load).clients(3, 12*s, 2*ms, 0), []results.BystanderRead{read(2, 4*s, 5*s), read(1, 5*s, ms)}, nil},
		{"a paused server", paused, []results.BystanderRead{read(2, 4*s, 5*s), read(2, 5*s, 4*s), read(1, 5*s, ms), read(1, 1*s, 9*ms), read(1, 11*s, 9*ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 5s on zoo2)"}},
		{"two", paused, []results.BystanderRead{read(1, 4*s, 4*s), read(2, 4*s, 5*s), read(3, 5*s, ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 5s on zoo2, 4s on server 1)"}},
		{"writes alone", paused, []results.BystanderRead{read(1, 5*s, ms), read(2, 6*s, 3*ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile no read took longer than 3ms on any server)"}},
		{"no bystanders", paused, nil, []string{"no operation completed for 5s, from 2s into the window"}},
		{"more than one", *new(load).clients(3, 6*s, 2*ms, 0).paused(4*s, 600*ms).paused(5*s, 5*s), nil,
			[]string{"no operation completed for 5s, from 3s into the window, nor in 1 other stall: 5.6s in all"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &results.Document{Servers: []results.ServerReport{{Server: 2, Name: "zoo2"}}}
			if err := d.Observe(results.Raw{Operation: "release", Samples: tt.samples, Bystander: tt.reads, Window: window}); err != nil {
				t.Fatal(err)
			}
			if got := d.Delayed(); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			text, err := json.Marshal(d)
			if err != nil || strings.Contains(string(text), `"stalls":null`) {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}
