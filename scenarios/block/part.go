// Package block has a block of a measurement's clients, all on one machine, and applies their part of the load.
//
// It takes one position: what a client does, and what happens to it, is decided where the client is. When that is, and what follows from it,
// the runner decides, which hears of a block in another process as of one in its own.
package block

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Part is a block, in this process or on a worker. If a worker is lost, what its methods return means nothing. A method without a context
// waits for neither clients nor servers. All times are since the measurement's epoch.
type Part interface {
	// Connect opens the sessions and lets the clients join the recipe.
	Connect(ctx context.Context, p Plan) (Connected, error)
	// Worker describes the process and the machine of the block.
	Worker() results.Worker
	// Ready returns how many clients have their session and have joined, while Connect is under way.
	Ready() int64
	// Refresh lets each participant act on what it has been notified of while others joined.
	Refresh(ctx context.Context) error
	// Stand lets participants that stand in line between steps take their places.
	Stand(ctx context.Context) error
	// State says what the clients have done, and do.
	State() State
	// EndLives ends the lives of clients that are over, before a fence of the living.
	EndLives(ctx context.Context)
	// Fence returns when each session has received all notifications of the transactions up to one.
	Fence(ctx context.Context, f Fence) (again bool, err error)
	// Floor measures one half of the floor, before or after the load, and returns what it has by then.
	Floor(ctx context.Context, half Half) results.Floor
	// Begin makes ready for a load, and Run applies it. Run returns when it is over.
	Begin(l Load)
	Run(ctx context.Context) error
	// Started returns when all clients of the load that runs may begin.
	Started(ctx context.Context) error
	// Window tells the load when its window began or ended, and returns how many arrivals were due by then.
	Window(e Edge) (arrived int64)
	// Freeze keeps clients of a collective recipe from beginning a step until End. It returns the most steps that one has begun.
	Freeze() (begun int)
	// End ends the load. Clients of a collective recipe still take as many steps as one of any block has begun.
	End(begun int)
	// Drain returns what was recorded since the last drain.
	Drain(d Drain) Batch
	// Look returns what clients do that may stand still.
	Look() pool.Look
	// Watches returns the paths that a client watches.
	Watches(id int) []string
	// Examine returns the health since the first load began, and the arrivals that the last one has not served: it gives them up.
	Examine() Examined
	// Fitting, Strike, StrikeHolder, Hear, Record and ConnectedTo are those of [chaos.Targets].
	Fitting(f faults.Fault) (ids []int)
	Strike(ctx context.Context, s chaos.Strike) (chaos.Struck, error)
	StrikeHolder(ctx context.Context, f faults.Fault) (chaos.Struck, error)
	Hear(ids []int)
	Record(kind variants.EventKind)
	ConnectedTo(addr string) (ids []int)
	// Close lets all participants leave and closes their sessions.
	Close(ctx context.Context)
	// CloseFloor closes the sessions of the floor, and ends the driver.
	CloseFloor(ctx context.Context) error
}

// Plan is what a block is a part of. It can be encoded, but for functions, which only a block in this process can have.
type Plan struct {
	Variant  string
	Scenario scenarios.Scenario // shortened in a rehearsal
	Repeat   int                // 0 in a rehearsal
	Rate     results.Rate       // of an open load
	Pool     pool.Config
	Floor    int  // the largest number of rounds in each half of the floor; 0 for none
	Witness  bool // participants look at what others hold, through a session of the block

	Epoch time.Duration       // of the measurement, in the time of the worker; not used in this process
	Nap   func(time.Duration) // for [load.Arrivals]; nil means [machine.SleepPrecisely]
}

// Faulty reports whether clients or servers fail during the load.
func (p Plan) Faulty() bool { return p.Repeat > 0 && p.Scenario.Faulty() }

// IsOpen reports whether operations arrive at a rate.
func (p Plan) IsOpen() bool { return p.Scenario.Mode == scenarios.Open }

// Connected describes the sessions of a block.
type Connected struct {
	Took    results.Connect
	Granted time.Duration // the session timeout
	// Unforeseen reports whether participants that would stand in line between steps do not; see [Block.Stand].
	Unforeseen bool
	Driver     *results.Driver // nil without one
}

// Fence is a transaction up to which sessions are fenced.
type Fence struct {
	Zxid    int64
	Living  bool // only sessions of clients whose lives are not over
	Waiting bool // clients wait, also those in a driver
}

// State is what a block's clients have done, and do.
type State struct {
	Latest       int64 // the last transaction that any session has seen
	Clients      wire.Counts
	Beside       wire.Counts   // of sessions that take no part in the load: those of the floor, and the witness
	Steps, Held  int64         // steps that were completed, and holds that were begun
	Outstanding  bool          // a request is under way
	Idle, Ending bool          // see [load.Turns]
	Waiting      int           // clients that are at work, or wait, in a step
	Longest      time.Duration // that one of these has taken so far
	Lost         bool          // a client's life is over
}

// Half says which half of a floor is measured.
type Half struct {
	After bool // the load
	Renew bool // servers have failed, so that new sessions are needed
}

// Load is what the clients of a block do until it ends.
type Load struct {
	Operations int           // the steps of each client; 0 means until End
	Staged     bool          // the scenario's stages and arrivals say when steps are due
	Start      time.Duration // when it begins; at once if that is over
}

// Edge is the begin or the end of a window.
type Edge struct {
	At  time.Duration
	End bool
}

// Drain asks for what was recorded.
type Drain struct {
	Until  time.Duration // events up to here do not wait for replies that say where they stand; see [variants.Log.Take]
	All    bool          // no event waits
	Counts bool          // the batch has the counts of all sessions
}

// Batch is what clients have recorded.
type Batch struct {
	At            time.Duration // what was recorded before is in this batch or an earlier one
	Latest        time.Duration // At, or the latest one of several batches
	Complete      time.Duration // all events that were recorded by then are in this batch or an earlier one; of a worker only
	Taken         time.Duration // when everything had been taken; the batch has nothing that was recorded later
	Counts        wire.Counts   // zero unless asked for
	Traffic       wire.Traffic
	Passed        int64             // see [pool.Pool.Passed]
	Events        []variants.Placed // valid until the next drain
	Columns       variants.Events   // Events, on the way from a worker
	Notifications []recorder.Notification
	Failed        []time.Duration // when operations failed
	Rejoined      []time.Duration // when clients had joined again
	Served        []recorder.Served
	Backlog       recorder.Backlog // of an open load
	Memory        int64            // resident, in bytes; 0 if it is not known
	ClockBound    time.Duration    // the largest error of a time, after its conversion
}

// Examined is what a block says of itself when its load has ended.
type Examined struct {
	Health   results.Health
	Unserved recorder.Unserved // by the last load
	Began    time.Duration     // how much later than planned the load began
	Memory   int64             // the largest resident memory in a drain
	Warnings []string
}
