package results

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// problems lists the contradictions in a document, each with the path of a leaf.
type problems []string

// mostProblems is the largest number of problems in an error. One missing part may cause many of them.
const mostProblems = 8

func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// err returns all problems as one error, nil without any.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	text := strings.Join(p[:min(len(p), mostProblems)], "; ")
	if more := len(p) - mostProblems; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return errors.New(text)
}

// The modes of a load.
const (
	ClosedMode   = "closed"
	LockstepMode = "lockstep"
	OpenMode     = "open"
	// ObservedMode is the mode of a load that another program has applied. Neither its length nor its operations are given in advance.
	ObservedMode = "observed"
)

// Validate returns an error that lists the contradictions in a document. Its checks hold for each document that zkbench
// writes, even if the run was disturbed or the recipe is broken.
func (d *Document) Validate() error {
	var p problems
	d.validateLabels(&p)
	d.validateLoad(&p)
	d.validatePhases(&p)
	d.validateWindow(&p)
	d.validatePartial(&p)
	d.validateCounts(&p)
	d.validateHistograms(&p)
	d.validateHerd(&p)
	d.validateFloor(&p)
	d.validateTimeline(&p)
	d.validateAroundHerd(&p)
	d.validateSeries(&p)
	d.validateExpected(&p)
	d.validateConnect(&p)
	d.validateUnfinished(&p)
	d.validateFailure(&p)
	d.validateOpen(&p)
	d.validateStages(&p)
	d.validateBackground(&p)
	d.validateOracle(&p)
	d.validateMetrics(&p)
	return p.err()
}

func (d *Document) validateLabels(p *problems) {
	for _, label := range []struct{ path, text string }{{"run", d.Run}, {"scenario.name", d.Scenario.Name}, {"recipe", d.Recipe}, {"variant", d.Variant}} {
		p.unless(label.text != "", "%s is empty", label.path)
	}
	p.oneOf("kind", d.Kind, kinds()...)
	p.oneOf("environment.engine", d.Environment.Engine, "container", "process", "external", Embedded)
	p.unless(!d.Started.IsZero(), "started is no time")
	p.unless(d.Clients >= 1, "clients is %d", d.Clients)
	p.unless(d.Batch >= 1, "batch is %d", d.Batch)
	p.unless(len(d.Environment.Servers) > 0, "environment.servers is empty")
	p.unless(d.Environment.SessionTimeout > 0, "environment.session_timeout_ns is 0")
	for i, v := range d.Violations {
		p.unless(v.Text != "", "violations[%d].text is empty", i)
	}
	p.unless(d.MoreViolations == 0 || len(d.Violations) == MaxViolations, "more_violations is %d, and violations lists %d, not %d", d.MoreViolations, len(d.Violations), MaxViolations)
}

func (p *problems) oneOf(path, value string, values ...string) {
	p.unless(slices.Contains(values, value), "%s is %q, which is none of %s", path, value, strings.Join(values, ", "))
}

func (d *Document) validateLoad(p *problems) {
	s := d.Scenario
	p.oneOf("scenario.mode", s.Mode, ClosedMode, LockstepMode, OpenMode, ObservedMode)
	p.unless(s.Size >= 1, "scenario.size is %d", s.Size)
	p.unless(s.Repeats >= 1, "scenario.repeats is %d", s.Repeats)
	p.unless((s.BystanderRate >= 1) != (s.Mode == ObservedMode), "scenario.bystander_rate is %d, and scenario.mode %s", s.BystanderRate, s.Mode)
	p.unless(d.Repeat <= s.Repeats, "repeat is %d of %d (scenario.repeats)", d.Repeat, s.Repeats)
	p.unless(d.Repeat > 0 || len(d.Violations) > 0, "repeat is 0, a rehearsal, without violations")
	if s.Mode == LockstepMode || s.Mode == ObservedMode {
		p.unless(s.Operations == 0 && s.Duration == 0 && s.WarmUp == 0 && s.Think == 0, "scenario has parts of a load of mode closed, and mode %s", s.Mode)
	} else {
		p.unless((s.Operations > 0) != (s.Duration > 0), "scenario has operations %d and duration_ns %d, of which one is given", s.Operations, s.Duration)
	}
	p.unless(s.Mode != OpenMode || s.Operations == 0 && s.Think == 0, "scenario has parts of a load of mode closed, and mode open")
	p.unless(s.Mode == OpenMode || s.Rates == "" && s.Arrivals == "", "scenario has rates %q and arrivals %q, and mode %s", s.Rates, s.Arrivals, s.Mode)
	p.unless(d.Repeat == 0 || slices.Contains(listed(s.ClientCounts), fmt.Sprint(d.Clients)),
		"clients is %d, which is none of scenario.client_counts %s", d.Clients, s.ClientCounts)
	asked := strings.Split(s.Variants, ",")
	p.unless(s.Variants == "" || slices.Contains(asked, d.Variant) || slices.Contains(asked, d.Recipe+"/"+d.Variant),
		"variant is %q, which is none of scenario.variants %q", d.Variant, s.Variants)
	p.unless(d.KnownBroken != "" || !slices.Contains(strings.Split(s.Broken, ","), d.Variant), "scenario.broken has the variant %s, and known_broken is empty", d.Variant)
	p.unless(s.Heap == (d.Heap != nil), "scenario.heap is %t, and heap is there: %t", s.Heap, d.Heap != nil)
}

