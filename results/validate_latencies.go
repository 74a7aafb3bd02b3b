package results

import (
	"maps"
	"slices"
)

// validateHistograms decodes the histograms and compares their samples with other counts.
func (d *Document) validateHistograms(p *problems) {
	var samples int64
	for _, phase := range slices.Sorted(maps.Keys(d.Histograms)) {
		d.Histograms[phase].validate(p, "histograms."+phase)
		samples += d.Histograms[phase].All()
	}
	p.unless(samples == d.Samples, "samples is %d, and histograms have %d", d.Samples, samples)
	operations := d.Histograms[d.Operation].All()
	p.unless(operations == d.Window.Operations, "window.operations is %d, and histograms.%s has %d", d.Window.Operations, d.Operation, operations)
	response, service := d.Histograms[BystanderPhase].All(), d.Histograms[BystanderService].All()
	p.unless(response == service, "histograms.%s has %d reads, and %s %d", BystanderPhase, response, BystanderService, service)
}

func (h Histogram) validate(p *problems, path string) {
	decoded, err := h.Decode()
	if err != nil {
		p.unless(false, "%s.hdr: %v", path, err)
		return
	}
	p.unless(decoded.TotalCount() == h.Samples, "%s.samples is %d, and its hdr has %d", path, h.Samples, decoded.TotalCount())
	p.unless(h.Samples > 0 || h.HDR == "", "%s.samples is 0, and there is an hdr", path)
}

// validateFloor checks that both halves have all operations, each equally often, or that there is a reason if not.
func (d *Document) validateFloor(p *problems) {
	f := d.Floor
	if f == nil {
		return
	}
	p.unless(f.Why == "" || f.After == nil, "floor.after is there, and floor.why gives a reason for its absence")
	for _, half := range []struct {
		path  string
		times map[string]Histogram
	}{{"floor.before", f.Before}, {"floor.after", f.After}} {
		p.unless(f.Why != "" || half.times != nil, "%s is missing, and floor.why is empty", half.path)
		if half.times == nil {
			continue
		}
		p.unless(len(half.times) == len(floorOperations()), "%s has %d operations, of %d", half.path, len(half.times), len(floorOperations()))
		for _, operation := range floorOperations() {
			h, path := half.times[operation], half.path+"."+operation
			h.validate(p, path)
			rounds := half.times[FloorRead].All()
			p.unless(h.Samples >= 1 && h.All() == rounds, "%s has %d samples, of %d rounds", path, h.Samples, rounds)
		}
	}
	for _, phase := range slices.Sorted(maps.Keys(f.Phases)) {
		p.unless(slices.Contains(d.Phases, phase), "floor.phases has %q, which is none of phases", phase)
		p.oneOf("floor.phases."+phase, f.Phases[phase], floorOperations()...)
	}
}

func (d *Document) validateHerd(p *problems) {
	h := d.Herd
	p.oneOf("herd.grouping", h.Grouping, GroupedByZxid, GroupedByPathAndTime)
	herds, members := h.total()
	for i, s := range h.Sizes {
		p.unless(s.Size >= 1 && s.Count >= 1, "herd.sizes[%d] is %d herds of size %d", i, s.Count, s.Size)
		p.unless(i == 0 || h.Sizes[i-1].Size < s.Size, "herd.sizes[%d] is out of order", i)
	}
	p.unless(h.Ungrouped == 0 || h.Ungrouped > 0 && h.Grouping == GroupedByZxid, "herd.ungrouped is %d of herds by %s", h.Ungrouped, h.Grouping)
	p.unless(members+h.Ungrouped == d.Counts.Notified, "herd.sizes has %d notifications, herd.ungrouped is %d, and counts.notified is %d",
		members, h.Ungrouped, d.Counts.Notified)
	h.Spread.validate(p, "herd.spread")
	p.unless(herds == h.Spread.All(), "herd.sizes has %d herds, and herd.spread %d", herds, h.Spread.All())
}
