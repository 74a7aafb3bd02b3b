package results

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// validateStages compares the stages with the load that was asked for and with the whole window, of which they are the parts.
func (d *Document) validateStages(p *problems) {
	asked := d.Scenario.Stages
	whole := !d.Partial && d.Unfinished == nil && d.Repeat > 0 && !d.unloaded()
	p.unless(len(d.Stages) <= len(asked), "stages has %d elements, and scenario.stages %d", len(d.Stages), len(asked))
	p.unless(len(d.Stages) == len(asked) || !whole, "stages has %d elements, and scenario.stages %d", len(d.Stages), len(asked))
	last := StagesLast(asked)
	p.unless(len(asked) == 0 || last == d.Scenario.Duration, "scenario.stages last for %s, and scenario.duration_ns %s", last, d.Scenario.Duration)
	for i, s := range asked {
		open, closed := d.Scenario.Mode == OpenMode, d.Scenario.Mode == ClosedMode
		p.unless(s.For > 0 && (s.Rate > 0) == open && (s.Clients > 0) == closed && (i > 0 || !s.Ramp), "scenario.stages[%d] is %q in mode %s", i, s, d.Scenario.Mode)
		p.unless(s.Rate <= d.Rate && (s.Clients <= d.Clients || d.Repeat == 0), "scenario.stages[%d] is %q, and the load has at most %s", i, s, d.Load())
	}
	highest := Largest(Map(asked, StageLoad.Level))
	p.unless(len(asked) == 0 || d.Repeat == 0 || highest == cmp.Or(d.Rate, d.Clients),
		"scenario.stages have at most %d, and the load %s", highest, d.Load())
	if len(d.Stages) == 0 || len(d.Stages) > len(asked) || len(d.Phases) == 0 {
		return
	}
	d.validateParts(p)
}

// unloaded reports whether no load was applied because the background alone saturated the ensemble.
func (d *Document) unloaded() bool { return d.Background != nil && d.Background.During == nil }

// validateParts checks that the stages follow each other, and add up to the window.
func (d *Document) validateParts(p *problems) {
	at := d.Window.Start
	var sum Stage
	var samples int64
	for i, s := range d.Stages {
		path := fmt.Sprintf("stages[%d]", i)
		p.unless(s.Start == at, "%s begins at %s, and the part of the window before it ends at %s", path, s.Start, at)
		last := i == len(d.Stages)-1
		p.unless(last || s.End-s.Start == d.Scenario.Stages[i].For, "%s lasts for %s, and scenario.stages[%d] for %s", path, s.End-s.Start, i, d.Scenario.Stages[i].For)
		s.Latency.validate(p, path+".latency")
		sum.Operations, sum.Notifications = sum.Operations+s.Operations, sum.Notifications+s.Notifications
		sum.LargestHerd, sum.BacklogMax = max(sum.LargestHerd, s.LargestHerd), max(sum.BacklogMax, s.BacklogMax)
		samples, at = samples+s.Latency.All(), s.End
	}
	p.unless(at == d.Window.End, "stages end at %s, and the window at %s", at, d.Window.End)
	p.unless(sum.Operations == d.Window.Operations, "stages have %d operations, and window.operations is %d", sum.Operations, d.Window.Operations)
	p.unless(sum.Notifications == d.Counts.Notified, "stages have %d notifications, and counts.notified is %d", sum.Notifications, d.Counts.Notified)
	p.unless(sum.LargestHerd == d.Herd.Max(), "stages have herds of at most %d, and herd.sizes of %d", sum.LargestHerd, d.Herd.Max())
	p.unless(d.Open == nil && sum.BacklogMax == 0 || d.Open != nil && sum.BacklogMax == d.Open.BacklogMax, "stages have a backlog of at most %d, which is not that of open", sum.BacklogMax)
	phase := d.stagePhase()
	p.unless(samples == d.Histograms[phase].All(), "stages have %d latencies, and histograms.%s %d", samples, phase, d.Histograms[phase].All())
	p.unless(samples != d.Histograms[phase].All() || d.latenciesAddUp(), "the latencies of stages are other ones than those of histograms.%s", phase)
}

// latenciesAddUp reports whether the latencies of all stages together are those of the whole window. A histogram that cannot be read
// has been reported before.
func (d *Document) latenciesAddUp() bool {
	sum, err := MergeHistograms(Map(d.Stages, func(s Stage) Histogram { return s.Latency }))
	if err != nil {
		return true
	}
	want, err := d.Histograms[d.stagePhase()].bars()
	got, err2 := sum.bars()
	return err != nil || err2 != nil || slices.Equal(got, want)
}

// bars returns the distribution without its empty bars.
func (h Histogram) bars() ([]hdrhistogram.Bar, error) {
	decoded, err := h.Decode()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(decoded.Distribution(), func(b hdrhistogram.Bar) bool { return b.Count == 0 }), nil
}
