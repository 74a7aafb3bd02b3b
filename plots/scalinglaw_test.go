package plots

import (
	"math"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/scaling"
)

// Curves, intervals and the axis end at ten times the largest number of clients, also where an interval is endless.
func TestExtrapolationEnds(t *testing.T) {
	at := lawRange{first: 1, last: 50, end: 50 * scaling.Reach}
	c := curve{
		variant:  "v",
		measured: []scaling.Point{{Clients: 1, Value: 1, Low: 1, High: 1}, {Clients: 50, Value: 50, Low: 40, High: 60}},
		fit:      func(n float64) float64 { return n },
		band:     func(float64) scaling.Interval { return scaling.Interval{Low: 0, High: math.Inf(1)} },
	}
	within, beyond := c.drawn()
	if slices.Min(within) != 1 || slices.Max(within) != 50 || slices.Min(beyond) != 50 || slices.Max(beyond) != 500 {
		t.Errorf("drawn from %g to %g clients, and dashed to %g, want 1 to 50 and 500", slices.Min(within), slices.Max(within), slices.Max(beyond))
	}
	short := c
	short.measured = c.measured[:1]
	if _, beyond := short.drawn(); slices.Max(beyond) != 10 {
		t.Errorf("a variant that was measured under 1 client is extrapolated to %g, because another one was measured under 50", slices.Max(beyond))
	}
	p := (&set{}).lawPanel("metric", []curve{c}, at)
	if p.X.Max != 500 || p.Y.Min < 0.1 || p.Y.Max > 5000 {
		t.Errorf("the axes end at %g clients and reach from %g to %g, as the endless interval does", p.X.Max, p.Y.Min, p.Y.Max)
	}
	c.fit = func(n float64) float64 { return 1e9 / (51 - min(n, 50.9)) } // with a pole
	c.ends = true
	if within, beyond := c.drawn(); slices.Max(within) != 50 || beyond != nil {
		t.Errorf("a fit that is not extrapolated is drawn to %g clients, and dashed at %v", slices.Max(within), beyond)
	}
	if p := (&set{}).lawPanel("metric", []curve{c}, at); p.Y.Max > 2e9 {
		t.Errorf("the axis reaches to %g because of a pole beyond the measurements", p.Y.Max)
	}
	c.fit, c.band = nil, nil
	if within, beyond := c.drawn(); within != nil || beyond != nil {
		t.Error("without a fit, something is drawn")
	}
}
