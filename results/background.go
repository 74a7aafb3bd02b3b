package results

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/table"
)

// MaxBackgroundRate is the largest number of reads, and of writes, that a background sends per second: several times what a small
// ensemble answers.
const MaxBackgroundRate = 50_000

// BackgroundLoad is the load of the background: plain reads and writes by sessions that take no part in the recipe. Each request
// is sent when it is due, even if earlier ones are unanswered.
type BackgroundLoad struct {
	Reads    int `json:"reads"`    // per second, over all servers
	Writes   int `json:"writes"`   // per second, over all servers
	Bytes    int `json:"bytes"`    // size of the data of each znode
	Znodes   int `json:"znodes"`   // that are read and written, in turn
	Sessions int `json:"sessions"` // assigned to the servers in turn; in a scenario 0 means one for each server
}

// String returns the load in the notation of the flag --background.
func (l BackgroundLoad) String() string {
	var parts []string
	for _, f := range []struct {
		name  string
		value int
	}{{"reads", l.Reads}, {"writes", l.Writes}, {"bytes", l.Bytes}, {"znodes", l.Znodes}, {"sessions", l.Sessions}} {
		if f.value > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", f.name, f.value))
		}
	}
	return strings.Join(parts, ", ")
}

// Measures reports whether the background has one of its metrics: those of a kind of requests exist if it sends such requests.
func (l BackgroundLoad) Measures(metric string) bool {
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

// Background is what became of the background's requests: before the load of the recipe began, and in the window.
type Background struct {
	Alone BackgroundStretch `json:"alone"`
	// During is the window. It is nil if the background alone saturated the ensemble, so that no load was applied.
	During *BackgroundStretch `json:"during,omitempty"`
}

// BackgroundStretch is a part of a measurement in which the background was on.
type BackgroundStretch struct {
	Start      time.Duration      `json:"start_ns"` // since the measurement's epoch
	End        time.Duration      `json:"end_ns"`
	BacklogMax int64              `json:"backlog_max"` // the most requests at a time that were due and not answered
	Read       BackgroundRequests `json:"read"`
	Write      BackgroundRequests `json:"write"`
}

// BackgroundRequests are the reads or the writes of a stretch.
type BackgroundRequests struct {
	Due      int64     `json:"due"`      // in the stretch
	Answered int64     `json:"answered"` // in the stretch, also those that were due before it; without failed ones
	Failed   int64     `json:"failed"`   // of those due in the stretch
	Response Histogram `json:"response"` // of those due in the stretch, from when they were due
	Service  Histogram `json:"service"`  // of the same, from when they were sent
}

// unanswered returns how many of the requests that were due have neither an answer nor an error.
func (r BackgroundRequests) unanswered() int64 { return r.Due - r.Response.All() - r.Failed }

// length returns the duration of the stretch.
func (s BackgroundStretch) length() time.Duration { return s.End - s.Start }

// rate returns how many requests of a kind were answered per second.
func (s BackgroundStretch) rate(r BackgroundRequests) float64 {
	return float64(r.Answered) / s.length().Seconds()
}

// addBackground adds the background's metrics. Kinds of requests that the background does not send have none.
func (d *Document) addBackground(metrics values) error {
	b := d.Background
	if b == nil || d.Scenario.Background == nil {
		return nil
	}
	if err := d.Scenario.Background.addStretch(metrics, alonePrefix, b.Alone); err != nil || b.During == nil {
		return err
	}
	if err := d.Scenario.Background.addStretch(metrics, backgroundPrefix, *b.During); err != nil {
		return err
	}
	for _, kind := range backgroundKinds() {
		for _, p := range slowdowns() {
			during, measured := metrics[BackgroundLatency(kind, p)]
			alone, known := metrics[Quantile(alonePrefix+kind, p)]
			if measured && known && alone.Value > 0 && b.samples(kind) >= samplesOf(p) {
				metrics.set(BackgroundSlowdown(kind, p), during.Value/alone.Value)
			}
		}
	}
	return nil
}

// samples returns how many requests of a kind each of the two stretches has at least.
func (b *Background) samples(kind string) int64 {
	alone, _ := b.Alone.times(kind)
	during, _ := b.During.times(kind)
	return min(alone.All(), during.All())
}

// addStretch adds the metrics of one stretch.
func (l BackgroundLoad) addStretch(metrics values, prefix string, s BackgroundStretch) error {
	metrics.set(prefix+BacklogMax, float64(s.BacklogMax))
	for _, of := range []struct {
		kind     string
		asked    int
		requests BackgroundRequests
	}{{"read", l.Reads, s.Read}, {"write", l.Writes, s.Write}} {
		if of.asked == 0 || s.length() <= 0 {
			continue
		}
		metrics.set(prefix+of.kind+perSecondSuffix, s.rate(of.requests))
		times := map[string]Histogram{of.kind: of.requests.Response, of.kind + serviceSuffix: of.requests.Service}
		if err := metrics.addTimes(prefix, times); err != nil {
			return fmt.Errorf("background: %w", err)
		}
	}
	return nil
}

// backgroundFailures returns how many of the background's requests failed.
func (d *Document) backgroundFailures() int64 {
	b := d.Background
	if b == nil {
		return 0
	}
	failed := b.Alone.Read.Failed + b.Alone.Write.Failed
	if b.During != nil {
		failed += b.During.Read.Failed + b.During.Write.Failed
	}
	return failed
}

// KeptUp is the share of the background's requests due that are answered if it keeps up: else their times depend on how long it is on.
const KeptUp = 0.99

// backgroundFallsBehind describes a background that the ensemble could not answer beside the load of the recipe; empty if it could.
func (d *Document) backgroundFallsBehind() string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During == nil || l == nil {
		return ""
	}
	for _, of := range []struct {
		kind     string
		requests BackgroundRequests
	}{{"reads", b.During.Read}, {"writes", b.During.Write}} {
		if r := of.requests; float64(r.Due-r.Answered) > max((1-KeptUp)*float64(r.Due), fewBehind) {
			return fmt.Sprintf("the background did not keep up beside the load: %d of %d %s were answered in the window, so that their times grow with its length",
				r.Answered, r.Due, of.kind)
		}
	}
	return ""
}

