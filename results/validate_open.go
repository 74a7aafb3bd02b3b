package results

import (
	"fmt"
	"math"
	"slices"
)

// validateOpen compares the arrivals with the histograms, the series and the scenario. In a rehearsal, clients loop.
func (d *Document) validateOpen(p *problems) {
	p.unless((d.Scenario.Mode == OpenMode) == (d.Rate > 0), "rate is %d, and scenario.mode is %s", d.Rate, d.Scenario.Mode)
	o, isOpen := d.Open, d.Scenario.Mode == OpenMode && d.Repeat > 0
	p.unless(isOpen == (o != nil), "open is there: %t, and scenario.mode is %s", o != nil, d.Scenario.Mode)
	for _, phase := range []string{ResponsePhase, ServicePhase} {
		_, there := d.Histograms[phase]
		p.unless(isOpen || !there, "histograms.%s is there, and scenario.mode is %s", phase, d.Scenario.Mode)
	}
	p.unless(d.Series == nil || isOpen == (d.Series.Backlog != nil), "series.backlog is there: %t, and scenario.mode is %s",
		d.Series != nil && d.Series.Backlog != nil, d.Scenario.Mode)
	if o == nil {
		return
	}
	p.oneOf("scenario.arrivals", d.Scenario.Arrivals, "constant", "poisson")
	o.Lateness.validate(p, "open.lateness")
	d.validateArrivals(p)
	for path, n := range map[string]int64{
		"histograms.response": d.Histograms[ResponsePhase].All(), "histograms.service": d.Histograms[ServicePhase].All(), "open.lateness": o.Lateness.All(),
	} {
		p.unless(n == o.Served, "open.served is %d, and %s has %d", o.Served, path, n)
	}
	known := o.Served + o.GivenUp
	p.unless(o.GivenUp >= 0 && (known == o.Arrivals || known < o.Arrivals && (d.Partial || d.Scenario.Faulty())),
		"open.served is %d and open.given_up %d, of %d open.arrivals", o.Served, o.GivenUp, o.Arrivals)
	p.unless(o.LastEmpty <= d.Window.End, "open.backlog_last_empty_ns is %s, and window.end_ns %s", o.LastEmpty, d.Window.End)
	p.unless(o.BacklogMax > 0 || o.LastEmpty == d.Window.End, "open.backlog_max is 0, and open.backlog_last_empty_ns %s, not the window's end", o.LastEmpty)
	if d.Series != nil {
		most := Largest(d.Series.Backlog)
		p.unless(most >= o.BacklogMax, "open.backlog_max is %d, and series.backlog has at most %d", o.BacklogMax, most)
	}
	p.unless(slices.Contains(listed(d.Scenario.Rates), fmt.Sprint(d.Rate)), "rate is %d, which is none of scenario.rates %s", d.Rate, d.Scenario.Rates)
}

// validateArrivals checks that as many arrivals are counted as were due, which is known if they were due at equal distances.
func (d *Document) validateArrivals(p *problems) {
	if d.Partial || d.unloaded() || d.Scenario.Arrivals != "constant" {
		return
	}
	const uncertain = 2 // steps, at the window's edges
	want := d.due() / float64(max(d.Batch, 1))
	p.unless(math.Abs(float64(d.Open.Arrivals)-want) <= uncertain, "open.arrivals is %d, and at the scenario's rate %.0f were due", d.Open.Arrivals, want)
}

// due returns how many operations of an open load were due in the window, on average.
func (d *Document) due() (operations float64) {
	level := float64(d.Rate)
	rest := d.Window.Length()
	for i, s := range d.Scenario.Stages {
		from := float64(s.Rate)
		if s.Ramp && i > 0 {
			from = level
		}
		level = float64(s.Rate)
		operations += (from + level) / 2 * s.For.Seconds()
		rest -= s.For
	}
	return operations + level*rest.Seconds()
}
