package metric

import (
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// The metrics that the code, files, tables and gates name. [Named] also describes families of metrics such as PHASE-p50-ns.
const (
	OpsPerSecond          = "ops/s"
	NotificationsPerOp    = "notifications/op"
	RequestsPerOp         = "requests/op"
	RequestsPerSecond     = "requests/s"
	WritesPerOp           = "writes/op"
	FailedWritesPerOp     = "failed-writes/op"
	BytesPerOp            = "bytes/op"
	HerdMax               = "herd-max"
	SpuriousWakeupsPerOp  = "spurious-wakeups/op"
	Violations            = "violations"
	HeapPerWatch          = "heap-bytes/watch"
	Finished              = "finished" // 1 for a load that was done before the scenario's at-most
	OfferedPerSecond      = "offered/s"
	AchievedPerSecond     = "achieved/s"
	BacklogMax            = "backlog-max"
	RecoveryP50           = "recovery-p50-ns"
	RecoveryMax           = "recovery-max-ns"
	Unavailable           = "unavailable-ns"
	FailedOperationsPerOp = "operations-failed/op"
	RequestsPeak          = "requests-peak/s"
	BytesPeak             = "bytes-peak/s"
	ItemsLost             = "items-lost"
	ItemsDoubled          = "items-doubled"
	OutOfStep             = "out-of-step"
	Orphans               = "orphans"
	Blocked               = "blocked-ns"
	TornReads             = "torn-reads"
	FencedPerOp           = "fenced/op"
	Capacity              = "capacity" // of rules about the largest load at which an objective holds; no single measurement has it
)

// Phases of times that are not among the recipe's phases.
const (
	connectPhase    = "connect"
	recoveryPhase   = "recovery"
	herdSpreadPhase = "herd-spread"
)

// fixed returns the metrics that do not belong to a family, in the order in which messages list them. A metric is added to one
// of these lists, and to docs/metrics.md.
func fixed() []Descriptor { return slices.Concat(costs(), herds(), openMetrics(), failureMetrics()) }

func costs() []Descriptor {
	return []Descriptor{
		{
			Name: OpsPerSecond, Help: "Operations completed in the window, per second.", Unit: "1/s",
			Title: "operations per second", Kind: KindRate, Worse: LessIsWorse,
			of: func(d *results.Document) (float64, bool) { return perSecond(d, d.Window.Operations) },
		},
		{
			Name: NotificationsPerOp, Help: "Watch events that the clients receive, per operation.", Unit: "per op",
			Head: "notif/op", Formula: true, Exact: true,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.Notified()) },
		},
		{
			Name: RequestsPerOp, Help: "Requests of the recipe, per operation.", Unit: "per op", Head: "req/op", Formula: true, Exact: true,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.TotalRequests()) },
		},
		{
			Name: RequestsPerSecond,
			Help: "Requests of all clients together, per second: the cost of polling, which sends more the longer it waits.",
			Unit: "1/s", Head: "req/s", Kind: KindRate, Worse: NeitherIsWorse,
			of: func(d *results.Document) (float64, bool) { return perSecond(d, d.Counts.TotalRequests()) },
		},
		{
			Name: WritesPerOp, Help: "Requests that cost a quorum round, failed ones included, per operation.", Unit: "per op",
			Formula: true, Exact: true,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.Writes) },
		},
		{
			Name: FailedWritesPerOp, Help: "Writes that an error answers, per operation. They cost a quorum round like any other write.",
			Unit: "per op", Head: "failed/op", Formula: true, Exact: true,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.FailedWrites) },
		},
		{
			Name: SpuriousWakeupsPerOp, Help: "Notifications except the last one before the end of each wait, per operation.",
			Unit: "per op", Head: "spurious/op", Exact: true,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.SpuriousWakes) },
		},
		{
			Name: BytesPerOp, Help: "Bytes of requests, replies and notifications, per operation.", Unit: "bytes per op", Kind: KindSize,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Counts.BytesIn+d.Counts.BytesOut) },
		},
		{
			Name: HeapPerWatch, Help: "Growth of the heaps of all servers while the clients line up, per watch that was added meanwhile.",
			Unit: "bytes per watch", Head: "heap/watch", Title: "heap per watch", axis: "bytes", Kind: KindSize, format: table.Bytes,
			of: func(d *results.Document) (float64, bool) { return d.Heap.PerWatch() },
		},
		{
			Name: "connect-p99-ns", Help: "Time from asking for a session until it is established, of all clients before the load.",
			Unit: "ns", Title: "connect, p99", Kind: KindTime, Phase: connectPhase, Percentile: 99,
			of: func(d *results.Document) (float64, bool) { return p99(times(d)[connectPhase]) },
		},
		{
			Name: Finished, Help: "Share of the load's operations that were done before the scenario's at-most.", Unit: "share",
			Kind: KindShare, Worse: LessIsWorse, Part: LimitedLoad, of: finished,
		},
		{
			Name: Violations, Help: "Breaches of the recipe's promise.", Unit: "violations", Kind: KindLoss, Exact: true, repeats: bySum,
			of: func(d *results.Document) (float64, bool) { return float64(d.Breaches()), true },
		},
	}
}

