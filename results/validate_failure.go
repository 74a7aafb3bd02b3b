package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// MaxExcerpt is the largest length of the excerpt around the first fault.
const MaxExcerpt = 10 * time.Second

// MaxDots is the largest number of dots of each kind in the excerpt around the first fault. If there would be more, every other
// dot is left out.
const MaxDots = 4000

// validateFailure checks that the document has a failure if the scenario has faults, and that its parts fit each other.
func (d *Document) validateFailure(p *problems) {
	f := d.Failure
	d.validateLosses(p)
	if f == nil {
		p.unless(!d.Scenario.Faulty() || d.Repeat == 0, "failure is missing, and scenario.faults has %d", len(d.Scenario.Faults))
		p.unless(!slices.ContainsFunc(d.Stalls, func(s Stall) bool { return s.AfterFault }), "stalls have after_fault without failure")
		return
	}
	p.unless(d.Scenario.Faulty(), "failure is there, and scenario.faults is empty")
	p.unless(f.MoreFaults == 0 || len(f.Faults) == MaxFaults, "failure.more_faults is %d, and failure.faults lists %d, not %d", f.MoreFaults, len(f.Faults), MaxFaults)
	d.validateFaults(p)
	d.validateRecoveries(p)
	p.unless(f.Unavailable <= d.Window.Length(), "failure.unavailable_ns is %s, of a window of %s", f.Unavailable, d.Window.Length())
	for i, s := range d.Stalls {
		p.unless(s.Length <= f.Unavailable, "stalls[%d].length_ns is %s, and failure.unavailable_ns %s", i, s.Length, f.Unavailable)
	}
	p.unless(d.Window.Operations > 0 || f.Unavailable == d.Window.Length(), "failure.unavailable_ns is %s, and window.operations 0", f.Unavailable)
	d.validatePeaks(p)
	p.allLosses("failure.losses", f.Losses)
	d.validateExcerpt(p)
}

// validateLosses checks the losses of a document without faults. Their amounts are compared with their metrics.
func (d *Document) validateLosses(p *problems) {
	p.unless(d.Failure == nil || d.Losses == nil, "losses is there, and failure has the losses of a load with faults")
	p.allLosses("losses", d.Losses)
}

// allLosses checks the names of losses.
func (p *problems) allLosses(path string, amounts map[string]int64) {
	for _, loss := range slices.Sorted(maps.Keys(amounts)) {
		p.oneOf(path, loss, Map(losses(), func(m Descriptor) string { return m.Loss })...)
	}
}

// validateFaults checks the listed faults.
func (d *Document) validateFaults(p *problems) {
	previous := d.Window.Start
	for i, fault := range d.Failure.Faults {
		path := fmt.Sprintf("failure.faults[%d]", i)
		p.unless(previous <= fault.At && fault.At <= d.Window.End, "%s.at_ns is %s, before the previous fault or outside of the window", path, fault.At)
		previous = fault.At
		p.unless(d.Scenario.asksFor(fault.Kind), "%s.kind is %q, which scenario.faults does not ask for", path, fault.Kind)
		p.unless(fault.Recovery >= -1, "%s.recovery_ns is %d", path, fault.Recovery)
		p.unless(fault.Target != "", "%s.target is empty", path)
		p.unless(slices.IsSorted(fault.Victims), "%s.victims are not sorted", path)
		for j, victim := range fault.Victims {
			p.unless(victim < d.Clients && (j == 0 || victim != fault.Victims[j-1]), "%s.victims[%d] is client %d of %d, or stands there twice", path, j, victim, d.Clients)
		}
	}
}

// validateRecoveries compares the recoveries of the listed faults with the distribution, which has those of all faults.
func (d *Document) validateRecoveries(p *problems) {
	f := d.Failure
	f.Recovery.validate(p, "failure.recovery")
	all := int64(len(f.Faults)) + f.MoreFaults
	p.unless(f.Recovery.All()+f.Unrecovered == all, "failure.recovery has %d samples, failure.unrecovered is %d, and there are %d faults", f.Recovery.All(), f.Unrecovered, all)
	p.unless(f.Unrecovered > 0 || f.LongestUnrecovered == 0, "failure.longest_unrecovered_ns is %s, and failure.unrecovered %d", f.LongestUnrecovered, f.Unrecovered)
	var listed []time.Duration
	for _, fault := range f.Faults {
		if fault.Recovered() {
			listed = append(listed, fault.Recovery)
		}
	}
	n := int64(len(listed))
	p.unless(n == f.Recovery.All() || n < f.Recovery.All() && f.MoreFaults > 0, "failure.faults has %d recoveries, and failure.recovery %d", n, f.Recovery.All())
	if f.MoreFaults > 0 {
		return
	}
	var live LiveHistogram
	for _, recovery := range listed {
		live.Add(recovery)
	}
	want, err := f.Recovery.Decode()
	p.unless(err == nil && (live.hdr == nil || live.hdr.Equals(want)), "failure.faults has other recoveries than failure.recovery")
}

// validatePeaks compares the traffic of the busiest seconds with that of the window. A window of k seconds has at most k times
// as much, of a peak that was rounded down. The counts of a load of a number of operations go on until all clients are at rest.
func (d *Document) validatePeaks(p *problems) {
	seconds := math.Ceil(d.Window.Length().Seconds())
	for _, of := range []struct {
		path        string
		peak, total int64
	}{
		{"peak_requests", d.Failure.PeakRequests, d.Counts.TotalRequests},
		{"peak_bytes_in", d.Failure.PeakBytesIn, d.Counts.BytesIn},
	} {
		p.unless(of.peak <= of.total, "failure.%s is %d, of %d in the whole window", of.path, of.peak, of.total)
		p.unless(d.Scenario.Operations > 0 || seconds*float64(of.peak+1) > float64(of.total),
			"failure.%s is %d, too few for %d in a window of %s", of.path, of.peak, of.total, d.Window.Length())
	}
}

// validateExcerpt checks that the excerpt contains the first fault, and that its events are within it.
func (d *Document) validateExcerpt(p *problems) {
	f := d.Failure
	if f.Around == nil {
		p.unless(len(f.Faults) == 0, "failure.around is missing, and there are faults")
		return
	}
	t := f.Around.Timeline
	p.unless(d.Window.Start <= t.Start && t.Start <= t.End && t.End <= d.Window.End && t.length() <= MaxExcerpt,
		"failure.around.timeline goes from %s to %s, which is not a stretch of up to %s within the window", t.Start, t.End, MaxExcerpt)
	p.unless(len(f.Faults) > 0 && t.Start <= f.Faults[0].At && f.Faults[0].At <= t.End, "failure.around.timeline goes from %s to %s, without the first fault", t.Start, t.End)
	t.validateDots(p, "failure.around.timeline", d.Clients)
	for i, o := range f.Around.Operations {
		p.unless(o.Client < d.Clients && o.At <= t.length(), "failure.around.operations[%d] is of client %d at %s", i, o.Client, o.At)
	}
	most := max(len(t.Notifications), len(t.Bystander), len(f.Around.Operations))
	p.unless(most <= MaxDots, "failure.around has %d events of one kind, of at most %d", most, MaxDots)
}
