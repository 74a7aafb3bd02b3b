// Package results is what was measured: the document that a run leaves for each measurement, the metrics computed from
// it, and the ways to keep, read and compare such documents.
//
// It takes one position: a result must be able to answer questions that nobody asked when it was made. So a document
// carries whole histograms instead of a few percentiles, counts instead of averages, the environment it was made in,
// and every doubt about itself; the metrics in it are a convenience.
package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Schema is the version of the document's format. A reader refuses documents of a newer one. From 2 on, a document has
// everything that its metrics are computed from.
const Schema = 2

// Document is the result of one measurement: one variant, one number of clients, one repeat. All times are
// nanoseconds in JSON.
type Document struct {
	Schema      int         `json:"schema"`
	Run         string      `json:"run"` // the same for all documents of one invocation
	Started     time.Time   `json:"started"`
	Scenario    Scenario    `json:"scenario"`
	Recipe      string      `json:"recipe"`
	Variant     string      `json:"variant"`
	Kind        string      `json:"kind"`
	Phases      []string    `json:"phases"`         // of the recipe, first what tells most about a variant
	Operation   string      `json:"operation"`      // the phase whose end completes an operation
	Batch       int         `json:"batch"`          // operations of each client in one step
	Waiting     []string    `json:"waiting_phases"` // those in which notifications are waited for
	PacedPhases []string    `json:"paced_phases"`   // those whose length the pace sets, if the window is paced
	Shares      []Share     `json:"shares"`
	Clients     int         `json:"clients"`
	Repeat      int         `json:"repeat"` // from 1; 0 is a rehearsal in which a promise was broken
	Environment Environment `json:"environment"`

	Window     Window               `json:"window"`
	Histograms map[string]Histogram `json:"histograms"` // by phase; "warm-up/" before those of the discarded part
	Samples    int64                `json:"samples"`    // in all of them together
	Counts     Counts               `json:"counts"`
	Herd       Herd                 `json:"herd"`
	Timeline   Timeline             `json:"timeline"`
	Expected   Expected             `json:"expected"`
	Oracle     Oracle               `json:"oracle"`
	Health     Health               `json:"health"`
	Stalls     []Stall              `json:"stalls"`
	Servers    []ServerReport       `json:"servers"`
	Heap       *Heap                `json:"heap,omitempty"` // only if the scenario asked for it
	Floor      *Floor               `json:"floor,omitempty"`

	Metrics    map[string]Metric `json:"metrics"`
	Warnings   []string          `json:"warnings"`   // doubts about the numbers
	Invalid    []string          `json:"invalid"`    // reasons why the numbers must not be used
	Violations []Violation       `json:"violations"` // breaches of the recipe's promise
}

// Scenario is the load that was applied, with everything that flags changed.
type Scenario struct {
	Name          string        `json:"name"`
	Question      string        `json:"question"`
	Mode          string        `json:"mode"`
	Size          int           `json:"size,omitempty"`       // of what the recipe works on, for each client; 0 means 1
	Operations    int           `json:"operations,omitempty"` // per client
	Duration      time.Duration `json:"duration_ns,omitempty"`
	ClientCounts  string        `json:"client_counts"` // all that the scenario asked for
	Variants      string        `json:"variants"`      // likewise
	WarmUp        time.Duration `json:"warm_up_ns"`
	Hold          time.Duration `json:"hold_ns"`
	Think         time.Duration `json:"think_ns"`
	Repeats       int           `json:"repeats"`
	Seed          uint64        `json:"seed"`
	Heap          bool          `json:"heap,omitempty"` // was to be measured
	BystanderRate int           `json:"bystander_rate"` // reads per second and server
	Overview      string        `json:"overview,omitempty"`
}

// Environment is what the numbers depend on besides the variant.
type Environment struct {
	Engine         string            `json:"engine"`
	ZooKeeper      string            `json:"zookeeper"`
	Image          string            `json:"image,omitempty"`
	Servers        []string          `json:"servers"`
	Chroot         string            `json:"chroot,omitempty"` // the znode below which everything stood; empty for the root
	ServerConfig   map[string]string `json:"server_config,omitempty"`
	TxnLog         string            `json:"txn_log,omitempty"`
	SessionTimeout time.Duration     `json:"session_timeout_ns"` // as granted
	Zkbench        string            `json:"zkbench"`            // version and commit
	Go             string            `json:"go"`
	OS             string            `json:"os"`
	Kernel         string            `json:"kernel"`
	CPU            string            `json:"cpu"`
	CPUs           int               `json:"cpus"`
	Memory         int64             `json:"memory_bytes"`
}

