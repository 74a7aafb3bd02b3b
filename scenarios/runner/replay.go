package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// replay hands a finished measurement to a recorder in order of time.
func (m *measurement) replay(d *results.Document, o observation, reads []results.BystanderRead) *recorder.Recorder {
	r := recorder.New(recorder.Config{
		Operation: d.Operation, Waiting: d.Waiting, Collective: m.recipe.Collective, Version: d.Environment.ZooKeeper,
		Clients: d.Clients, WindowLength: o.end - o.start, Lockstep: m.scenario.Mode == scenarios.Lockstep,
	})
	type event struct {
		at   time.Duration
		rank int // among simultaneous events: the edges of a stretch include them
		do   func()
	}
	events := []event{{o.start, 0, func() { r.OpenWindow(o.start) }}, {o.end, 2, func() { r.CloseWindow(o.end) }}}
	if o.frozen != (span{}) {
		events = append(events, event{o.frozen.start, 0, func() { r.Freeze(o.frozen.start) }}, event{o.frozen.end, 2, func() { r.Thaw(o.frozen.end) }})
	}
	for _, n := range m.crowd.notifications() {
		events = append(events, event{n.At, 1, func() { r.Notification(n) }})
	}
	observer := m.recipe.NewObserver(variants.Findings{
		Span:      func(s variants.Span) { r.Span(s.Phase, s.Client, s.Start, s.End) },
		Violation: func(v variants.Violation) { r.Violation(results.Violation{At: v.At, Text: v.Text}) },
	})
	for _, e := range m.crowd.history() {
		events = append(events, event{e.At, 1, func() { observer.Observe(e) }})
	}
	for _, b := range reads {
		events = append(events, event{b.At + b.Response, 1, func() { r.Read(b) }})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	for _, e := range events {
		e.do()
	}
	observer.Complete()
	return r
}
