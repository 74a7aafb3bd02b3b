package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// errTooLong is the cause of the end of a load that takes longer than its scenario allows.
var errTooLong = errors.New("the load took longer than the scenario's at-most")

// cut is what is known of a load at the moment at which it is ended.
type cut struct {
	window, all wire.Counts // in the window, and since the load began
	done        int64       // operations
}

// apply lets the mode run the load, and says how far it came if it was not finished. It ends a load that takes longer than the scenario
// allows or that stands still. An error that shows a breach which the scenario expects ends the load in the same way. The requests of
// clients that withdraw are not counted, except after a failure.
func (m *measurement) apply(ctx context.Context) (observation, error) {
	o, err := m.applyInTime(ctx)
	if err != nil && ctx.Err() == nil && m.breached == nil && m.scenario.ExpectsBreach(m.variant) {
		m.endByBreach(ctx, err)
	}
	if err != nil && m.breached != nil {
		return m.unfinishedBy(m.breached), nil
	}
	return o, err
}

// endByBreach concludes that a load has ended by a breach of the promise, if its error shows one: clients that make no progress, or a
// client whose znode is gone although its session lives, so that another client has deleted it. Any other error is left as it is, and so
// is any error if a session is lost: the fence fails where the client does not know that yet.
func (m *measurement) endByBreach(ctx context.Context, err error) {
	var text string
	switch {
	case errors.Is(err, ErrStuck):
		text = "stuck: " + err.Error()
	case errors.Is(err, variants.ErrSessionLost):
		text = "a client found its znode gone, although the sessions of all clients live"
	default:
		return
	}
	if m.fence(ctx) != nil || slices.ContainsFunc(m.pool.clients, (*client).over) {
		return
	}
	m.cutShort("ended by an error (" + err.Error() + ") after")
	m.stream.note(func(at time.Duration) { m.stream.recorder.Violation(results.Violation{At: at, Text: text}) })
}

// applyInTime lets the mode run the load, and ends it when it has taken as long as the scenario allows.
func (m *measurement) applyInTime(ctx context.Context) (observation, error) {
	if m.scenario.AtMost == 0 {
		return m.mode.run(ctx, m)
	}
	before := m.pool.counts()
	load, end := context.WithCancelCause(ctx)
	defer end(nil)
	var ended *cut
	stop := m.afterLimit(load, func() {
		if ended = m.cut(before); ended != nil {
			end(errTooLong)
		}
	})
	o, err := m.mode.run(load, m)
	stop()
	if ended == nil || ctx.Err() != nil {
		return o, err
	}
	return observation{counts: ended.window, unfinished: &results.Unfinished{
		Done: ended.done, Requests: ended.all.TotalRequests(), Notifications: ended.all.TotalNotifications(),
	}}, nil
}

// afterLimit calls do when the load has taken as long as the scenario allows, unless stop was called before.
func (m *measurement) afterLimit(ctx context.Context, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if sleep(ctx, m.scenario.AtMost) == nil {
			do()
		}
	})
	return func() { cancel(); waiting.Wait() }
}

// cut ends the window of a load that is still going on. It returns nil if all operations are done, or the window has ended.
func (m *measurement) cut(before wire.Counts) *cut {
	if m.done.Load() >= m.operations() {
		return nil
	}
	_, window, ok := m.stream.cutWindow()
	if !ok {
		return nil
	}
	c := cut{window: window, all: m.pool.counts(), done: min(m.done.Load(), m.operations()-1)}
	c.all.Sub(before)
	return &c
}

// operations returns how many operations the clients have to complete.
func (m *measurement) operations() int64 {
	return int64(m.setting.clients) * int64(max(m.scenario.Operations, 1))
}

// drainUnfinished lets the background finish what was due when its load was ended. A load that was finished has done so already, and one
// that was not applied has left more than the servers can answer.
func (m *measurement) drainUnfinished(ctx context.Context, o observation) error {
	if o.unfinished == nil {
		return nil
	}
	return m.background.drain(ctx)
}

// uncheckedOracle returns the oracle of a load that was ended or has failed. The servers' counters are not compared: they include what the
// clients still cause while they withdraw.
func (m *measurement) uncheckedOracle() results.Oracle {
	all := m.pool.counts()
	background := m.background.counts()
	writes, _ := all.Writes()
	beside, _ := background.Writes()
	return results.Oracle{
		Why:                 errCutShort.Error(),
		ClientNotifications: all.TotalNotifications(), ClientWrites: writes, BackgroundWrites: beside,
	}
}