// Settings returns what of the servers' configuration shapes what they do. Where they listen and keep their files does
// not, and differs for every ensemble that zkbench starts; and how large the files are changes with each run.
func (e Environment) Settings() map[string]string {
	out := maps.Clone(e.ServerConfig)
	maps.DeleteFunc(out, func(name, _ string) bool {
		isPlace := func(ending string) bool { return strings.HasSuffix(name, ending) }
		return strings.HasPrefix(name, "server.") || name == "serverId" || name == "version" ||
			slices.ContainsFunc([]string{"Port", "Address", "Dir", "DirSize", "LogSize"}, isPlace)
	})
	return out
}

// Window is the part of the measurement that counts.
type Window struct {
	Start      time.Duration `json:"start_ns"` // since the measurement's epoch
	End        time.Duration `json:"end_ns"`
	Operations int64         `json:"operations"` // completed in it
	// Waits that were still going on when the window ended, and the age of the oldest: no percentile contains them, so
	// that a variant that lets clients starve looks better than it is.
	UnfinishedWaits int           `json:"unfinished_waits"`
	OldestWait      time.Duration `json:"oldest_wait_ns"`
	StarvingWaits   int           `json:"starving_waits"` // of the unfinished ones, those older than the p99
	// Paced tells that zkbench itself set the pace, one step at a time, so that a throughput would mean nothing.
	Paced bool `json:"paced"`
}

// Length is the window's duration.
func (w Window) Length() time.Duration { return w.End - w.Start }

// Contains tells whether a moment lies in the window.
func (w Window) Contains(at time.Duration) bool { return w.Start <= at && at <= w.End }

// middle returns the bounds of a stretch of that length from the middle of the window, or of the window if it is shorter.
func (w Window) middle(length time.Duration) (start, end time.Duration) {
	middle := (w.Start + w.End) / 2
	return max(middle-length/2, w.Start), min(middle+length/2, w.End)
}

// Counts is what the participants' sessions sent and received in the window, upkeep excluded.
type Counts struct {
	Requests      map[string]int64 `json:"requests"` // by operation
	Failed        map[string]int64 `json:"failed"`   // by operation
	Notifications map[string]int64 `json:"notifications"`
	TotalRequests int64            `json:"total_requests"`
	TotalFailed   int64            `json:"total_failed"`
	Writes        int64            `json:"writes"` // of the requests; failed ones included
	FailedWrites  int64            `json:"failed_writes"`
	Notified      int64            `json:"notified"`
	UselessWakes  int64            `json:"useless_wakeups"`
	BytesOut      int64            `json:"bytes_out"`
	BytesIn       int64            `json:"bytes_in"`
	Upkeep        int64            `json:"upkeep"`
}

// Herd groups the window's notifications by the transaction that set them off.
type Herd struct {
	// Grouping is "zxid" where the server tells which transaction caused a notification (ZooKeeper 3.9 and later), and
	// "path and time" where the groups had to be guessed.
	Grouping string `json:"grouping"`
	// Ungrouped is how many notifications belong to no herd: sent again after a reconnect, they do not name a transaction.
	Ungrouped int64 `json:"ungrouped,omitempty"`

	Sizes    []SizeCount `json:"sizes"`
	Spread   Histogram   `json:"spread"` // first to last arrival of one herd
	Peak10ms int         `json:"peak_10ms"`
}

// SizeCount says how many transactions set off how many notifications.
type SizeCount struct {
	Size  int   `json:"size"`
	Count int64 `json:"count"`
}

// Timeline is everything that happened in one short stretch from the middle of the window, for the herd timeline plot.
type Timeline struct {
	Start         time.Duration   `json:"start_ns"`
	End           time.Duration   `json:"end_ns"`
	Notifications []TimelineDot   `json:"notifications"`
	Bystander     []BystanderRead `json:"bystander"`
}

// TimelineDot is one notification.
type TimelineDot struct {
	At     time.Duration `json:"at_ns"`
	Client int           `json:"client"`
}

