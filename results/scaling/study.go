// Package scaling estimates how the costs and the throughput of variants change with the number of clients: by which power
// they grow, and at how many clients the throughput has its peak.
//
// It takes one position: an estimate must not claim more than the measurements show. Each number of clients counts once,
// however often it was repeated; each estimate has an interval; with too few numbers of clients for an interval there is no
// estimate; and nothing is extrapolated beyond ten times the largest measured number of clients.
package scaling

import (
	"errors"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// TimePerOp is the name of the length of the window divided by the operations in it, in nanoseconds. It is the reciprocal of
// [results.OpsPerSecond]. A client waits longer, for its turn is one of many.
const TimePerOp = "time/op"

// Study is what the measurements of one scenario under the same conditions show.
type Study struct {
	Scenario string // with its size, if that is more than 1
	Engine   string
	Repeats  int // the largest number of repeats
	Counts   []int
	Variants []Variant
	// Delayed has the numbers of clients under which latencies are longer than those of ZooKeeper, such as on a busy machine.
	Delayed []int
	// Unfitted is the reason why measurements of such a load are not fitted; empty if they are.
	Unfitted string
}

// The reasons why a load is not fitted.
const (
	unfittedFaults = "the measurements contain the recovery from faults"
	unfittedStages = "the load changes in stages"
	unfittedOpen   = "the arrivals of an open load set its pace"
)

// unfitted returns the reason why measurements of a document's load are not fitted; empty if they are.
func unfitted(d *results.Document) string {
	switch {
	case d.Scenario.Faulty():
		return unfittedFaults
	case d.IsStaged():
		return unfittedStages
	case d.Rate > 0:
		return unfittedOpen
	default:
		return ""
	}
}

// Variant is what the measurements of one variant show.
type Variant struct {
	Key        results.GroupKey // Clients is 0
	Costs      []Cost
	Throughput *Throughput // nil if zkbench sets the pace
}

// Cost is a metric against the number of clients.
type Cost struct {
	Metric   string
	Measured []Point
	Fitted   []Point // those above zero, which have a logarithm
	Law      PowerLaw
	Err      error // the reason if there is no law, such as ErrTooFew
	Expected Expected
}

// Expected is the variant's formula for a cost.
type Expected struct {
	Formula  string  // empty if there is none
	Bound    bool    // the formula is an upper bound
	Points   []Point // its values for the numbers of clients that were measured
	Exponent float64 // of the same fit to its values for the numbers of clients that were fitted; NaN if there is none
}

// Throughput is the operations per second against the number of clients.
type Throughput struct {
	Measured []Point
	Law      USL
	Err      error // the reason if there is no law, such as ErrTooFew
}

// Holds reports whether there is a law that explains the measurements, so that it may be drawn. [USL.Extends] reports
// whether it may also be extrapolated.
func (t Throughput) Holds() bool { return t.Err == nil && !t.Law.Poor() }

// Of returns a study for each scenario and its conditions. Measurements whose numbers must not be used are left out.
func Of(docs []*results.Document) []Study {
	sound := slices.DeleteFunc(results.WithoutUnfinished(docs), func(d *results.Document) bool { return !d.Drawable() || d.Partial })
	return results.Map(results.GroupBy(sound, (*results.Document).SameConditions), studyOf)
}

// studyOf returns the study of measurements under the same conditions.
func studyOf(docs []*results.Document) Study {
	first := docs[0]
	key := first.Key()
	key.Rate = 0 // open loads are not fitted: the scenario has one line for all of its rates
	s := Study{Scenario: key.Title(), Engine: first.Environment.Engine, Unfitted: unfitted(first)}
	groups := results.GroupRepeats(docs)
	for _, g := range groups {
		s.Repeats = max(s.Repeats, len(g))
		s.Counts = append(s.Counts, g[0].Clients)
		if slices.ContainsFunc(g, func(d *results.Document) bool { return len(d.Delayed()) > 0 }) {
			s.Delayed = append(s.Delayed, g[0].Clients)
		}
	}
	s.Counts, s.Delayed = results.Distinct(s.Counts), results.Distinct(s.Delayed)
	if s.Unfitted != "" {
		return s
	}
	s.Variants = results.Map(results.GroupBy(groups, sameVariant), variantOf)
	slices.SortStableFunc(s.Variants, func(a, b Variant) int { return a.Key.Compare(b.Key) })
	return s
}

func sameVariant(a, b []*results.Document) bool { return withoutClients(a) == withoutClients(b) }

func withoutClients(group []*results.Document) results.GroupKey {
	key := group[0].Key()
	key.Clients = 0
	return key
}

// variantOf returns what groups of repeats show, each under another number of clients.
func variantOf(groups [][]*results.Document) Variant {
	v := Variant{Key: withoutClients(groups[0])}
	for _, metric := range []string{results.NotificationsPerOp, results.RequestsPerOp} {
		v.Costs = append(v.Costs, costOf(metric, measure(groups, metric), expect(groups, metric)))
	}
	if groups[0][0].Window.Lockstep { // zkbench sets the pace
		return v
	}
	measured := measure(groups, results.OpsPerSecond)
	v.Costs = append(v.Costs, costOf(TimePerOp, reciprocal(measured), Expected{}))
	t := Throughput{Measured: measured}
	t.Law, t.Err = FitUSL(positive(measured))
	v.Throughput = &t
	return v
}

// measure returns a metric for each number of clients, ascending.
func measure(groups [][]*results.Document, metric string) []Point {
	var out []Point
	for _, g := range groups {
		if m, ok := results.Aggregate(g)[metric]; ok {
			out = append(out, Point{float64(g[0].Clients), m.Value, m.Min, m.Max})
		}
	}
	return out
}

// reciprocal returns the nanoseconds for each operation.
func reciprocal(perSecond []Point) []Point {
	const second = 1e9
	return results.Map(positive(perSecond), func(p Point) Point {
		return Point{p.Clients, second / p.Value, second / p.High, second / p.Low}
	})
}

// expect returns the formula of a metric. A document has no value where there is no bound.
func expect(groups [][]*results.Document, metric string) Expected {
	var e Expected
	for _, g := range groups {
		d := g[0]
		if cost, stated := d.Expected.Costs[metric]; stated {
			e.Formula, e.Bound = cost.Formula, e.Bound || !d.Expected.Exact
			e.Points = append(e.Points, Point{float64(d.Clients), cost.Value, cost.Value, cost.Value})
		}
	}
	return e
}

func costOf(metric string, measured []Point, expected Expected) Cost {
	c := Cost{Metric: metric, Measured: measured, Fitted: positive(measured), Expected: expected}
	c.Law, c.Err = FitPowerLaw(c.Fitted)
	c.Expected.Exponent = expected.exponentAt(c.Fitted)
	return c
}

// exponentAt returns the exponent of the formula's values for the numbers of clients of the given points. It is NaN if these
// are too few, or if one of them has no value or a value of zero.
func (e Expected) exponentAt(points []Point) float64 {
	var values []Point
	for _, p := range points {
		i := slices.IndexFunc(e.Points, func(o Point) bool { return o.Clients == p.Clients })
		if i < 0 || e.Points[i].Value <= 0 {
			return math.NaN()
		}
		values = append(values, e.Points[i])
	}
	law, err := FitPowerLaw(values)
	if err != nil {
		return math.NaN()
	}
	return law.Exponent
}

// LeftOut returns the numbers of clients whose value is zero and has no logarithm.
func (c Cost) LeftOut() []int {
	left := results.Where(c.Measured, func(p Point) bool { return !slices.Contains(c.Fitted, p) })
	return results.Map(left, func(p Point) int { return int(p.Clients) })
}

// TooFew reports whether no variant was measured under enough numbers of clients for an exponent.
func (s Study) TooFew() bool { return len(s.Counts) < leastCounts }

// Bounds reports whether formulas are upper bounds, at least for some numbers of clients.
func (s Study) Bounds() bool {
	return slices.ContainsFunc(s.Variants, func(v Variant) bool {
		return slices.ContainsFunc(v.Costs, func(c Cost) bool { return c.Expected.Bound })
	})
}

// leastCounts is the number of client counts that a power law needs; the universal scalability law needs one more.
const leastCounts = 3

// tooFew reports whether an error means that there are too few numbers of clients.
func tooFew(err error) bool { return errors.Is(err, ErrTooFew) }
