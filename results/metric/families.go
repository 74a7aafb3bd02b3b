package metric

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// FloorOperations returns the operations of a floor, the fastest first.
func FloorOperations() []string {
	return []string{results.FloorRead, results.FloorWrite, results.FloorHandoff}
}

var byName = sync.OnceValue(func() map[string]Descriptor { //nolint:gochecknoglobals // made once, and never changed
	out := map[string]Descriptor{}
	for _, m := range append(fixed(), capacityMetric()) {
		m.Head, m.Title = cmp.Or(m.Head, m.Name), cmp.Or(m.Title, inWords(m.Name))
		out[m.Name] = m
	}
	return out
})

// Named describes the metric with a name: one of the list, or of a family. A name of neither is described as a count.
func Named(name string) Descriptor {
	if m, ok := byName()[name]; ok {
		return m
	}
	for _, family := range []func(name string) (Descriptor, bool){ofBackground, ofFloor, ofMeans, ofTimes, ofOperations, ofShares} {
		if m, ok := family(name); ok {
			return m
		}
	}
	return Descriptor{Name: name, Title: name}
}

// Names returns every metric that a measurement of a recipe can have, by its phases, shares and losses.
func Names(phases []string, shares []results.Share, losses []string) []string {
	names := namesOf(list.Where(fixed(), func(m Descriptor) bool { return m.Loss == "" || slices.Contains(losses, m.Loss) }))
	times := append([]string{results.BystanderPhase, results.BystanderService, results.ResponsePhase, results.ServicePhase}, phases...)
	floors := append(list.Map(phases, FloorMultiple), list.Map(FloorOperations(), Floor)...)
	return slices.Concat(names, timesOf(times...), list.Map(shares, results.Share.Metric), floors, backgroundMetrics())
}

// WithFormula returns the metrics for which a variant can have a formula.
func WithFormula() []string {
	return namesOf(list.Where(fixed(), func(m Descriptor) bool { return m.Formula }))
}

// OfFaults returns the metrics of faults. Measurements without faults have none of them, except for [results.Document.Losses].
func OfFaults() []string { return namesOf(failureMetrics()) }

func namesOf(metrics []Descriptor) []string {
	return list.Map(metrics, func(m Descriptor) string { return m.Name })
}

// inWords writes a name as words: "failed writes per operation".
func inWords(name string) string {
	return strings.NewReplacer("-", " ", "/op", " per operation", "/s", " per second").Replace(strings.TrimSuffix(name, timeSuffix))
}

const (
	timeSuffix    = "-ns"
	maximumSuffix = "-max"
	meanSuffix    = "-mean" + timeSuffix
)

// Quantile returns the name of the metric with a percentile of a phase, such as acquire-p99-ns.
func Quantile(phase string, p float64) string { return fmt.Sprintf("%s-p%g%s", phase, p, timeSuffix) }

func maximumName(phase string) string { return phase + maximumSuffix + timeSuffix }

func percentiles() []float64 { return []float64{50, 90, 99} }

func timesOf(phases ...string) []string {
	return slices.Concat(list.Map(phases, func(phase string) []string {
		return append(list.Map(percentiles(), func(p float64) string { return Quantile(phase, p) }), maximumName(phase))
	})...)
}

// ofTimes describes PHASE-p99-ns and PHASE-max-ns.
func ofTimes(name string) (Descriptor, bool) {
	of, isTime := strings.CutSuffix(name, timeSuffix)
	phase, p, ok := percentileOf(of)
	if !isTime || !ok {
		return Descriptor{}, false
	}
	which := of[len(phase)+1:]
	m := Descriptor{
		Name: name, Help: meaning(phase) + ": " + which + ".", Unit: "ns", Head: phase + " " + which, Title: inWords(phase) + ", " + which,
		Kind: KindTime, Extreme: p == 100, Phase: phase, Percentile: p,
	}
	if phase == results.ResponsePhase || phase == results.ServicePhase {
		m.Part = OpenLoad
	}
	return m, true
}

// ofMeans describes PHASE-mean-ns, which only phases with spans between workers have.
func ofMeans(name string) (Descriptor, bool) {
	phase, ok := strings.CutSuffix(name, meanSuffix)
	return Descriptor{
		Name: name, Help: meaning(phase) + ": mean. The differences between the clocks of workers cancel out in handoffs.", Unit: "ns",
		Head: phase + " mean", Title: inWords(phase) + ", mean", Kind: KindTime,
	}, ok
}

