package recorder_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/recorder"
)

// operations makes spans of operations with a given length, by clients that do nothing in between.
type operations []span

// client adds operations of one client, each of which begins after a break, until a time.
func (o *operations) client(id int, from, until, takes, rest time.Duration) *operations {
	for at := from + rest; at+takes <= until; at += takes + rest {
		*o = append(*o, took("release", id, at, at+takes))
	}
	return o
}

// clients adds several, offset against each other.
func (o *operations) clients(n int, until, takes, rest time.Duration) *operations {
	for id := range n {
		o.client(id, time.Duration(id)*(takes+rest)/time.Duration(n), until, takes, rest)
	}
	return o
}

// paused moves everything after a moment, as when a server stands still: operations under way take longer.
func (o *operations) paused(at, length time.Duration) *operations {
	for i := range *o {
		s := &(*o)[i]
		if s.Start > at {
			s.Start += length
		}
		if s.End > at {
			s.End += length
		}
	}
	return o
}

// line makes clients come to hold one after another, each for a while, as in the line for a lock.
func (o *operations) line(n int, until, hold, releases time.Duration) *operations {
	id := 0
	for at := hold; at+releases <= until; at += hold + releases {
		*o = append(*o, took("release", id%n, at, at+releases))
		id++
	}
	return o
}

// rounds makes all of 50 clients complete in a burst at the end of each round.
func (o *operations) rounds(until, length, burst time.Duration) *operations {
	const n = 50
	for at := length; at <= until; at += length {
		for id := range n {
			end := at - burst + burst*time.Duration(id)/time.Duration(n)
			*o = append(*o, took("release", id, end-ms, end))
		}
	}
	return o
}

func (o *operations) load(window stretch) raw {
	return raw{Config: recorder.Config{Operation: "release"}, Window: window, Spans: *o}
}

// Stalls are found even if they are most of the window, and slow loads with a steady pace have none. The window lasts from 2 s
// to 12 s; before it is the warm-up.
func TestStalls(t *testing.T) {
	window := between(2*s, 12*s)
	short := between(2*s, 5*s)
	for _, tt := range []struct {
		name   string
		window stretch
		spans  *operations
		want   []results.Stall // begin and length, to the nearest 100 ms
	}{
		{"nothing", window, new(operations), nil},
		{"one client, steady", window, new(operations).clients(1, 12*s, 2*ms, 0), nil},
		{"one client, paused", window, new(operations).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s),
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"many clients, paused", window, new(operations).clients(50, 7*s, 100*ms, 0).paused(4*s, 5*s),
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"most of the window", short, new(operations).clients(50, 3*s, 100*ms, 0).paused(2100*ms, 2300*ms),
			[]results.Stall{{Start: 100 * ms, Length: 2300 * ms}}},
		// No pause is longer than another, and half of the time is one.
		{"paused again and again", window, new(operations).clients(10, 9600*ms, 10*ms, 0).
			paused(3*s, 600*ms).paused(4*s, 600*ms).paused(5*s, 600*ms).paused(6*s, 600*ms),
			[]results.Stall{{Start: 1 * s, Length: 600 * ms}, {Start: 2 * s, Length: 600 * ms}, {Start: 3 * s, Length: 600 * ms}, {Start: 4 * s, Length: 600 * ms}}},
		{"paused until after the window", short, new(operations).clients(10, 7*s, 10*ms, 0).paused(2*s+100*ms, 5*s),
			[]results.Stall{{Start: 100 * ms, Length: 2900 * ms}}},
		{"paused in the warm-up", short, new(operations).clients(10, 7*s, 10*ms, 0).paused(1*s, 2500*ms),
			[]results.Stall{{Start: 0, Length: 1500 * ms}}},
		{"nothing completed in the window", short, new(operations).clients(10, 7*s, 10*ms, 0).paused(1900*ms, 9*s),
			[]results.Stall{{Start: 0, Length: 3 * s}}},
		{"400 ms are none", window, new(operations).clients(10, 12*s, 10*ms, 0).paused(4*s, 400*ms), nil},
		// The clients of a long line come round every 4 s, but one of them completes every 20 ms.
		{"a long line, paused", window, new(operations).line(200, 7*s, 15*ms, 5*ms).paused(4*s, 5*s),
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"a break of 1 s between operations, paused", window, new(operations).clients(10, 8*s, 2*ms, s).paused(4*s, 4*s),
			[]results.Stall{{Start: 1900 * ms, Length: 4100 * ms}}},

		{"slow operations", window, new(operations).clients(3, 12*s, 2500*ms, 0), nil},
		{"a hold of 1 s by one client", window, new(operations).client(0, 0, 12*s, 2*ms, s), nil},
		{"a hold of 1 s in a line", window, new(operations).line(10, 12*s, s, 2*ms), nil},
		{"a hold of 5 s in a line", window, new(operations).line(10, 12*s, 5*s, 2*ms), nil},
		{"a break of 5 s, nearly in step", window, new(operations).client(0, 0, 12*s, 2*ms, 5*s).client(1, 3*ms, 12*s, 2*ms, 5*s), nil},
		{"rounds of 1 s", window, new(operations).rounds(12*s, s, 100*ms), nil},
		{"one round, longer than the others", window, new(operations).rounds(11700*ms, 390*ms, 5*ms).paused(5*s, 300*ms), nil},
		{"polls", window, new(operations).clients(2, 12*s, 700*ms, 0), nil},
		{"lockstep with long steps", window, new(operations).line(1000, 12*s, 800*ms, 2*ms), nil},
		{"lockstep, a line-up before all complete at once", window, new(operations).rounds(12*s, 12*s, 50*ms), nil},
	} {
		t.Run(tt.name, func(t *testing.T) { wantStalls(t, tt.spans.load(tt.window), tt.want) })
	}

	paused := new(operations).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s)
	for _, tt := range []struct {
		name   string
		spans  *operations
		change func(r *raw)
		want   []results.Stall
	}{
		{"another phase goes on", paused, func(r *raw) { r.Spans = append(r.Spans, took("acquire", 0, 5*s, 6*s)) },
			[]results.Stall{{Start: 2 * s, Length: 5 * s}}},
		{"the servers were held up by zkbench", paused, func(r *raw) { r.Frozen = between(4*s, 9*s) }, nil},
		{"rounds of 1 s with long bursts", new(operations).rounds(12*s, 1200*ms, 550*ms), collective, nil},
		{"a collective load with breaks of different lengths", new(operations).clients(1, 11*s, ms, 0).paused(4*s, 300*ms).paused(6*s, 700*ms),
			collective, nil},
		{"rounds, paused", new(operations).rounds(8*s, 100*ms, 5*ms).paused(4*s, 4*s), collective,
			[]results.Stall{{Start: 2 * s, Length: 4100 * ms}}},
	} {
		r := tt.spans.load(window)
		tt.change(&r)
		t.Run(tt.name, func(t *testing.T) { wantStalls(t, r, tt.want) })
	}
}

