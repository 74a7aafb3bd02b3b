// Package results defines the document that a run writes for each measurement, and the load that was asked for. The packages
// below it compute metrics from documents, find doubts about them, and store, group, compare and print them.
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

// Schema is the version of the document's format. Documents of another version are refused.
const Schema = 2

// Embedded is the engine whose server runs inside zkbench. Its times are not comparable with those of other engines.
const Embedded = "embedded"

// External is the engine of servers that zkbench did not start.
const External = "external"

// ZooKeeper is the product of servers of which a document does not say the product.
const ZooKeeper = "ZooKeeper"

// Application is the kind of a program that zkbench has only observed.
const Application = "application"

// Phases of times that are not part of a recipe.
const (
	BystanderPhase   = "bystander"         // response times, from when a read was due
	BystanderService = "bystander-service" // from when it was sent
	ResponsePhase    = "response"          // of an arrival in an open load: from when it was due until it was served
	ServicePhase     = "service"           // from when a client began until it was served
)

// WarmUpPrefix precedes the names of phases in histograms of the warm-up.
const WarmUpPrefix = "warm-up/"

// Document is the result of one measurement: one variant, one number of clients, one repeat. All times are nanoseconds in JSON.
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
	Rate          Rate        `json:"rate,omitempty"`    // operations per second that an open load offers; 0 in other modes
	Repeat        int         `json:"repeat"`            // from 1; 0 is a rehearsal in which the recipe broke its promise
	Partial       bool        `json:"partial,omitempty"` // the window was cut short, and end-of-run results are missing
	Environment   Environment `json:"environment"`
	Tags          Tags        `json:"tags,omitempty"`

	Window     Window               `json:"window"`
	Histograms map[string]Histogram `json:"histograms"` // by phase; "warm-up/" before the phases of the discarded part
	Counts     Counts               `json:"counts"`
	Across     map[string]Across    `json:"across,omitempty"` // by phase; only phases with spans between workers
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
	Stages     []Stage              `json:"stages,omitempty"`     // the scenario's stages that have begun
	Background *Background          `json:"background,omitempty"` // nil unless the scenario has one
	Driver     *Driver              `json:"driver,omitempty"`     // nil for a variant in Go
	Workers    []Worker             `json:"workers,omitempty"`    // none if all clients were in the process that measured
	// KnownBroken says which promise the variant is known to break, by itself or under this load; empty for other variants.
	KnownBroken string `json:"known_broken,omitempty"`
	// Losses counts the losses of users in a load without faults; zero for losses that did not happen. It is nil if the variant
	// promises that nothing is lost. With faults, the losses are in Failure.
	Losses map[string]int64 `json:"losses,omitempty"`
	// Forgoes lists the losses that the variant does not promise to avoid when something fails. Variants with the same list make
	// the same promise.
	Forgoes []string `json:"forgoes,omitempty"`

	Metrics    map[string]Metric `json:"metrics"`
	Warnings   []string          `json:"warnings"`   // doubts about the numbers
	Invalid    []string          `json:"invalid"`    // reasons why the numbers must not be used
	Violations []Violation       `json:"violations"` // the first recorder.MaxViolations breaches of the recipe's promise
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

// FirstPhase returns the recipe's most informative phase, which the series has over time; the operation if there is no other.
func (d *Document) FirstPhase() string { return append(slices.Clone(d.Phases), d.Operation)[0] }

// Load names the number of clients and the rate, such as "50 clients at 200/s".
func (d *Document) Load() string { return loadText(d.Clients, d.Rate) }

func loadText(clients int, rate Rate) string {
	text := fmt.Sprintf("%d clients", clients)
	if clients == 1 {
		text = "1 client"
	}
	if rate > 0 {
		text += " at " + rate.Of("")
	}
	return text
}

// CountsWhole reports whether the window begins and ends at rest, so that its counts belong to whole operations. Faults leave
// requests without a reply, and operations that never end; so does the end of a load that is not finished.
func (d *Document) CountsWhole() bool {
	return !d.Scenario.Faulty() && d.Unfinished == nil && (d.Lockstep() || d.Scenario.Operations > 0)
}

// CountsExactly reports whether the formulas are exact. They are upper bounds if the requests of clients can overlap, or if
// the window contains parts of operations. They are not checked if there are faults, because a recovery has a cost, too.
func (d *Document) CountsExactly() bool {
	return d.CountsWhole() && (d.Lockstep() || d.Clients == 1)
}

// EndedByBreach reports whether a breach of the promise has ended the load.
func (d *Document) EndedByBreach() bool { return d.Unfinished != nil && d.Unfinished.Breach != "" }

// WholeLoad returns how many operations the clients have to complete; 0 for a load that ends after a duration.
func (d *Document) WholeLoad() int64 {
	if d.Scenario.Duration > 0 {
		return 0
	}
	return int64(d.Clients) * int64(max(d.Scenario.Operations, 1))
}

// Filename returns the name under which a document is kept in its run's folder.
func (d *Document) Filename() string {
	rate := ""
	if d.Rate > 0 {
		rate = "-rate" + d.Rate.Word()
	}
	return fmt.Sprintf("%s_%s-%s_n%d%s_r%d.json", d.Scenario.Name, d.Recipe, d.Variant, d.Clients, rate, d.Repeat)
}

// Lockstep reports whether zkbench started each step after the previous one, so that the window has no throughput.
func (d *Document) Lockstep() bool { return d.Scenario.Mode == LockstepMode }

// Starves reports whether more unfinished waits were older than the p99 than chance explains.
func (d *Document) Starves() bool {
	return !d.Lockstep() && d.Window.StarvingWaits > max(1, d.Window.UnfinishedWaits/50)
}

// Sound reports whether a measurement's numbers may be used: they are valid, the recipe kept its promise, and the load was finished.
func (d *Document) Sound() bool {
	return len(d.Invalid) == 0 && len(d.Violations) == 0 && d.Unfinished == nil
}

// Drawable reports whether a measurement may appear in a figure beside others: its numbers may be used, and its variant is not
// known to be broken. A lock that sometimes fails to wake a waiter must not look faster for it.
func (d *Document) Drawable() bool { return d.Sound() && d.KnownBroken == "" }
