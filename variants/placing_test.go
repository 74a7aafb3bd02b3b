package variants_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

const publish, told, armed = variants.EventKind(1), variants.EventKind(2), variants.EventKind(3)

// write is one whose reply comes later.
type write struct{ zxid int64 }

func (*write) Sent() bool            { return true }
func (w *write) Zxid() (int64, bool) { return w.zxid, w.zxid > 0 }

// unsent is the next write of a client that sends none.
type unsent struct{}

func (unsent) Sent() bool          { return false }
func (unsent) Zxid() (int64, bool) { return 0, false }

// An event of one worker does not come before the call on another worker whose effect it shows, although the call seems later by their
// clocks, its reply is late, or the notification names no transaction.
func TestCallsOnOtherWorkersComeFirst(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		seen    int64         // by the notified client; -1 for a notification that names no transaction
		replied int           // the drain before which the call has its reply
		armed   time.Duration // when the notified client has its next answer; 0 for never
	}{
		{"a notification that names it", 8, 1, 0},
		{"and a reply that is late", 8, 3, 0},
		{"one that names none", -1, 1, 150 * ms},
		{"and a reply that is late, too", -1, 3, 150 * ms},
		{"and no answer until the end", -1, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &write{}
			calls, returns := variants.Places{Calls: []variants.EventKind{publish}}, variants.Places{}
			calls.Add(variants.Event{At: 101 * ms, Kind: publish}, 7, 0, w)
			returns.Add(variants.Event{At: 99 * ms, Client: 1, Worker: 1, Kind: told}, tt.seen, 0, unsent{})
			var kinds []variants.EventKind
			observe := func(e variants.Event) { kinds = append(kinds, e.Kind) }
			o := variants.Ordering{Apart: 4 * ms}
			for i := range 6 {
				at := time.Duration(i+1) * 100 * ms
				if i == tt.replied {
					w.zxid = 8
				}
				if tt.armed > 0 && at > tt.armed && at < tt.armed+100*ms {
					returns.Add(variants.Event{At: tt.armed, Client: 1, Worker: 1, Kind: armed}, 8, 0, unsent{})
				}
				events := calls.Take(returns.Take(nil, -1), -1)
				o.Drain(min(at, calls.Oldest()-1, returns.Oldest()-1), events, observe)
			}
			o.Flush(math.MaxInt64, calls.Take(returns.Take(nil, math.MaxInt64), math.MaxInt64), observe)
			if !slices.Equal(kinds[:2], []variants.EventKind{publish, told}) {
				t.Errorf("order %v, want the call first", kinds)
			}
		})
	}
}

// A late answer places what its client was told of before, but says nothing of what others had seen by then.
func TestLateAnswersPlaceNothingElse(t *testing.T) {
	const ms = time.Millisecond
	for _, apart := range []time.Duration{0, 4 * ms} {
		w := &write{}
		publisher, first, second := variants.Places{Calls: []variants.EventKind{publish}}, variants.Places{}, variants.Places{}
		first.Add(variants.Event{At: 99 * ms, Client: 1, Worker: 1, Kind: told}, -1, 0, unsent{})
		publisher.Add(variants.Event{At: 140 * ms, Kind: publish}, 7, 0, w)
		second.Add(variants.Event{At: 145 * ms, Client: 2, Worker: 1, Kind: told}, -1, 0, unsent{})
		second.Add(variants.Event{At: 148 * ms, Client: 2, Worker: 1, Kind: armed}, 8, 0, unsent{})
		first.Add(variants.Event{At: 150 * ms, Client: 1, Worker: 1, Kind: armed}, 9, 0, unsent{})
		var clients []int
		o, last := variants.Ordering{Apart: apart}, 100*ms
		for at := 200 * ms; at < 700*ms; at += 100 * ms {
			until, complete := last, last
			if apart > 0 {
				until = -1
			}
			events := second.Take(first.Take(publisher.Take(nil, until), until), until)
			if apart > 0 {
				complete = min(at, publisher.Oldest()-1)
			}
			o.Drain(complete, events, func(e variants.Event) { clients = append(clients, e.Client) })
			w.zxid, last = 8, at
		}
		if !slices.Equal(clients, []int{0, 2, 2, 1, 1}) {
			t.Errorf("with clocks %s apart, order of the clients %v, want the publisher before those that were told", apart, clients)
		}
	}
}

// An event whose reply never comes does not come before an earlier one of its client, which waits for what others have seen.
func TestOwnOrderOfLateEvents(t *testing.T) {
	places := variants.Places{}
	places.Add(variants.Event{At: 10 * time.Millisecond, Kind: told}, -1, 0, &write{zxid: 8})
	places.Add(variants.Event{At: 20 * time.Millisecond, Kind: armed}, -1, 0, &write{})
	var o variants.Ordering
	var kinds []variants.EventKind
	observe := func(e variants.Event) { kinds = append(kinds, e.Kind) }
	for at := time.Duration(0); at < time.Second; at += 100 * time.Millisecond {
		o.Drain(at, places.Take(nil, at), observe)
	}
	o.Flush(math.MaxInt64, nil, observe)
	if !slices.Equal(kinds, []variants.EventKind{told, armed}) {
		t.Errorf("order %v, want the client's own", kinds)
	}
}