func collective(r *raw) { r.Config.Collective = true }

func wantStalls(t *testing.T, r raw, want []results.Stall) {
	t.Helper()
	var got []results.Stall
	for _, s := range r.record(t, &results.Document{}).Stalls {
		got = append(got, results.Stall{Start: s.Start.Round(100 * ms), Length: s.Length.Round(100 * ms)})
	}
	equal(t, "stalls", got, want)
}

// An application that is observed may have nothing to do.
func TestApplicationsDoNotStall(t *testing.T) {
	d := &results.Document{Scenario: results.Scenario{Mode: results.ObservedMode}}
	if stalls := new(operations).clients(1, 7*s, 2*ms, 0).paused(4*s, 5*s).load(between(2*s, 12*s)).record(t, d).Stalls; len(stalls) > 0 {
		t.Errorf("an application has the stalls %v", stalls)
	}
}

// If the gaps that are like a stall were not left out, a stall among few operations would hide itself, and two would hide each other.
func TestStallsDoNotHideThemselves(t *testing.T) {
	l := new(operations).clients(1, 20*s, 2*ms, 198*ms).paused(4*s, 5*s).paused(12*s, 5*s).load(between(2*s, 30*s))
	wantStalls(t, l, []results.Stall{{Start: 2 * s, Length: 5200 * ms}, {Start: 10 * s, Length: 5200 * ms}})
	if n := len(l.stalls(judgement{similar: 0.5, factor: 10})); n != 2 {
		t.Errorf("the reference finds %d stalls, want 2", n)
	}
	if n := len(l.stalls(judgement{similar: math.Inf(1), factor: 10})); n > 0 {
		t.Errorf("a reference that leaves nothing out finds %d stalls", n)
	}
}

// Exponential breaks between operations leave gaps of every length; the longest of them is not a stall.
func TestThinkingClientsDoNotStall(t *testing.T) {
	var spans operations
	random := rand.New(rand.NewPCG(1, 1))
	for id := range 10 {
		for at := time.Duration(random.ExpFloat64() * float64(s)); at < time.Minute; at += time.Duration(random.ExpFloat64() * float64(s)) {
			spans = append(spans, took("release", id, at, at+2*ms))
		}
	}
	wantStalls(t, spans.load(between(0, time.Minute)), nil)
}