func meaning(phase string) string {
	return cmp.Or(map[string]string{
		results.BystanderPhase:   "Response time of the bystanders' reads, from when they were due",
		results.BystanderService: "Time from sending a bystander's read to its reply",
		results.ResponsePhase:    "Time from when an arrival was due until it was served",
		results.ServicePhase:     "Time from when a client began with an arrival until it was served",
	}[phase], "Duration of the phase "+phase)
}

// percentileOf splits "acquire-p99" or "acquire-max".
func percentileOf(name string) (phase string, p float64, ok bool) {
	if phase, ok = strings.CutSuffix(name, maximumSuffix); ok {
		return phase, 100, true
	}
	i := strings.LastIndex(name, "-p")
	if i < 0 {
		return "", 0, false
	}
	p, err := strconv.ParseFloat(name[i+len("-p"):], 64)
	return name[:i], p, err == nil && p > 0 && p < 100
}

// Shares returns all shares that a recipe with these phases can have.
func Shares(phases []string) []results.Share {
	return slices.Concat(list.Map(phases, func(part string) []results.Share {
		return list.Map(phases, func(of string) results.Share { return results.Share{Phase: part, Of: of} })
	})...)
}

// RequestsOf returns the name of the metric with the requests of one of ZooKeeper's operations, such as "exists-requests/op".
func RequestsOf(operation string) string { return operation + "-" + RequestsPerOp }

// WatchesOf returns the name of the metric with the watches that one of ZooKeeper's operations sets, such as "exists-watches/op".
func WatchesOf(operation string) string { return operation + "-watches/op" }

// ofOperations describes OPERATION-requests/op and OPERATION-watches/op. Operations have no dash in their names.
func ofOperations(name string) (Descriptor, bool) {
	m := Descriptor{Name: name, Unit: "per op", Head: name, Title: inWords(name), Exact: true}
	operation, watches := strings.CutSuffix(name, WatchesOf(""))
	if m.Help = "Watches that " + operation + " sets, per operation."; !watches {
		operation, _ = strings.CutSuffix(name, RequestsOf(""))
		m.Help = "Requests of the recipe that are a " + operation + ", per operation."
	}
	m.Operation = operation
	return m, operation != name && operation != "" && !strings.Contains(operation, "-")
}

// ofShares describes PHASE/PHASE.
func ofShares(name string) (Descriptor, bool) {
	part, of, ok := strings.Cut(name, "/")
	return Descriptor{
		Name: name, Help: fmt.Sprintf("Number of samples of %s per sample of %s.", part, of), Unit: "per " + of, Head: name, Title: part,
		axis: "% of " + of, Kind: KindShare,
	}, ok && of != "s" && of != "op"
}

// Names of metrics of the floor: floor-read-p50-ns is a time, and handoff-p50/floor a multiple of one.
const (
	floorPrefix = "floor-"
	floorSuffix = "/floor"
)

// Floor returns the name of the metric with the median of an operation of the floor.
func Floor(operation string) string { return Quantile(floorPrefix+operation, 50) }

// FloorMultiple returns the name of the metric with a phase's median in multiples of its floor.
func FloorMultiple(phase string) string { return phase + "-p50" + floorSuffix }

// ofFloor describes floor-OPERATION-p50-ns and PHASE-p50/floor.
func ofFloor(name string) (Descriptor, bool) {
	of, isMultiple := strings.CutSuffix(name, floorSuffix)
	if phase, p, ok := percentileOf(of); isMultiple && ok {
		return Descriptor{
			Name: name, Help: fmt.Sprintf("Median of the phase %s in multiples of the time of the raw operation that it contains.", phase),
			Unit: "x floor", Head: "×floor", Title: inWords(phase) + ", " + of[len(phase)+1:] + ", multiples of its floor",
			Kind: KindMultiple, Phase: phase, Percentile: p,
		}, true
	}
	m, ok := ofTimes(name)
	m.Help = "Median of the time of a single raw operation on the otherwise idle ensemble."
	m.Ensemble, m.Worse = true, NeitherIsWorse
	return m, ok && strings.HasPrefix(name, floorPrefix)
}