func (d *Document) validatePhases(p *problems) {
	known := func(path, phase string) {
		p.unless(slices.Contains(d.Phases, phase), "%s is %q, which is none of phases", path, phase)
	}
	known("operation", d.Operation)
	for i, phase := range d.Waiting {
		known(fmt.Sprintf("waiting_phases[%d]", i), phase)
	}
	for i, phase := range d.UntimedPhases {
		known(fmt.Sprintf("untimed_phases[%d]", i), phase)
	}
	for i, s := range d.Shares {
		known(fmt.Sprintf("shares[%d].phase", i), s.Phase)
		known(fmt.Sprintf("shares[%d].of", i), s.Of)
	}
	p.unless(len(slices.Compact(slices.Sorted(slices.Values(d.Phases)))) == len(d.Phases), "phases has one of them twice")
}

// CountsWhole reports whether the window begins and ends at rest, so that its counts belong to whole operations. Faults leave
// requests without a reply, and operations that never end; so does the end of a load that is not finished.
func (d *Document) CountsWhole() bool {
	return !d.Scenario.Faulty() && d.Unfinished == nil && (d.Scenario.Mode == LockstepMode || d.Scenario.Operations > 0)
}

// CountsExactly reports whether the formulas are exact. They are upper bounds if the requests of clients can overlap, or if
// the window contains parts of operations. They are not checked if there are faults, because a recovery has a cost, too.
func (d *Document) CountsExactly() bool {
	return d.CountsWhole() && (d.Scenario.Mode == LockstepMode || d.Clients == 1)
}

func (d *Document) validateWindow(p *problems) {
	w := d.Window
	p.unless(w.Lockstep == (d.Scenario.Mode == LockstepMode), "window.lockstep is %t, and scenario.mode %s", w.Lockstep, d.Scenario.Mode)
	shortened := d.Repeat == 0 || d.Partial || d.Unfinished != nil || d.backgroundSaturates() != "" // a rehearsal, an interruption, the end of a load that is stuck, or no load at all
	p.unless(shortened || w.Length() >= d.Scenario.Duration, "window has a length of %s, less than scenario.duration_ns", w.Length())
	p.unless(w.StarvingWaits <= w.UnfinishedWaits, "window.starving_waits is %d, of %d unfinished_waits", w.StarvingWaits, w.UnfinishedWaits)
	p.unless(w.OldestWait <= w.End && (w.UnfinishedWaits > 0 || w.OldestWait == 0), "window.oldest_wait_ns is %s, with %d unfinished_waits and window.end_ns %s",
		w.OldestWait, w.UnfinishedWaits, w.End)
	p99 := Map(d.Waiting, func(phase string) time.Duration { return time.Duration(d.Metrics[phase+"-p99-ns"].Value) })
	if len(p99) == 0 {
		p.unless(w.UnfinishedWaits == 0, "window.unfinished_waits is %d without waiting_phases", w.UnfinishedWaits)
		return
	}
	p.unless(w.StarvingWaits > 0 || w.OldestWait <= slices.Max(p99), "window.starving_waits is 0, and oldest_wait_ns %s, longer than every p99", w.OldestWait)
	p.unless(w.StarvingWaits == 0 || w.OldestWait > slices.Min(p99), "window.starving_waits is %d, and oldest_wait_ns %s, shorter than every p99", w.StarvingWaits, w.OldestWait)
}

// validatePartial checks that a partial document has nothing that is known at the end of a measurement only.
func (d *Document) validatePartial(p *problems) {
	if !d.Partial {
		return
	}
	w := d.Window
	p.unless(d.Repeat > 0, "partial is true, and repeat is 0")
	p.unless(!d.Oracle.Checked, "partial is true, and so is oracle.checked")
	p.unless(d.Floor == nil || d.Floor.After == nil, "partial is true, and floor.after is there")
	p.unless(w.UnfinishedWaits == 0, "partial is true, and window.unfinished_waits is %d", w.UnfinishedWaits)
}

