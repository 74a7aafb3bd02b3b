package results

import (
	"maps"
	"slices"
)

// validateHistograms decodes every histogram, and counts in them what is counted elsewhere, too.
func (d *Document) validateHistograms(p *problems) {
	var samples int64
	for _, phase := range slices.Sorted(maps.Keys(d.Histograms)) {
		d.Histograms[phase].validate(p, "histograms."+phase)
		samples += d.Histograms[phase].all()
	}
	p.unless(samples == d.Samples, "samples is %d, and histograms have %d", d.Samples, samples)
	operations := d.Histograms[d.Operation].all()
	p.unless(operations == d.Window.Operations, "window.operations is %d, and histograms.%s has %d", d.Window.Operations, d.Operation, operations)
	response, service := d.Histograms[BystanderPhase].all(), d.Histograms[BystanderService].all()
	p.unless(response == service, "histograms.%s has %d reads, and %s %d", BystanderPhase, response, BystanderService, service)
}

// all returns how many values there were, those included that were too large.
func (h Histogram) all() int64 { return h.Samples + h.Dropped }

func (h Histogram) validate(p *problems, path string) {
	decoded, err := h.Decode()
	if err != nil {
		p.unless(false, "%s.hdr: %v", path, err)
		return
	}
	p.unless(decoded.TotalCount() == h.Samples, "%s.samples is %d, and its hdr has %d", path, h.Samples, decoded.TotalCount())
	p.unless(h.Samples > 0 || h.HDR == "", "%s.samples is 0, and there is an hdr", path)
}

// validateFloor checks that each half has all operations, which were done equally often, and that what is missing has a
// reason.
func (d *Document) validateFloor(p *problems) {
	f := d.Floor
	if f == nil {
		return
	}
	p.unless(f.Why == "" || f.After == nil, "floor.after is there, and floor.why says that it is not")
	for _, half := range []struct {
		path  string
		times map[string]Histogram
	}{{"floor.before", f.Before}, {"floor.after", f.After}} {
		p.unless(f.Why != "" || half.times != nil, "%s is missing, and floor.why does not say why", half.path)
		if half.times == nil {
			continue
		}
		p.unless(len(half.times) == len(floorOperations()), "%s has %d operations, of %d", half.path, len(half.times), len(floorOperations()))
		for _, operation := range floorOperations() {
			h, path := half.times[operation], half.path+"."+operation
			h.validate(p, path)
			rounds := half.times[FloorRead].all()
			p.unless(h.Samples >= 1 && h.all() == rounds, "%s has %d samples, of %d rounds", path, h.Samples, rounds)
		}
	}
	for _, phase := range slices.Sorted(maps.Keys(f.Phases)) {
		p.unless(slices.Contains(d.Phases, phase), "floor.phases has %q, which is none of phases", phase)
		p.oneOf("floor.phases."+phase, f.Phases[phase], floorOperations()...)
	}
}

func (d *Document) validateHerd(p *problems) {
	h := d.Herd
	p.oneOf("herd.grouping", h.Grouping, GroupedByZxid, byPathAndTime)
	var herds, members int64
	for i, s := range h.Sizes {
		p.unless(s.Size >= 1 && s.Count >= 1, "herd.sizes[%d] is %d herds of size %d", i, s.Count, s.Size)
		p.unless(i == 0 || h.Sizes[i-1].Size < s.Size, "herd.sizes[%d] is out of order", i)
		herds += s.Count
		members += int64(s.Size) * s.Count
	}
	p.unless(h.Ungrouped == 0 || h.Ungrouped > 0 && h.Grouping == GroupedByZxid, "herd.ungrouped is %d of herds by %s", h.Ungrouped, h.Grouping)
	p.unless(members+h.Ungrouped == d.Counts.Notified, "herd.sizes has %d notifications, herd.ungrouped is %d, and counts.notified is %d",
		members, h.Ungrouped, d.Counts.Notified)
	h.Spread.validate(p, "herd.spread")
	p.unless(herds == h.Spread.all(), "herd.sizes has %d herds, and herd.spread %d", herds, h.Spread.all())
}

// validateTimeline compares the stretch with the window that it is cut from. Where it is all of it, nothing is left out.
func (d *Document) validateTimeline(p *problems) {
	t := d.Timeline
	start, end := d.Window.middle(timelineLength)
	p.unless(t.Start == start && t.End == end, "timeline goes from %s to %s, and the middle of the window from %s to %s", t.Start, t.End, start, end)
	dots, reads := int64(len(t.Notifications)), int64(len(t.Bystander))
	whole := start == d.Window.Start && end == d.Window.End
	p.unless(dots == d.Counts.Notified || dots < d.Counts.Notified && !whole, "timeline.notifications has %d, of %d counts.notified", dots, d.Counts.Notified)
	all := d.Histograms[BystanderPhase].all()
	p.unless(reads == all || reads < all && !whole, "timeline.bystander has %d, of %d in histograms.%s", reads, all, BystanderPhase)
	for i, n := range t.Notifications {
		p.unless(n.Client < d.Clients && n.At <= end-start, "timeline.notifications[%d] is of client %d at %s", i, n.Client, n.At)
	}
	for i, b := range t.Bystander {
		p.unless(b.At <= end-start && b.Service <= b.Response, "timeline.bystander[%d] is at %s, took %s, and %s from when it was due", i, b.At, b.Service, b.Response)
	}
}