// fewBehind is how many requests may be unanswered at the end of any window.
const fewBehind = 10

// backgroundSaturates describes a background that the ensemble cannot answer even without the load of the recipe; empty if it can.
func (d *Document) backgroundSaturates() string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During != nil || l == nil {
		return ""
	}
	return fmt.Sprintf("the background alone saturates the ensemble: it offered %d reads/s and %d writes/s, and achieved %s and %s, with up to %d requests unanswered: ask for a lower rate",
		l.Reads, l.Writes, table.Count(b.Alone.rate(b.Alone.Read)), table.Count(b.Alone.rate(b.Alone.Write)), b.Alone.BacklogMax)
}

// writers names the sessions whose writes an oracle compares with the servers' transactions.
func (o Oracle) writers() string {
	if o.BackgroundWrites > 0 {
		return "clients and background"
	}
	return "clients"
}

// background returns the load of the background in the notation of the flag --background; empty without one.
func (s Scenario) background() string {
	if s.Background == nil {
		return ""
	}
	return s.Background.String()
}

// backgroundLine describes the background of a table's measurements; empty without one.
func backgroundLine(rows []Row) string {
	if rows[0].Background == "" {
		return ""
	}
	return "background (bg): " + rows[0].Background + "; ×alone: in multiples of the same before the load"
}

// times returns the latencies of one phase of a stretch, such as "write-service".
func (s BackgroundStretch) times(phase string) (Histogram, bool) {
	h, ok := map[string]Histogram{
		"read": s.Read.Response, "read-service": s.Read.Service, "write": s.Write.Response, "write-service": s.Write.Service,
	}[phase]
	return h, ok
}

// Times returns the latencies from which the percentiles of a phase are computed: of the recipe, the bystanders, the background, an
// open load, or of connecting. ok is false if there are none.
func (d *Document) Times(phase string) (h Histogram, ok bool) {
	if h, ok = d.Histograms[phase]; ok {
		return h, true
	}
	if name, isAlone := strings.CutPrefix(phase, alonePrefix); isAlone && d.Background != nil {
		return d.Background.Alone.times(name)
	}
	if name, isDuring := strings.CutPrefix(phase, backgroundPrefix); isDuring && d.Background != nil && d.Background.During != nil {
		return d.Background.During.times(name)
	}
	if phase == connectPhase && d.Connect != nil {
		return d.Connect.Each, true
	}
	return Histogram{}, false
}