func (d *Document) validateCounts(p *problems) {
	c := d.Counts
	for _, total := range []struct {
		path string
		sum  int64
		want int64
	}{
		{"total_requests", sumOf(c.Requests), c.TotalRequests},
		{"total_failed", sumOf(c.Failed), c.TotalFailed},
		{"notified", sumOf(c.Notifications), c.Notified},
	} {
		p.unless(total.sum == total.want, "counts.%s is %d, and its parts have %d", total.path, total.want, total.sum)
	}
	p.unless(c.Writes <= c.TotalRequests, "counts.writes is %d, of %d total_requests", c.Writes, c.TotalRequests)
	p.unless(c.FailedWrites <= c.TotalFailed, "counts.failed_writes is %d, of %d total_failed", c.FailedWrites, c.TotalFailed)
	p.unless(c.SpuriousWakes <= c.Notified, "counts.spurious_wakeups is %d, of %d notified", c.SpuriousWakes, c.Notified)
	if !d.CountsWhole() {
		return // a reply in the window may belong to a request before the window
	}
	for _, op := range slices.Sorted(maps.Keys(c.Failed)) {
		p.unless(c.Failed[op] <= c.Requests[op], "counts.failed.%s is %d, of %d requests", op, c.Failed[op], c.Requests[op])
	}
	p.unless(c.FailedWrites <= c.Writes, "counts.failed_writes is %d, of %d writes", c.FailedWrites, c.Writes)
}

func sumOf(counts map[string]int64) int64 { return Sum(slices.Collect(maps.Values(counts))) }

func (d *Document) validateExpected(p *problems) {
	p.unless(d.Expected.Exact == d.CountsExactly(), "expected.exact is %t, and should be %t for such a load", d.Expected.Exact, d.CountsExactly())
	p.unless(d.Expected.Equal == d.equalsFormulas(), "expected.equal is %t, and by counts and formulas it is %t", d.Expected.Equal, d.equalsFormulas())
	for _, name := range slices.Sorted(maps.Keys(d.Expected.Costs)) {
		p.unless(slices.Contains(CountMetrics(), name), "expected.costs.%s is no count", name)
	}
}

// validateOracle compares the oracle, whose snapshots enclose the window, with the counts. For a window that begins and ends
// at rest, both are equal.
func (d *Document) validateOracle(p *problems) {
	o, c := d.Oracle, d.Counts
	p.unless((o.Checked && !o.Doubtful()) == (o.Why == ""), "oracle.checked is %t, and why it was not, or not exactly, is %q", o.Checked, o.Why)
	p.unless(min(o.LostNotifications, o.ResentNotifications, o.SessionTransactions, o.UnknownNotifications, o.UnknownTransactions) >= 0,
		"the oracle has a count below zero")
	p.unless(o.ResentNotifications <= o.ClientNotifications, "oracle.resent_notifications is %d, of %d", o.ResentNotifications, o.ClientNotifications)
	p.unless(o.Checked || o.ServerNotifications == 0 && o.ServerTransactions == 0, "oracle.checked is false, and there are counts of servers")
	p.unless(!o.Checked || !d.Health.LeaderChanged, "oracle.checked is true, although health.leader_changed is")
	p.unless(c.Notified <= o.ClientNotifications, "counts.notified is %d, and oracle.client_notifications %d", c.Notified, o.ClientNotifications)
	p.unless(c.Writes <= o.ClientWrites && (c.Writes == o.ClientWrites || !d.CountsWhole()), "counts.writes is %d, and oracle.client_writes %d", c.Writes, o.ClientWrites)
}

// validateMetrics computes the metrics again and compares them.
func (d *Document) validateMetrics(p *problems) {
	computed, err := d.ComputeMetrics()
	if err != nil {
		p.unless(false, "metrics cannot be computed again: %v", err)
		return
	}
	all := maps.Clone(computed)
	maps.Copy(all, d.Metrics)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		got, present := d.Metrics[name]
		want, expected := computed[name]
		switch {
		case !present:
			p.unless(false, "metrics.%s is missing: it is %v %s", name, want.Value, want.Unit)
		case !expected:
			p.unless(false, "metrics.%s is %v %s, and does not follow from the measurement", name, got.Value, got.Unit)
		default:
			p.unless(got == want, "metrics.%s is %v %s, and computed again %v %s", name, got.Value, got.Unit, want.Value, want.Unit)
		}
	}
}
