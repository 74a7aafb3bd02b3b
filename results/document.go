// Package results holds measurements: the document that a run writes for each measurement, the metrics computed from it,
// and the functions that store, read, summarize and print documents.
//
// It takes one position: a result must answer questions that arise only after it was measured. Therefore, a document has
// whole histograms instead of a few percentiles, counts instead of averages, its environment, and all doubts about its own
// numbers. The metrics in it are a convenience, and every reader can compute them again.
package results

import (
	"fmt"
	"slices"
	"time"
)

// Schema is the version of the document's format. A reader refuses documents of any other one.
const Schema = 1

// Document is the result of one measurement: one variant, one number of clients, one repeat. All times are
// nanoseconds in JSON.
type Document struct {
	Schema        int         `json:"schema"`
	Run           string      `json:"run"` // the same for all documents of one invocation
	Started       time.Time   `json:"started"`
	Scenario      Scenario    `json:"scenario"`
	Recipe        string      `json:"recipe"`
	Variant       string      `json:"variant"`
	Kind          string      `json:"kind"`
	Phases        []string    `json:"phases"`         // of the recipe, the most informative one first
	Operation     string      `json:"operation"`      // the phase whose end completes an operation
	Batch         int         `json:"batch"`          // operations of each client in one step
	Waiting       []string    `json:"waiting_phases"` // phases in which a client waits for a notification
	UntimedPhases []string    `json:"untimed_phases"` // phases whose length zkbench sets in a lockstep window
	Shares        []Share     `json:"shares"`
	Clients       int         `json:"clients"`
	Rate          int         `json:"rate,omitempty"`    // operations per second that an open load offers; 0 in other modes
	Repeat        int         `json:"repeat"`            // from 1; 0 is a rehearsal in which the recipe broke its promise
	Partial       bool        `json:"partial,omitempty"` // the window was cut short: what only the end of a measurement shows is missing
	Environment   Environment `json:"environment"`

	Window     Window               `json:"window"`
	Histograms map[string]Histogram `json:"histograms"` // by phase; "warm-up/" before those of the discarded part
	Counts     Counts               `json:"counts"`
	Herd       Herd                 `json:"herd"`
	Timeline   Timeline             `json:"timeline"`              // from the middle of the window
	AroundHerd *Timeline            `json:"around_herd,omitempty"` // one second around the largest herd; nil without a herd
	Series     *Series              `json:"series,omitempty"`      // nil in a rehearsal that failed
	Expected   Expected             `json:"expected"`
	Oracle     Oracle               `json:"oracle"`
	Health     Health               `json:"health"`
	Stalls     []Stall              `json:"stalls"`
	Servers    []ServerReport       `json:"servers"`
	Heap       *Heap                `json:"heap,omitempty"` // nil unless the scenario asks for it
	Floor      *Floor               `json:"floor,omitempty"`
	Connect    *Connect             `json:"connect,omitempty"`    // nil of an application that zkbench has only observed
	Unfinished *Unfinished          `json:"unfinished,omitempty"` // nil for a load that was finished
	Failure    *Failure             `json:"failure,omitempty"`    // nil unless the scenario has faults
	Open       *Open                `json:"open,omitempty"`       // nil unless the load is open
	Stages     []Stage              `json:"stages,omitempty"`     // those of the scenario that have begun
	Background *Background          `json:"background,omitempty"` // nil unless the scenario has one
	Driver     *Driver              `json:"driver,omitempty"`     // nil for a variant in Go
	// KnownBroken says which promise the variant is known to break, by itself or under this load; empty if it is known to break none.
	KnownBroken string `json:"known_broken,omitempty"`
	// Losses has what a load without faults lost because the variant does not promise otherwise; zero for what did not happen. It is
	// nil if the variant promises that nothing is lost, and with faults, whose losses are in Failure.
	Losses map[string]int64 `json:"losses,omitempty"`
	// Forgoes lists the losses that the variant does not promise to avoid when something fails. Variants that forgo the same make the
	// same promise.
	Forgoes []string `json:"forgoes,omitempty"`

	Metrics    map[string]Metric `json:"metrics"`
	Warnings   []string          `json:"warnings"`   // doubts about the numbers
	Invalid    []string          `json:"invalid"`    // reasons why the numbers must not be used
	Violations []Violation       `json:"violations"` // the first MaxViolations breaches of the recipe's promise
	// MoreViolations is the number of breaches that Violations does not list.
	MoreViolations int64 `json:"more_violations,omitempty"`
}

// Breaches returns how often the recipe's promise was broken, unlisted violations included.
func (d *Document) Breaches() int64 { return int64(len(d.Violations)) + d.MoreViolations }

// BreachExpected reports whether the scenario expects this variant to break its promise, which it is known to do.
func (d *Document) BreachExpected() bool {
	return d.KnownBroken != "" && slices.Contains(d.Scenario.Broken, d.Variant)
}

// Broken reports whether the promise was broken although the scenario does not expect it.
func (d *Document) Broken() bool { return d.Breaches() > 0 && !d.BreachExpected() }

