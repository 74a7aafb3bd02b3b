package results

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// Environment describes the servers, the machine and the build that a measurement used.
type Environment struct {
	Engine         string            `json:"engine"`
	Product        string            `json:"product,omitempty"` // of the servers; empty for ZooKeeper
	ZooKeeper      string            `json:"zookeeper"`         // the version of the product; empty if it is unknown
	Image          string            `json:"image,omitempty"`
	Servers        []string          `json:"servers"`
	Chroot         string            `json:"chroot,omitempty"` // the parent of all znodes of the run; empty for the root
	ServerConfig   map[string]string `json:"server_config,omitempty"`
	TxnLog         string            `json:"txn_log,omitempty"`
	TLS            bool              `json:"tls,omitempty"`      // clients connected by TLS
	Auth           string            `json:"auth,omitempty"`     // the scheme by which clients authenticated, such as "digest"; no secret
	SessionTimeout time.Duration     `json:"session_timeout_ns"` // as granted
	Zkbench        string            `json:"zkbench"`            // version and commit
	Go             string            `json:"go"`
	OS             string            `json:"os"`
	Kernel         string            `json:"kernel"`
	CPU            string            `json:"cpu"`
	CPUs           int               `json:"cpus"`
	Memory         int64             `json:"memory_bytes"`
}

// ProductName returns the product of the servers.
func (e Environment) ProductName() string { return cmp.Or(e.Product, ZooKeeper) }

// Software returns the product of the servers and its version, such as "ZooKeeper 3.9.3".
func (e Environment) Software() string { return strings.TrimSpace(e.ProductName() + " " + e.ZooKeeper) }

// Access lists parts of a text, such as an engine, and what clients add to a plain connection, as in "external, TLS, digest".
func (e Environment) Access(parts ...string) string {
	if e.TLS {
		parts = append(parts, "TLS")
	}
	if e.Auth != "" {
		parts = append(parts, e.Auth)
	}
	return strings.Join(parts, ", ")
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
	// Apart is how far apart several workers counted at the two edges, in sum. Some counted what others did not.
	Apart time.Duration `json:"apart_ns,omitempty"`
}

// Length is the window's duration.
func (w Window) Length() time.Duration { return w.End - w.Start }

// Counts holds the traffic of the clients' sessions in the window, without housekeeping.
type Counts struct {
	Requests      map[string]int64 `json:"requests"` // by operation
	Failed        map[string]int64 `json:"failed"`   // by operation
	Watches       map[string]int64 `json:"watches"`  // by operation; requests that set a watch
	Notifications map[string]int64 `json:"notifications"`
	Writes        int64            `json:"writes"` // part of the requests, failed writes included
	FailedWrites  int64            `json:"failed_writes"`
	SpuriousWakes int64            `json:"spurious_wakeups"`
	BytesOut      int64            `json:"bytes_out"`
	BytesIn       int64            `json:"bytes_in"`
	Housekeeping  int64            `json:"housekeeping"` // such as pings and reconnects
}

// TotalRequests returns the number of requests of all kinds.
func (c Counts) TotalRequests() int64 { return total(c.Requests) }

// TotalFailed returns the number of requests of all kinds that failed.
func (c Counts) TotalFailed() int64 { return total(c.Failed) }

// Notified returns the number of notifications of all types.
func (c Counts) Notified() int64 { return total(c.Notifications) }

func total(counts map[string]int64) int64 { return list.Sum(slices.Collect(maps.Values(counts))) }

// Expected holds the values of the variant's formulas for this number of clients.
type Expected struct {
	Costs map[string]Cost `json:"costs"` // by metric name
}

// Cost is one formula and its value.
type Cost struct {
	Formula string  `json:"formula"`
	Value   float64 `json:"value"`
}

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
	StoodStill       []Standstill  `json:"stood_still,omitempty"`
}

// Standstill is a time in which zkbench itself did not run. Reads of bystanders and arrivals that were due then began late.
type Standstill struct {
	Start  time.Duration `json:"start_ns"` // since the measurement's epoch
	Length time.Duration `json:"length_ns"`
}

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

// Connect describes how the sessions of a measurement were established, before its load.
type Connect struct {
	Total time.Duration `json:"total_ns"` // until all clients had their sessions and had joined the recipe
	Each  Histogram     `json:"each"`     // from asking for a session until it is established
}

// Driver is the program in another language that had the clients of a measurement.
type Driver struct {
	Program string `json:"program"`
	// PipeP50 and PipeP99 are the durations of a call of the driver that does nothing. Each call of a client contains this time.
	PipeP50 time.Duration `json:"pipe_p50_ns"`
	PipeP99 time.Duration `json:"pipe_p99_ns"`
}

// Share is a metric: the number of samples of one phase per sample of another phase.
type Share struct {
	Phase string `json:"phase"`
	Of    string `json:"of"`
}

// Metric returns the name of the metric.
func (s Share) Metric() string { return s.Phase + "/" + s.Of }

// Unfinished says how much of a load was done that was ended because it took longer than its scenario allows, or by a breach of the
// promise. Such a measurement has only the metrics finished and violations, because its counts describe only the beginning of a load.
type Unfinished struct {
	// Breach is the consequence of the breach, such as "stuck"; empty if the load took too long.
	Breach string `json:"breach,omitempty"`

	Done          int64 `json:"done"`          // operations that clients had completed; 0 if the load has no number of operations
	Requests      int64 `json:"requests"`      // that the clients had sent since the load began
	Notifications int64 `json:"notifications"` // that they had received since then
}

// Open says how an open load was served, in which operations arrive whether or not earlier ones are done. An arrival is one
// step of a client, which has [Document].Batch operations.
type Open struct {
	Arrivals  int64 `json:"arrivals"`  // due in the window
	Served    int64 `json:"served"`    // of Arrivals, in the window or after it
	GivenUp   int64 `json:"given_up"`  // of Arrivals, by the load: no client ever began them
	Completed int64 `json:"completed"` // in the window, whenever they were due
	// BacklogMax is the largest number of arrivals in the window that were due and waited for a client.
	BacklogMax int64 `json:"backlog_max"`
	// LastEmpty is the last moment up to the window's end at which no arrival waited for a client, since the measurement's epoch.
	LastEmpty time.Duration `json:"backlog_last_empty_ns"`
	// Lateness is the delay of arrivals within zkbench: from when an arrival was due and its client was free until the client began.
	Lateness Histogram `json:"lateness"`
}

// BeyondCapacity reports whether an open load offered more than the clients could serve: arrivals waited for a client during the whole
// second half of the window, or were given up after it. Response times then depend on the length of the load, and are not used as metrics.
func (d *Document) BeyondCapacity() bool {
	if d.Open == nil {
		return false
	}
	return d.Open.GivenUp > 0 || d.Open.LastEmpty < d.Window.Start+d.Window.Length()/2
}
