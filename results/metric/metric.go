// Package metric has the list of all metrics of a measurement, and computes their values from a document.
//
// It takes one position: a metric is a value with properties, and not a name that other packages interpret. Tables, claims,
// comparisons, the gate and figures use its [Descriptor].
package metric

import (
	"cmp"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// Descriptor describes a metric: how it is computed, shown and aggregated over repeats, and which decisions it allows. All
// packages use it, so that a metric is added in one place: the list, or a family.
type Descriptor struct {
	Name  string // such as "requests/op"
	Help  string // one sentence
	Unit  string // of the value in a document
	Title string // in words, for the axis of a figure; the list has it only if it differs from the name
	Head  string // of a table's column; the list has it only if it differs from the name
	Kind  Kind
	Worse Direction // NeitherIsWorse if neither more nor less of it is better
	Part  Part      // of the load, without which no measurement has the metric
	// Formula reports whether variants can state the metric as a formula; the runner then evaluates it (costs in scenarios/runner).
	Formula bool
	// Exact reports whether the metric is the same in each repeat of a lockstep load.
	Exact bool
	// Extreme reports whether the metric is a single event, such as a maximum, and therefore says nothing about all others.
	Extreme bool
	// Ensemble reports whether the metric describes the ensemble, and not the variant or the build.
	Ensemble bool
	// Loss is the name under which documents have the amount, if the metric is a loss.
	Loss string
	// Operation is ZooKeeper's operation whose requests or watches the metric counts; empty for other metrics. A measurement without
	// such requests lacks the metric, and counts as zero.
	Operation string
	// Phase and Percentile are set for percentiles of times, and for multiples of such percentiles; Percentile is 100 for a maximum.
	Phase      string
	Percentile float64

	axis    string // the unit on an axis, if neither the title nor the kind says it
	format  func(float64) string
	repeats repeats
	of      func(*results.Document) (value float64, measured bool)
}

// Kind is the sort of quantity. It decides in which figure the metric is drawn, and whether the speed of the machine changes it.
type Kind int

// The kinds.
const (
	KindCount    Kind = iota // of requests, notifications and the like
	KindSize                 // bytes, and the largest amounts in a stretch of time
	KindTime                 // nanoseconds
	KindMultiple             // a time in multiples of another
	KindRate                 // operations or requests per second
	KindBacklog              // how many requests wait
	KindLoss                 // losses of users
	KindShare                // of the samples of a phase, or of a load
)

// Direction says which values of a metric are worse.
type Direction int

// The directions.
const (
	MoreIsWorse Direction = iota
	LessIsWorse
	NeitherIsWorse
)

// Part is the part of a load that a metric needs.
type Part int

// The parts.
const (
	AnyLoad Part = iota
	OpenLoad
	FaultyLoad
	BackgroundPart
	LimitedLoad // by at-most
)

// repeats says how the values of several repeats become one.
type repeats int

const (
	byMedian  repeats = iota
	bySum             // a median would hide an event in one repeat of three
	byLargest         // likewise
)

// Timed reports whether the speed of the machine changes the metric: a time, a rate, or a metric that follows from these.
func (m Descriptor) Timed() bool {
	return m.Kind == KindTime || m.Kind == KindMultiple || m.Kind == KindRate || m.Kind == KindBacklog || m.Part == BackgroundPart
}

// HasDirection reports whether a smaller or a larger value is better.
func (m Descriptor) HasDirection() bool { return m.Worse != NeitherIsWorse }

// MoreIsBetter reports whether a larger value is better.
func (m Descriptor) MoreIsBetter() bool { return m.Worse == LessIsWorse }

// Responds reports whether the metric is a response time of an open load.
func (m Descriptor) Responds() bool { return m.Phase == results.ResponsePhase }

// LargestCount is more than any count for one operation or in one second can be. A limit beyond it has no effect.
const LargestCount = 1e12

// Highest returns the largest value that the metric can have.
func (m Descriptor) Highest() float64 {
	switch {
	case m.Kind == KindTime:
		return float64(results.HighestLatency)
	case m.Name == Finished:
		return 1
	default:
		return LargestCount
	}
}

// Samples returns how many samples a percentile beyond the 90th needs so that it rests on more than a few operations; 1 for other metrics.
func (m Descriptor) Samples() int64 {
	if m.Percentile <= 90 || m.Percentile == 100 {
		return 1
	}
	return 10 * SamplesOf(m.Percentile)
}

// Short returns the name without the unit of times.
func (m Descriptor) Short() string { return strings.TrimSuffix(m.Name, timeSuffix) }

// Format writes a value as tables show it.
func (m Descriptor) Format(value float64) string {
	switch {
	case m.format != nil:
		return m.format(value)
	case m.Kind == KindTime:
		return table.Latency(value)
	case m.Kind == KindMultiple:
		return table.Count(value) + "×"
	case m.Kind == KindShare:
		return table.Percentage(value)
	case m.Kind == KindLoss, m.Kind == KindBacklog:
		return table.Whole(value)
	default:
		return table.Count(value)
	}
}

// Axis returns the label of an axis, and the factor from a value in a document to one on the axis.
func (m Descriptor) Axis() (label string, factor float64) {
	unit, factor := "", 1.0
	switch m.Kind {
	case KindTime:
		unit, factor = "ms", 1e-6
	case KindShare:
		unit, factor = "%", 100
	}
	if unit = cmp.Or(m.axis, unit); unit == "" {
		return m.Title, factor
	}
	return m.Title + ", " + unit, factor
}

// WithUnit returns the name of a metric that may be written without the unit of times, such as acquire-p50.
func WithUnit(name string) string {
	if withUnit := Named(name + timeSuffix); Named(name).Help == "" && withUnit.Kind == KindTime { // not a known name by itself
		return withUnit.Name
	}
	return name
}

// Facts returns sentences for a reader: the unit, which values are better, and how several repeats become one value.
func (m Descriptor) Facts() string {
	when := func(is bool, fact string) string {
		if is {
			return fact
		}
		return ""
	}
	facts := []string{
		"Unit: " + m.Unit + ".",
		[]string{MoreIsWorse: "Less", LessIsWorse: "More", NeitherIsWorse: "Neither less nor more"}[m.Worse] + " is better.",
		"Of several repeats, it is the " + []string{byMedian: "median", bySum: "sum", byLargest: "largest"}[m.repeats] + ".",
		map[Part]string{
			OpenLoad: "Only open loads have it.", FaultyLoad: "Only loads with faults have it, and variants that may lose something without them.",
			BackgroundPart: "Only loads with a background have it.", LimitedLoad: "Only loads with at-most have it.",
		}[m.Part],
		when(m.Formula, "Variants state it as a formula."),
		when(m.Exact, "In lockstep it is the same in each repeat."),
		when(m.Extreme, "It is a single event and says nothing about the others."),
		when(m.Ensemble, "It describes the ensemble and not the variant."),
		when(m.Timed(), "It depends on the speed of the machine."),
	}
	return strings.Join(list.Where(facts, func(fact string) bool { return fact != "" }), " ")
}