// BystanderRead is one read by a session that has nothing to do with the recipe.
type BystanderRead struct {
	At       time.Duration `json:"at_ns"`       // when it was due
	Service  time.Duration `json:"service_ns"`  // from when it was sent
	Response time.Duration `json:"response_ns"` // from when it was due
	Server   int           `json:"server"`
}

// Expected is what the variant's formulas say for this number of clients.
type Expected struct {
	Exact bool            `json:"exact"` // else an upper bound
	Equal bool            `json:"equal"` // exact, and every count is what its formula says
	Costs map[string]Cost `json:"costs"` // by metric name
}

// Cost is one formula and its value.
type Cost struct {
	Formula string  `json:"formula"`
	Value   float64 `json:"value"`
}

// Oracle compares what the clients counted with what the servers counted, over a span that begins and ends with
// every session at rest. It covers the window and, where the window is cut out of a running load, what surrounds it.
type Oracle struct {
	Checked             bool   `json:"checked"`
	Why                 string `json:"why,omitempty"` // it was not
	ClientNotifications int64  `json:"client_notifications"`
	ServerNotifications int64  `json:"server_notifications"`
	ClientWrites        int64  `json:"client_writes"`
	ServerTransactions  int64  `json:"server_transactions"`
}

// Agrees tells whether both sides counted the same.
func (o Oracle) Agrees() bool {
	return o.ClientNotifications == o.ServerNotifications && o.ClientWrites == o.ServerTransactions
}

// Health is how the load generator and the machine fared meanwhile.
type Health struct {
	ClientCPU        float64       `json:"client_cpu"`  // share of all cores used by zkbench
	MachineCPU       float64       `json:"machine_cpu"` // share of all cores used by anybody; negative if unknown
	SchedulerP99     time.Duration `json:"scheduler_p99_ns"`
	GCPauseMax       time.Duration `json:"gc_pause_max_ns"`
	LatenessP99      time.Duration `json:"lateness_p99_ns"` // of the bystanders' own schedule
	Throttled        int64         `json:"throttled"`       // periods in which the control group was out of CPU
	Reconnects       int           `json:"reconnects"`
	SessionsLost     int           `json:"sessions_lost"`
	BystanderErrors  int           `json:"bystander_errors"` // reads that failed
	UnmatchedReplies int64         `json:"unmatched_replies"`
	LeaderChanged    bool          `json:"leader_changed"`
}

// The marks beyond which a load generator is taken to measure itself.
const (
	clientCPUMark  = 0.80 // of all cores, used by zkbench
	machineCPUMark = 0.95 // of all cores, used by anybody
	latenessMark   = 0.25 // of the bystanders' p99, due to zkbench's own late start
)

// Saturated returns the reasons why zkbench itself was short of CPU, so that the load was not what it should have been. Where
// the server is in the same process, that it uses much of the CPU says nothing about the load.
func (d *Document) Saturated() []string {
	var out []string
	if d.Health.ClientCPU > clientCPUMark && d.Environment.Engine != Embedded {
		out = append(out, fmt.Sprintf("zkbench itself used over %.0f%% of the CPUs", 100*clientCPUMark))
	}
	if d.Health.Throttled > 0 {
		out = append(out, "the control group was out of CPU")
	}
	return out
}

// Delayed returns the reasons why times contain more than what they are the times of; counts do not suffer from these.
// Saturation is one of them. Causes stand before what they cause.
func (d *Document) Delayed() []string {
	out := d.Saturated()
	if d.shortOfCPU() {
		out = append(out, fmt.Sprintf("the machine's CPUs were over %.0f%% busy: latencies include waiting for a CPU", 100*machineCPUMark))
	}
	out = append(out, texts(d.disturbances())...)
	mark := latenessMark * d.Metrics[BystanderPhase+"-p99-ns"].Value
	if float64(d.Health.SchedulerP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 may be scheduling delay within zkbench, which all latencies contain", 100*latenessMark))
	}
	if float64(d.Health.LatenessP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 is zkbench's own lateness", 100*latenessMark))
	}
	return out
}

// shortOfCPU reports whether the machine had hardly any idle time.
func (d *Document) shortOfCPU() bool { return d.Health.MachineCPU > machineCPUMark }

// Metric is one number with its unit.
type Metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Violation is a breach of the recipe's promise.
type Violation struct {
	At   time.Duration `json:"at_ns"`
	Text string        `json:"text"`
}