// OfFloor reports whether the metric is in multiples of the floor.
func (m Descriptor) OfFloor() bool { return strings.HasSuffix(m.Name, floorSuffix) }

// MeasuredBy reports whether the background has one of its metrics. It has the metrics of reads or writes only if it sends any.
func MeasuredBy(l results.BackgroundLoad, metric string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(metric, alonePrefix), backgroundPrefix)
	switch {
	case strings.HasPrefix(name, "read"):
		return l.Reads > 0
	case strings.HasPrefix(name, "write"):
		return l.Writes > 0
	default:
		return true
	}
}

// Names of the background's metrics: background-read-p99-ns for the window, background-alone-read-p99-ns for the time before it.
const (
	backgroundPrefix = "background-"
	alonePrefix      = backgroundPrefix + "alone-"
	slowdownSuffix   = "-slowdown"
	perSecondSuffix  = "s/s" // of reads and writes
	serviceSuffix    = "-service"
)

func backgroundKinds() []string { return []string{"read", "write"} }

func slowdowns() []float64 { return []float64{50, 99} }

// BackgroundLatency names a percentile of the response times of the background's requests of a kind, "read" or "write", in the window.
func BackgroundLatency(kind string, p float64) string { return Quantile(backgroundPrefix+kind, p) }

// BackgroundSlowdown returns the name of the metric with a percentile in multiples of the same percentile before the load.
func BackgroundSlowdown(kind string, p float64) string {
	return fmt.Sprintf("%s%s-p%g%s", backgroundPrefix, kind, p, slowdownSuffix)
}

func backgroundMetrics() []string {
	var names []string
	for _, kind := range backgroundKinds() {
		for _, prefix := range []string{backgroundPrefix, alonePrefix} {
			names = append(append(names, prefix+kind+perSecondSuffix), timesOf(prefix+kind, prefix+kind+serviceSuffix)...)
		}
		names = append(names, list.Map(slowdowns(), func(p float64) string { return BackgroundSlowdown(kind, p) })...)
	}
	return append(names, backgroundPrefix+BacklogMax, alonePrefix+BacklogMax)
}

func ofBackground(name string) (Descriptor, bool) {
	rest, ok := strings.CutPrefix(name, backgroundPrefix)
	if !ok {
		return Descriptor{}, false
	}
	m, isTime := ofTimes(name)
	title := cmp.Or(m.Title, inWords(name))
	slower, isSlowdown := strings.CutSuffix(rest, slowdownSuffix)
	switch {
	case isTime:
		m.Help = "Response time of the background's requests, from when they were due, or, with service, from when they were sent."
	case isSlowdown:
		_, p, _ := percentileOf(slower)
		m = Descriptor{Unit: "x alone", Kind: KindMultiple, Percentile: p}
		m.Help = "A percentile of the background's response times in multiples of the same before the load."
	case strings.HasSuffix(rest, BacklogMax):
		m = Descriptor{Unit: "requests", Kind: KindBacklog, Extreme: true}
		m.Help = "The largest number of the background's requests that were due and not answered."
	case strings.HasSuffix(rest, perSecondSuffix):
		m = Descriptor{Help: "The background's requests that were answered, per second.", Unit: "1/s", Kind: KindRate, Worse: LessIsWorse}
	default:
		return Descriptor{}, false
	}
	m.Name, m.Part, m.Title = name, BackgroundPart, title
	if m.Ensemble = strings.HasPrefix(name, alonePrefix); m.Ensemble {
		m.Worse = NeitherIsWorse
	}
	m.Head = "bg " + strings.NewReplacer("-p50"+slowdownSuffix, " ×alone", "-p", " p", timeSuffix, "").Replace(rest)
	return m, true
}

// Slowdown returns the two times whose ratio the metric is, in the window and before the load; ok is false for other metrics.
func (m Descriptor) Slowdown() (during, alone string, ok bool) {
	name, isSlowdown := strings.CutSuffix(m.Name, slowdownSuffix)
	rest, ok := strings.CutPrefix(name, backgroundPrefix)
	return name + timeSuffix, alonePrefix + rest + timeSuffix, isSlowdown && ok
}