func herds() []Descriptor {
	return []Descriptor{
		{
			Name: "herd-mean", Help: "Mean size of the herds, over all transactions that cause notifications.", Unit: "notifications",
			Exact: true,
			of:    func(d *results.Document) (float64, bool) { return d.Herd.Mean(), true },
		},
		{
			Name: "herd-p99", Help: "Size that 99 % of the herds do not exceed.", Unit: "notifications", Exact: true, format: table.Whole,
			of: func(d *results.Document) (float64, bool) { return float64(d.Herd.Quantile(0.99)), true },
		},
		{
			Name: HerdMax, Help: "Size of the largest herd.", Unit: "notifications", Head: "herd max", Title: "largest herd",
			axis: "notifications", Formula: true, Exact: true, format: table.Whole,
			of: func(d *results.Document) (float64, bool) { return float64(d.Herd.Max()), true },
		},
		{
			// A short spread is a burst of load, and with a long spread the last clients wait.
			Name: "herd-spread-p99-ns", Help: "Time from the first to the last arrival of a herd's notifications.", Unit: "ns",
			Title: "herd spread, p99", Kind: KindTime, Worse: NeitherIsWorse, Phase: herdSpreadPhase, Percentile: 99,
			of: func(d *results.Document) (float64, bool) { return p99(d.Herd.Spread) },
		},
		{
			Name: "notification-peak-10ms", Help: "Largest number of notifications within 10 ms.", Unit: "notifications",
			Kind: KindSize, format: table.Whole,
			of: func(d *results.Document) (float64, bool) { return float64(d.Herd.Peak10ms), true },
		},
	}
}

func openMetrics() []Descriptor {
	return []Descriptor{
		{
			Name: OfferedPerSecond, Help: "Operations that were due in the window, per second.", Unit: "1/s", Kind: KindRate,
			Worse: NeitherIsWorse, Part: OpenLoad,
			of: func(d *results.Document) (float64, bool) { return perSecond(d, int64(d.Batch)*d.Open.Arrivals) },
		},
		{
			Name: AchievedPerSecond, Help: "Operations that were served in the window, per second.", Unit: "1/s", Kind: KindRate,
			Worse: LessIsWorse, Part: OpenLoad,
			of: func(d *results.Document) (float64, bool) { return perSecond(d, int64(d.Batch)*d.Open.Completed) },
		},
		{
			Name: BacklogMax, Help: "Largest number of arrivals that were due and waited for a client.", Unit: "arrivals",
			Head: "backlog max", Kind: KindBacklog, Extreme: true, Part: OpenLoad,
			of: func(d *results.Document) (float64, bool) { return float64(d.Open.BacklogMax), true },
		},
	}
}