// A stall is reported with the servers whose reads it delayed, and an empty list is not null.
func TestStallNamesServers(t *testing.T) {
	read := func(server int, at, took time.Duration) results.BystanderRead {
		return results.BystanderRead{Server: server, At: at, Service: took, Response: took + ms}
	}
	paused := *new(operations).clients(3, 7*s, 2*ms, 0).paused(4*s, 5*s)
	for _, tt := range []struct {
		name  string
		spans operations
		reads []results.BystanderRead
		want  []string
	}{
		{"no stall", *new(operations).clients(3, 12*s, 2*ms, 0), []results.BystanderRead{read(2, 4*s, 5*s), read(1, 5*s, ms)}, nil},
		{"a paused server", paused, []results.BystanderRead{read(2, 4*s, 5*s), read(2, 5*s, 4*s), read(1, 5*s, ms), read(1, 1*s, 9*ms), read(1, 11*s, 9*ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 5s on zoo2)"}},
		{"two", paused, []results.BystanderRead{read(1, 4*s, 4*s), read(2, 4*s, 5*s), read(3, 5*s, ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 5s on zoo2, 4s on server 1)"}},
		{"a slow read before the stall", paused, []results.BystanderRead{read(1, 2500*ms, s), read(2, 5*s, s)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 1s on zoo2)"}},
		{"a read that outlasts the stall", paused, []results.BystanderRead{read(1, 8*s, 3*s)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile reads took up to 3s on server 1)"}},
		{"writes alone", paused, []results.BystanderRead{read(1, 5*s, ms), read(2, 6*s, 3*ms)},
			[]string{"no operation completed for 5s, from 2s into the window (meanwhile no read took longer than 3ms on any server)"}},
		{"no bystanders", paused, nil, []string{"no operation completed for 5s, from 2s into the window"}},
		{"more than one", *new(operations).clients(3, 6*s, 2*ms, 0).paused(4*s, 600*ms).paused(5*s, 5*s), nil,
			[]string{"no operation completed for 5s, from 3s into the window, nor in 1 other stall: 5.6s in all"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.spans.load(between(2*s, 12*s))
			r.Reads = tt.reads
			d := r.record(t, &results.Document{Servers: []results.ServerReport{{Server: 2, Name: "zoo2"}}})
			got := doubts.Delayed(d)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			text, err := json.Marshal(d)
			if err != nil || strings.Contains(string(text), `"stalls":null`) {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// Where a step has several operations, each that begins counts as progress of the client.
func TestSeriesOfWaitsIsNoStall(t *testing.T) {
	var spans operations
	for id := range 3 {
		for at := time.Duration(0); at < 5*s; at += 20 * ms {
			spans = append(spans, took("acquire", id, at, at+19*ms))
		}
		for at := 5 * s; at < 10*s; at += 20 * ms {
			spans = append(spans, took("release", id, at, at+19*ms))
		}
	}
	for _, series := range []bool{true, false} {
		l := spans.load(between(0, 10*s))
		l.Config.Series, l.Config.Waiting = series, []string{"acquire"}
		if d := l.record(t, &results.Document{}); (len(d.Stalls) == 0) != series {
			t.Errorf("series %t: stalls %v", series, d.Stalls)
		}
	}
}

// Of very many gaps, the longest are kept.
func TestShortestCandidatesMakeRoom(t *testing.T) {
	var spans operations
	at := time.Duration(0)
	for i := range 1200 {
		pause := 600 * ms
		if i%600 == 1 {
			pause = 900 * ms
		}
		for range 50 {
			at += 40 * ms
			spans = append(spans, took("release", 0, at-ms, at))
		}
		at += pause
	}
	stalls := spans.load(between(0, at)).record(t, &results.Document{}).Stalls
	var longer int
	for _, one := range stalls {
		if one.Length > 800*ms {
			longer++
		}
	}
	if len(stalls) != 1000 || longer != 2 {
		t.Errorf("%d stalls, of which %d are long; want 1000 and 2", len(stalls), longer)
	}
}

// In an open load, a gap is a stall only as far as an arrival was due in it.
func TestQuietStretchesOfOpenLoadsAreNoStalls(t *testing.T) {
	serve := func(r *recorder.Recorder, due, done time.Duration) {
		r.Span("step", 0, done-2*ms, done)
		r.Served(recorder.Served{Due: due, Begun: done - 2*ms, Done: done})
	}
	for _, tt := range []struct {
		name string
		due  time.Duration // of an arrival that is served at the twentieth second
		want []results.Stall
	}{
		{"at once", 20*s - 2*ms, nil},
		{"after a short while", 20*s - 300*ms, nil},
		{"after a long while", 17 * s, []results.Stall{{Start: 16 * s, Length: 3 * s}}},
	} {
		r := recorder.New(recorder.Config{Phase: "step", Operation: "step", Clients: 1, Open: true, WindowLength: 20 * s})
		r.OpenWindow(s)
		for at := s; at < 10*s; at += 10 * ms { // a busy stage before a quiet one
			serve(r, at, at+2*ms)
		}
		for at := 10 * s; at < 17*s; at += s {
			serve(r, at, at+2*ms)
		}
		serve(r, tt.due, 20*s)
		r.CloseWindow(21 * s)
		open := &results.Document{Batch: 1, Rate: 1, Scenario: results.Scenario{Mode: results.OpenMode}, Environment: results.Environment{SessionTimeout: s}}
		d := closed(t, r, open)
		if !slices.EqualFunc(d.Stalls, tt.want, func(a, b results.Stall) bool { return a.Start == b.Start && a.Length == b.Length }) {
			t.Errorf("%s: stalls %v, want %v", tt.name, d.Stalls, tt.want)
		}
	}
}
