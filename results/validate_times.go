package results

import (
	"time"
)

// needsSeries reports whether the document must have a series, and the surroundings of its largest herd. The document of a
// rehearsal in which the recipe broke its promise may lack everything.
func (d *Document) needsSeries() bool {
	return d.Repeat > 0
}

// lengthSlack is how much a window may differ from the scenario's duration without moving the timeline off its middle.
const lengthSlack = 500 * time.Millisecond

// validateTimeline compares the timeline with the window. The timeline is the whole window if that is at most a second long,
// else a second from its middle. If the window's length was unknown when it began, or the load stood still, it may be any second of the window.
func (d *Document) validateTimeline(p *problems) {
	t, w := d.Timeline, d.Window
	start, end := w.middle(TimelineLength)
	whole := w.Length() <= TimelineLength
	if known := d.Scenario.Duration > 0 && d.Repeat > 0 && !d.Partial && !d.EndedByBreach() && w.Length() <= d.Scenario.Duration+lengthSlack; whole || known {
		p.unless(t.Start == start && t.End == end, "timeline goes from %s to %s, and the middle of the window from %s to %s", t.Start, t.End, start, end)
	}
	p.unless(w.Start <= t.Start && t.Start <= t.End && t.End <= w.End && t.length() <= TimelineLength,
		"timeline goes from %s to %s, which is not a second within the window from %s to %s", t.Start, t.End, w.Start, w.End)
	dots, reads := int64(len(t.Notifications)), int64(len(t.Bystander))
	p.unless(dots == d.Counts.Notified || dots < d.Counts.Notified && !whole, "timeline.notifications has %d, of %d counts.notified", dots, d.Counts.Notified)
	all := d.Histograms[BystanderPhase].All()
	p.unless(reads == all || reads < all && !whole, "timeline.bystander has %d, of %d in histograms.%s", reads, all, BystanderPhase)
	t.validateDots(p, "timeline", d.Clients)
}

// length returns the duration of the stretch.
func (t Timeline) length() time.Duration { return t.End - t.Start }

// validateDots checks that all events are within the stretch, and that their clients exist.
func (t Timeline) validateDots(p *problems, path string, clients int) {
	for i, n := range t.Notifications {
		p.unless(n.Client < clients && n.At <= t.length(), "%s.notifications[%d] is of client %d at %s", path, i, n.Client, n.At)
	}
	for i, b := range t.Bystander {
		p.unless(b.At <= t.length() && b.Service <= b.Response, "%s.bystander[%d] is at %s, took %s, and %s from when it was due", path, i, b.At, b.Service, b.Response)
	}
}

// validateAroundHerd checks that the stretch around the largest herd contains that herd, unless the herd is too long for it.
func (d *Document) validateAroundHerd(p *problems) {
	t := d.AroundHerd
	if t == nil {
		p.unless(!d.needsSeries() || d.Herd.Max() == 0, "around_herd is missing, and the largest herd has %d notifications", d.Herd.Max())
		return
	}
	p.unless(d.Herd.Max() > 0, "around_herd is there, and herd.sizes has no herd")
	p.unless(t.Start <= t.End && t.length() <= TimelineLength, "around_herd goes from %s to %s, and should be within a second", t.Start, t.End)
	spread, err := d.Herd.Spread.Decode()
	short := err == nil && spread.Max() <= int64(TimelineLength/2)
	p.unless(!short || len(t.Notifications) >= d.Herd.Max(), "around_herd.notifications has %d, and the largest herd %d", len(t.Notifications), d.Herd.Max())
	t.validateDots(p, "around_herd", d.Clients)
}

// validateSeries checks that the lists have one entry for each bin, and that the window's operations, notifications and
// herds are among them. What happened outside of the window is in the series alone.
func (d *Document) validateSeries(p *problems) {
	s := d.Series
	if s == nil {
		p.unless(!d.needsSeries(), "series is missing")
		return
	}
	bins := len(s.Operations)
	p.unless(bins >= 1 && bins <= MaxBins, "series.operations has %d bins, and should have 1 to %d", bins, MaxBins)
	for _, list := range []struct {
		path string
		bins int
	}{
		{"requests", len(s.Requests)}, {"notifications", len(s.Notifications)}, {"largest_herd", len(s.LargestHerd)},
		{"slowest_read_ns", len(s.SlowestRead)}, {"samples", len(s.Samples)}, {"time_ns", len(s.Time)}, {"memory_bytes", len(s.Memory)},
	} {
		p.unless(list.bins == bins, "series.%s has %d bins, and series.operations %d", list.path, list.bins, bins)
	}
	p.unless(s.Backlog == nil || len(s.Backlog) == bins, "series.backlog has %d bins, and series.operations %d", len(s.Backlog), bins)
	d.validateSamples(p)
	doubled := s.Bin / FirstBin
	p.unless(s.Bin > 0 && s.Bin%FirstBin == 0 && doubled&(doubled-1) == 0, "series.bin_ns is %s, which is not %s times a power of two", s.Bin, FirstBin)
	p.unless(s.Bin <= FirstBin || bins >= MaxBins/2, "series.bin_ns is %s, and there are only %d bins", s.Bin, bins)
	operations, notifications := Sum(s.Operations), Sum(s.Notifications)
	p.unless(operations >= d.Window.Operations, "series.operations has %d, of %d window.operations", operations, d.Window.Operations)
	p.unless(notifications >= d.Counts.Notified, "series.notifications has %d, of %d counts.notified", notifications, d.Counts.Notified)
	largest := Largest(s.LargestHerd)
	p.unless(largest >= d.Herd.Max(), "series.largest_herd has at most %d, and herd.sizes %d", largest, d.Herd.Max())
}

// validateSamples checks that the durations of the first phase in the window are among those of the series.
func (d *Document) validateSamples(p *problems) {
	s := d.Series
	if len(d.Phases) == 0 || len(s.Samples) == 0 || len(s.Samples) != len(s.Time) {
		return
	}
	samples, of := Sum(s.Samples), d.Histograms[d.Phases[0]].All()
	p.unless(samples >= of, "series.samples has %d, of %d in histograms.%s", samples, of, d.Phases[0])
	for i, n := range s.Samples {
		p.unless(n > 0 || s.Time[i] == 0, "series.time_ns[%d] is %s, of no samples", i, s.Time[i])
	}
}