func failureMetrics() []Descriptor {
	return slices.Concat([]Descriptor{
		{
			Name: RecoveryP50, Help: "Median of the times from a fault to the next operation of a client other than its victims.",
			Unit: "ns", Head: "recovery p50", Title: "recovery, p50", Kind: KindTime, Part: FaultyLoad, Phase: recoveryPhase,
			Percentile: 50,
			of:         func(d *results.Document) (float64, bool) { p50, _, ok := recoveries(d); return p50, ok },
		},
		{
			Name: RecoveryMax, Help: "Longest time from a fault to the next operation of a client other than its victims.",
			Unit: "ns", Head: "recovery max", Title: "recovery, max", Kind: KindTime, Extreme: true, Part: FaultyLoad,
			Phase: recoveryPhase, Percentile: 100,
			of: func(d *results.Document) (float64, bool) { _, longest, ok := recoveries(d); return longest, ok },
		},
		{
			Name: Unavailable, Help: "Longest stretch of the window in which no client completed an operation.", Unit: "ns",
			Head: "unavailable", Kind: KindTime, Extreme: true, Part: FaultyLoad,
			of: func(d *results.Document) (float64, bool) { return float64(d.Failure.Unavailable), true },
		},
		{
			Name: FailedOperationsPerOp, Help: "Operations that ended in an error, per completed operation.", Unit: "per op",
			Head: "failed ops/op", Kind: KindLoss, format: table.Count, Part: FaultyLoad,
			of: func(d *results.Document) (float64, bool) { return perOp(d, d.Failure.FailedOperations) },
		},
		{
			Name: RequestsPeak, Help: "Largest number of requests that the clients sent in any one second of the window.",
			Unit: "requests in a second", Head: "peak req/s", Kind: KindSize, format: table.Whole, Part: FaultyLoad,
			of: func(d *results.Document) (float64, bool) { return float64(d.Failure.PeakRequests), true },
		},
		{
			Name: BytesPeak, Help: "Largest number of bytes that the clients received in any one second of the window.",
			Unit: "bytes in a second", Head: "peak bytes/s", Kind: KindSize, format: table.Bytes, Part: FaultyLoad,
			of: func(d *results.Document) (float64, bool) { return float64(d.Failure.PeakBytesIn), true },
		},
	}, Losses())
}

// lossFenced is the only loss whose metric has a different name, because it is per operation.
const lossFenced = "fenced"

// Losses returns the metrics of losses, in the order of tables.
func Losses() []Descriptor {
	counted := func(name, head, unit, help string) Descriptor {
		return Descriptor{
			Name: name, Help: help, Unit: unit, Head: head, Kind: KindLoss, repeats: bySum, Part: FaultyLoad,
			Loss: name, of: func(d *results.Document) (float64, bool) { return lost(d, name) },
		}
	}
	return []Descriptor{
		counted(ItemsLost, "lost", "items", "Items or tasks that were accepted and that no client will process."),
		counted(ItemsDoubled, "doubled", "items", "Items or tasks that were processed again."),
		counted(OutOfStep, "out of step", "times",
			"Times that a member started a round before all had entered it, or left it before all had finished."),
		counted(Orphans, "orphans", "znodes", "Znodes that no client will remove."),
		{
			Name: Blocked, Help: "Longest time that a live client waited for one that had failed.", Unit: "ns", Head: "blocked",
			Kind: KindTime, Extreme: true, repeats: byLargest, Part: FaultyLoad, Loss: Blocked,
			of: func(d *results.Document) (float64, bool) { return lost(d, Blocked) },
		},
		counted(TornReads, "torn", "uses", "Uses of values that belong to different updates."),
		{
			Name: FencedPerOp,
			Help: "Operations that overlapped a later holder's and that a check of the fencing token stops, per completed operation.",
			Unit: "per op", Head: "fenced/op", Kind: KindLoss, format: table.Count, Part: FaultyLoad, Loss: lossFenced,
			of: func(d *results.Document) (float64, bool) {
				amount, known := lost(d, lossFenced)
				value, ok := perOp(d, int64(amount))
				return value, known && ok
			},
		},
	}
}

func capacityMetric() Descriptor {
	return Descriptor{
		Name: Capacity, Help: "Largest load at which an objective holds, of a report of `zkbench capacity`.",
		Unit: "operations per second or clients", Kind: KindBacklog, Worse: LessIsWorse,
	}
}
