package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// endWindow ends the window of a load that is ended, and returns the counts since before, when it began. breach says how a breach of the
// promise has ended it, such as "stuck after"; empty if it took too long. ok is false if the window has ended already.
func (m *measurement) endWindow(breach string, before wire.Counts) (o *observation, ok bool) {
	_, window, ok := m.stream.cutWindow()
	all := m.crew.state().Clients
	all.Sub(before)
	return &observation{counts: window, unfinished: &results.Unfinished{
		Breach: breach, Done: min(m.done(), m.operations()-1),
		Requests: all.TotalRequests(), Notifications: all.TotalNotifications(),
	}}, ok
}

// apply lets the mode run the load. It ends a load that takes longer than the scenario allows or that stands still, and returns the
// counts until then. An error that shows a breach, or follows one, ends the load in the same way. The requests of clients that withdraw
// are not counted, except after a failure.
func (m *measurement) apply(ctx context.Context) (observation, error) {
	o, err := m.applyInTime(ctx)
	if err != nil && ctx.Err() == nil && m.breached == nil {
		m.endByBreach(ctx, err)
	}
	if err != nil && m.breached != nil {
		return *m.breached, nil
	}
	return o, err
}

// endByBreach ends a load that has failed, if its error shows a breach of the promise or follows one, so that its document is kept. The
// error remains one, unless the scenario expects the breach that it shows.
func (m *measurement) endByBreach(ctx context.Context, err error) {
	var broken bool
	m.stream.mark(true, func(time.Duration, wire.Counts) { broken = m.stream.recorder.Broken() })
	text, expected := m.breachIn(ctx, err), m.scenario.ExpectsBreach(m.variant)
	if text == "" && (expected || !broken) {
		return
	}
	o, _ := m.endWindow("ended by an error ("+err.Error()+") after", m.first.client)
	if m.breached = o; !expected {
		m.failed = err
	}
	if text != "" {
		m.stream.Note(func(at time.Duration) { m.stream.recorder.Violation(results.Violation{At: at, Text: text}) })
	}
}

// breachIn returns the breach that an error shows: clients make no progress, or the znode of a client is gone although its session lives,
// so that another client must have deleted it. Other errors show none, and no error does if a session is lost. If a client does not know
// yet that its session is lost, the fence fails.
func (m *measurement) breachIn(ctx context.Context, err error) (text string) {
	switch {
	case errors.Is(err, ErrStuck):
		text = "stuck: " + err.Error()
	case errors.Is(err, session.ErrSessionLost):
		text = "a client found its znode gone, although the sessions of all clients live"
	default:
		return ""
	}
	if m.crew.fence(ctx, block.Fence{Waiting: true}) != nil || m.crew.state().Lost {
		return ""
	}
	return text
}

func (m *measurement) applyInTime(ctx context.Context) (observation, error) {
	if m.scenario.AtMost == 0 {
		return m.applyMode(ctx)
	}
	before := m.crew.state().Clients
	load, end := context.WithCancel(ctx)
	defer end()
	var ended *observation // nil if all operations were done in time, or the window had ended
	stop := pool.Every(m.scenario.AtMost, func() bool {
		if m.done() >= m.operations() {
			return false
		}
		if o, ok := m.endWindow("", before); ok {
			ended = o
			end()
		}
		return false
	})
	o, err := m.applyMode(load)
	stop()
	if ended == nil || ctx.Err() != nil {
		return o, err
	}
	return *ended, nil
}

// done returns how many operations clients have completed, without a warm-up.
func (m *measurement) done() int64 {
	if !m.counting.Load() {
		return m.stepped.Load()
	}
	return m.crew.state().Steps
}

// operations returns how many operations all clients together have to complete.
func (m *measurement) operations() int64 {
	return int64(m.clients) * int64(max(m.scenario.Operations, 1))
}

// uncheckedOracle returns the oracle of a load that was ended or has failed. The servers' counters are not compared, because they
// include the requests of clients that withdraw.
func (m *measurement) uncheckedOracle() results.Oracle {
	all := m.crew.state().Clients
	background := m.background.Counts()
	writes, _ := all.Writes()
	beside, _ := background.Writes()
	return results.Oracle{
		Why:                 errCutShort.Error(),
		ClientNotifications: all.TotalNotifications(), ClientWrites: writes, BackgroundWrites: beside,
	}
}

// leastPartial is the longest window that is not kept in part. Such a window is quickly measured again.
const leastPartial = time.Minute

// errCutShort is the reason in a document without the parts that are measured after the load, such as the oracle.
var errCutShort = errors.New("the load was not finished")

// closePartial completes the document of a load that was not finished. Without a window to keep, the document has only the
// violations. Counters of servers are missing because they are read at rest, and orphans because they are counted after the load.
func (m *measurement) closePartial(d *results.Document, record *recorder.Recorder) {
	if m.crew.lost() || m.part == nil || m.Partial == nil || m.repeat == 0 || m.scenario.Duration <= leastPartial {
		record.CloseFailed(d)
		return
	}
	o := *m.part
	o.unserved.Begun = max(o.unserved.Begun-record.ServedInWindow(), 0)
	o.examined = m.crew.examine()
	m.stream.bystanders.Examine(&o.examined.Health)
	m.describe(d, o)
	if m.floor != nil {
		m.floor.Why = cmp.Or(m.floor.Why, errCutShort.Error())
		d.Floor = m.floor
	}
	if m.faulty() && m.recipe.Orphans != nil {
		record.Uncounted(string(variants.Orphans))
	}
	d.Partial = true
	record.Close(d, o.unserved)
	d.Warnings = append(d.Warnings, o.examined.Warnings...)
}
