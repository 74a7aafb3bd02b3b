package results

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results/table"
)

// StageLoad is the load of one stage of the window.
type StageLoad struct {
	For     time.Duration `json:"for_ns"`
	Rate    int           `json:"rate,omitempty"`    // of an open load: operations per second at the end of the stage
	Clients int           `json:"clients,omitempty"` // of a closed load: clients that loop at the end of the stage
	Ramp    bool          `json:"ramp,omitempty"`    // the load changes steadily from that of the stage before; else at once
}

// Level returns the rate or the number of clients, whichever the load has.
func (l StageLoad) Level() int { return cmp.Or(l.Rate, l.Clients) }

// String returns the load in the notation of the flag --stage.
func (l StageLoad) String() string {
	text := fmt.Sprintf("for: %s, rate: %d", l.For, l.Rate)
	if l.Clients > 0 {
		text = fmt.Sprintf("for: %s, clients: %d", l.For, l.Clients)
	}
	if l.Ramp {
		text += ", ramp: true"
	}
	return text
}

// after names the load of a stage that follows another one: "100/s", or "100 to 400/s" for a ramp.
func (l StageLoad) after(before StageLoad) string {
	unit := "/s"
	if l.Clients > 0 {
		unit = " " + Plural(l.Clients, "client")
	}
	if l.Ramp {
		return fmt.Sprintf("%d to %d%s", before.Level(), l.Level(), unit)
	}
	return fmt.Sprint(l.Level(), unit)
}

// StagesLast returns how long stages last together.
func StagesLast(stages []StageLoad) time.Duration {
	return Sum(Map(stages, func(s StageLoad) time.Duration { return s.For }))
}

// Stage is what happened in one stage of the window.
type Stage struct {
	Start         time.Duration `json:"start_ns"` // since the measurement's epoch
	End           time.Duration `json:"end_ns"`
	Operations    int64         `json:"operations"` // completed in the stage
	Notifications int64         `json:"notifications"`
	LargestHerd   int           `json:"largest_herd"`          // of those that began in the stage
	BacklogMax    int64         `json:"backlog_max,omitempty"` // of an open load
	// Latency is the durations of the recipe's first phase that ended in the stage; in an open load, the response times of the arrivals
	// that were due in the stage, even if they were served in a later one.
	Latency Histogram `json:"latency"`
}

// staged reports whether the load changes in stages.
func (s Scenario) staged() bool { return len(s.Stages) > 0 }

// IsStaged reports whether the load changes in stages, so that its numbers are not those of one load.
func (d *Document) IsStaged() bool { return d.Scenario.staged() }

// stagePhase returns the phase whose durations stages have.
func (d *Document) stagePhase() string {
	if d.Scenario.Mode == OpenMode {
		return ResponsePhase
	}
	return d.Phases[0]
}

// stageMetrics returns the metrics of one stage, by the names that they have for a whole window.
func (d *Document) stageMetrics(s Stage) (map[string]Metric, error) {
	out := values{}
	out.set(HerdMax, float64(s.LargestHerd))
	if length := (s.End - s.Start).Seconds(); length > 0 {
		out.set(OpsPerSecond, float64(s.Operations)/length)
	}
	if s.Operations > 0 {
		out.set(NotificationsPerOp, float64(s.Notifications)/float64(s.Operations))
	}
	if d.Scenario.Mode == OpenMode {
		out.set(BacklogMax, float64(s.BacklogMax))
	}
	h, err := s.Latency.Decode()
	if err != nil || h.TotalCount() == 0 || d.backsUp(s) {
		return out, err
	}
	for _, p := range []float64{50, 99} {
		out.set(Quantile(d.stagePhase(), p), float64(h.ValueAtPercentile(p)))
	}
	return out, nil
}

// backsUp reports whether arrivals of a stage may be among those that clients could not serve, so that it has no response times.
func (d *Document) backsUp(s Stage) bool { return d.BeyondCapacity() && s.End > d.Open.LastEmpty }

// StageRow summarizes the repeats of one stage.
type StageRow struct {
	From    time.Duration // since the window began
	To      time.Duration
	Load    string
	Metrics map[string]Aggregated
}

// stageRows summarizes the stages of the repeats of one variant under one load.
func stageRows(group []*Document) []StageRow {
	var rows []StageRow
	var from time.Duration
	before := StageLoad{}
	for i, load := range group[0].Scenario.Stages {
		var repeats []*Document
		backsUp := false
		for _, d := range group {
			if i >= len(d.Stages) {
				continue // the measurement was interrupted before the stage
			}
			backsUp = backsUp || d.backsUp(d.Stages[i])
			if m, err := d.stageMetrics(d.Stages[i]); err == nil {
				repeats = append(repeats, &Document{Metrics: m})
			}
		}
		row := StageRow{From: from, To: from + load.For, Load: load.after(before), Metrics: Aggregate(repeats)}
		if backsUp {
			dropResponse(row.Metrics)
		}
		rows = append(rows, row)
		from, before = from+load.For, load
	}
	return rows
}

// stageTable returns the table of the stages of one scenario's rows; nil if the load has none.
func stageTable(rows []Row) *table.Table {
	if !slices.ContainsFunc(rows, func(r Row) bool { return len(r.Stages) > 0 }) {
		return nil
	}
	columns := stageColumns(rows[0])
	header := table.Left("variant", "stage", "load")
	oneCount := !slices.ContainsFunc(rows, func(r Row) bool { return r.Clients != rows[0].Clients })
	if !oneCount {
		header = append(table.Right("clients"), header...)
	}
	for _, c := range columns {
		header = append(header, c.header())
	}
	t := table.New(header...)
	for i, r := range rows {
		if i > 0 {
			t.Rule()
		}
		label := r.Variant + r.mark()
		for _, s := range r.Stages {
			line := []any{label, fmt.Sprintf("%s to %s", s.From, s.To), s.Load}
			if !oneCount {
				line = append([]any{r.Clients}, line...)
			}
			r.Metrics = s.Metrics
			for _, c := range columns {
				line = append(line, r.Show(c.metric))
			}
			t.Row(line...)
		}
	}
	return t
}

// stageColumns returns the columns of a table of stages. An open load has response times and a backlog.
func stageColumns(r Row) []column {
	phase := r.Phases[0]
	columns := []column{{0, OpsPerSecond}}
	if r.Rate > 0 {
		phase = ResponsePhase
	}
	columns = append(columns,
		column{2, Quantile(phase, 50)},
		column{0, Quantile(phase, 99)})
	if r.Rate > 0 {
		columns = append(columns, column{1, BacklogMax})
	}
	return append(columns,
		column{3, NotificationsPerOp},
		column{4, HerdMax})
}
