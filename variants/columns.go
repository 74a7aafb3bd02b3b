package variants

import (
	"fmt"
	"time"
)

// Events has placed events as columns of numbers, which [encoding/gob] writes in few bytes: each number in a column of int64 is the
// difference to that of the event before. The worker of the events is left out.
type Events struct {
	At, Client, Value, Shown, Place []int64
	Kind                            []byte
	Loose, Blind                    []bool
}

// EventsOf returns events that [Log.Take] has returned, for [Events.Placed] in another process.
func EventsOf(events []Placed) (c Events) {
	var last Event
	for _, e := range events {
		c.At, c.Client = append(c.At, int64(e.At-last.At)), append(c.Client, int64(e.Client-last.Client))
		c.Value, c.Shown = append(c.Value, e.Value-last.Value), append(c.Shown, e.Shown-last.Shown)
		c.Place, c.Kind = append(c.Place, e.Place-last.Place), append(c.Kind, byte(e.Kind))
		c.Loose, c.Blind = append(c.Loose, e.loose), append(c.Blind, e.blind)
		last = e.Event
	}
	return c
}

// Placed returns the events, as events of a worker.
func (c Events) Placed(worker uint16) ([]Placed, error) {
	events := make([]Placed, len(c.At))
	for i, n := range []int{len(c.Client), len(c.Value), len(c.Shown), len(c.Place), len(c.Kind), len(c.Loose), len(c.Blind)} {
		if n != len(events) {
			return nil, fmt.Errorf("worker %d has sent %d events, and %d numbers in column %d: run the same build on all workers",
				worker, len(events), n, i+1)
		}
	}
	last := Event{Worker: worker}
	for i := range events {
		last.At, last.Client = last.At+time.Duration(c.At[i]), last.Client+int(c.Client[i])
		last.Value, last.Shown, last.Place = last.Value+c.Value[i], last.Shown+c.Shown[i], last.Place+c.Place[i]
		last.Kind = EventKind(c.Kind[i])
		events[i] = Placed{Event: last, loose: c.Loose[i], blind: c.Blind[i]}
	}
	return events, nil
}