// Load names the number of clients and the rate, such as "50 clients at 200/s".
func (d *Document) Load() string { return loadText(d.Clients, d.Rate) }

func loadText(clients, rate int) string {
	if rate == 0 {
		return fmt.Sprintf("%d clients", clients)
	}
	return fmt.Sprintf("%d clients at %d/s", clients, rate)
}

// Environment describes the servers, the machine and the build that a measurement used.
type Environment struct {
	Engine         string            `json:"engine"`
	ZooKeeper      string            `json:"zookeeper"`
	Image          string            `json:"image,omitempty"`
	Servers        []string          `json:"servers"`
	Chroot         string            `json:"chroot,omitempty"` // the parent of all znodes of the run; empty for the root
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

// Window is the stretch of a measurement that its numbers describe.
type Window struct {
	Start      time.Duration `json:"start_ns"` // since the measurement's epoch
	End        time.Duration `json:"end_ns"`
	Operations int64         `json:"operations"` // completed in the window
	// UnfinishedWaits is the number of waits that had not ended when the window ended, and OldestWait the age of the oldest.
	// No percentile contains them, so that a variant in which clients starve looks better than it is.
	UnfinishedWaits int           `json:"unfinished_waits"`
	OldestWait      time.Duration `json:"oldest_wait_ns"`
	StarvingWaits   int           `json:"starving_waits"` // unfinished waits that are older than the p99
	// Lockstep means that zkbench started each step after the previous one, so that the window has no throughput.
	Lockstep bool `json:"lockstep"`
}

// Length is the window's duration.
func (w Window) Length() time.Duration { return w.End - w.Start }

// Counts is what the clients' sessions sent and received in the window, housekeeping excluded.
type Counts struct {
	Requests      map[string]int64 `json:"requests"` // by operation
	Failed        map[string]int64 `json:"failed"`   // by operation
	Notifications map[string]int64 `json:"notifications"`
	TotalRequests int64            `json:"total_requests"`
	TotalFailed   int64            `json:"total_failed"`
	Writes        int64            `json:"writes"` // part of the requests, failed writes included
	FailedWrites  int64            `json:"failed_writes"`
	Notified      int64            `json:"notified"`
	SpuriousWakes int64            `json:"spurious_wakeups"`
	BytesOut      int64            `json:"bytes_out"`
	BytesIn       int64            `json:"bytes_in"`
	Housekeeping  int64            `json:"housekeeping"` // such as pings and reconnects
}

// Herd groups the window's notifications by the transaction that caused them.
type Herd struct {
	// Grouping is "zxid" if notifications name the transaction that caused them (ZooKeeper 3.9 and later), and "path and
	// time" if the groups are guessed.
	Grouping string `json:"grouping"`
	// Ungrouped is the number of notifications in no herd. A server sends them again after a reconnect, without a transaction.
	Ungrouped int64 `json:"ungrouped,omitempty"`

	Sizes    []SizeCount `json:"sizes"`
	Spread   Histogram   `json:"spread"` // time from the first to the last arrival of each herd
	Peak10ms int         `json:"peak_10ms"`
}

// SizeCount is the number of transactions (Count) that each caused Size notifications.
type SizeCount struct {
	Size  int   `json:"size"`
	Count int64 `json:"count"`
}

// Timeline is everything that happened in a stretch of at most one second, for the herd timeline plot.
type Timeline struct {
	Start         time.Duration   `json:"start_ns"`
	End           time.Duration   `json:"end_ns"`
	Notifications []TimelineDot   `json:"notifications"`
	Bystander     []BystanderRead `json:"bystander"`
}

// TimelineDot is one notification in a timeline.
type TimelineDot struct {
	At     time.Duration `json:"at_ns"` // since the timeline's start
	Client int           `json:"client"`
}

// BystanderRead is one read by a bystander, a session that does not take part in the recipe.
type BystanderRead struct {
	At       time.Duration `json:"at_ns"`       // when the read was due
	Service  time.Duration `json:"service_ns"`  // from sending the read to its reply
	Response time.Duration `json:"response_ns"` // from when it was due to its reply
	Server   int           `json:"server"`
}

// Expected holds the values of the variant's formulas for this number of clients.
type Expected struct {
	Exact bool            `json:"exact"` // else they are upper bounds
	Equal bool            `json:"equal"` // exact, and each count equals its formula
	Costs map[string]Cost `json:"costs"` // by metric name
}

// CountsWhole reports whether the window begins and ends at rest, so that its counts belong to whole operations. Faults leave
// requests without a reply, and operations that never end; so does the end of a load that is not finished.
func (d *Document) CountsWhole() bool {
	return !d.Scenario.Faulty() && d.Unfinished == nil && (d.Scenario.Mode == LockstepMode || d.Scenario.Operations > 0)
}

// CountsExactly reports whether the formulas are exact. They are upper bounds if the requests of clients can overlap, or if
// the window contains parts of operations. They are not checked if there are faults, because a recovery has a cost, too.
func (d *Document) CountsExactly() bool {
	return d.CountsWhole() && (d.Scenario.Mode == LockstepMode || d.Clients == 1)
}

// Cost is one formula and its value.
type Cost struct {
	Formula string  `json:"formula"`
	Value   float64 `json:"value"`
}

// Oracle compares the clients' counts with the servers' counts between two snapshots at rest. Where the window is part of a
// running load, the snapshots enclose more than the window.
type Oracle struct {
	Checked             bool   `json:"checked"`
	Why                 string `json:"why,omitempty"` // the reason if it was not checked, or why counts are in doubt
	ClientNotifications int64  `json:"client_notifications"`
	ServerNotifications int64  `json:"server_notifications"`
	ClientWrites        int64  `json:"client_writes"`
	ServerTransactions  int64  `json:"server_transactions"`
	// BackgroundWrites is the number of writes of the background, which the servers' transactions contain, too.
	BackgroundWrites int64 `json:"background_writes,omitempty"`

	// What else the servers' counts contain, or lack, if connections and sessions ended.
	LostNotifications   int64 `json:"lost_notifications,omitempty"`   // sent, and lost with a connection
	ResentNotifications int64 `json:"resent_notifications,omitempty"` // received, and not in the servers' counters
	SessionTransactions int64 `json:"session_transactions,omitempty"` // that opened and ended sessions

	// What is in doubt.
	UnknownNotifications int64 `json:"unknown_notifications,omitempty"` // at most so many more were sent
	UnknownTransactions  int64 `json:"unknown_transactions,omitempty"`  // at most so many were not made
}

// Agrees reports whether both sides counted the same, as far as is known.
func (o Oracle) Agrees() bool { return o.notificationsAgree() && o.transactionsAgree() }

// sent returns how many notifications the clients know to have been sent by the servers.
func (o Oracle) sent() int64 {
	return o.ClientNotifications - o.ResentNotifications + o.LostNotifications
}

// made returns how many transactions the requests of clients and background, and their sessions, make, if all took place.
func (o Oracle) made() int64 { return o.ClientWrites + o.BackgroundWrites + o.SessionTransactions }

func (o Oracle) notificationsAgree() bool {
	more := o.ServerNotifications - o.sent()
	return 0 <= more && more <= o.UnknownNotifications
}

func (o Oracle) transactionsAgree() bool {
	fewer := o.made() - o.ServerTransactions
	return 0 <= fewer && fewer <= o.UnknownTransactions
}

// Doubtful reports whether the comparison is not exact.
func (o Oracle) Doubtful() bool { return o.UnknownNotifications > 0 || o.UnknownTransactions > 0 }

// Health describes the load generator and the machine during the measurement.
type Health struct {
	ClientCPU        float64       `json:"client_cpu"`  // share of all cores used by zkbench
	MachineCPU       float64       `json:"machine_cpu"` // share of all cores in use; negative if unknown
	SchedulerP99     time.Duration `json:"scheduler_p99_ns"`
	GCPauseMax       time.Duration `json:"gc_pause_max_ns"`
	LatenessP99      time.Duration `json:"lateness_p99_ns"` // delay of the bystanders' reads within zkbench
	Throttled        int64         `json:"throttled"`       // periods in which the control group had used up its CPU quota
	Reconnects       int           `json:"reconnects"`
	SessionsLost     int           `json:"sessions_lost"`
	BystanderErrors  int           `json:"bystander_errors"` // reads that failed
	UnmatchedReplies int64         `json:"unmatched_replies"`
	LeaderChanged    bool          `json:"leader_changed"`
}

// Beyond these marks, the load generator or the machine affects the latencies.
const (
	clientCPUMark  = 0.80 // share of all cores used by zkbench
	machineCPUMark = 0.95 // share of all cores in use
	latenessMark   = 0.25 // share of the bystanders' p99 that is delay within zkbench
)

// Saturated returns the reasons why zkbench was short of CPU and applied less load than intended. The CPU share of the
// embedded engine says nothing about the load, as the server runs in the same process.
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

// Delayed returns the reasons why latencies are longer than those of ZooKeeper; counts are not affected. Saturation is one
// of the reasons. Causes precede their effects.
func (d *Document) Delayed() []string {
	out := d.Saturated()
	if d.shortOfCPU() {
		out = append(out, fmt.Sprintf("the machine's CPUs were over %.0f%% busy: latencies include waiting for a CPU", 100*machineCPUMark))
	}
	out = append(out, texts(d.disturbances())...)
	mark := latenessMark * d.Metrics[Quantile(BystanderPhase, 99)].Value
	if float64(d.Health.SchedulerP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 may be scheduling delay within zkbench, which is part of all latencies", 100*latenessMark))
	}
	if float64(d.Health.LatenessP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 is the delay with which zkbench sent their reads", 100*latenessMark))
	}
	return out
}

// shortOfCPU reports whether the machine was idle for less than 5 % of the time.
func (d *Document) shortOfCPU() bool { return d.Health.MachineCPU > machineCPUMark }

// Metric is one number with its unit.
type Metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// MaxViolations is the largest number of violations that a document lists; others are only counted.
const MaxViolations = 100

// Violation is a breach of the recipe's promise.
type Violation struct {
	At   time.Duration `json:"at_ns"`
	Text string        `json:"text"`
}
