package results

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// Mode says how a load is paced.
type Mode string

// The modes of a load.
const (
	ClosedMode   Mode = "closed"
	LockstepMode Mode = "lockstep"
	OpenMode     Mode = "open"
	// ObservedMode is the mode of a load that another program has applied. Its length and its operations are not known in advance.
	ObservedMode Mode = "observed"
)

// Scenario is the load that was asked for: the fields of its file, with the changes made by flags.
type Scenario struct {
	Name       string        `json:"name"`
	Question   string        `json:"question"`
	Mode       Mode          `json:"mode"`
	Size       int           `json:"size"`                 // S in formulas: units that the recipe works on, for each client
	Operations int           `json:"operations,omitempty"` // closed: per client; the measurement ends when all are done
	Duration   time.Duration `json:"duration_ns,omitempty"`
	Clients    []int         `json:"client_counts"`
	Variants   []string      `json:"variants,omitempty"` // none if the scenario has all that can run in its mode
	Broken     []string      `json:"broken,omitempty"`   // variants that are expected to break their promise under this load
	Rate       []Rate        `json:"rates,omitempty"`    // open: operations per second that arrive, for all clients together
	Arrivals   string        `json:"arrivals,omitempty"` // open: how they arrive
	Stages     []StageLoad   `json:"stages,omitempty"`   // closed, open: how the load changes within the window; none if it does not
	WarmUp     time.Duration `json:"warm_up_ns"`         // closed, open: time before the window, which is discarded
	Hold       time.Duration `json:"hold_ns"`            // how long a client holds, such as a lock
	Think      time.Duration `json:"think_ns"`           // closed: pause between a client's operations
	Repeats    int           `json:"repeats"`
	Seed       uint64        `json:"seed"`
	Heap       bool          `json:"heap,omitempty"`       // lockstep: measure the growth of the servers' heaps while clients line up
	AtMost     time.Duration `json:"at_most_ns,omitempty"` // closed, open: time limit of a load with a number of operations; 0 means none

	BystanderRate int    `json:"bystander_rate"`     // reads per second that one extra session sends to each server
	Overview      string `json:"overview,omitempty"` // a pair for the overview, see claim.ParsePair
	// Asks lists the metrics of the scenario's claims and of its overview. They select the figures. Flags do not change them,
	// unlike Expect, which is empty if flags have changed the load.
	Asks       []string        `json:"asks,omitempty"`
	Expect     []string        `json:"expect,omitempty"`     // the claims about the outcome, in the syntax of results/claim
	Background *BackgroundLoad `json:"background,omitempty"` // reads and writes by other sessions; nil without any

	Faults         []FaultLoad   `json:"faults,omitempty"`             // closed, open: the schedule of failures
	SessionTimeout time.Duration `json:"session_timeout_ns,omitempty"` // asked for; 0 means the default
	Roam           bool          `json:"roam,omitempty"`               // clients whose server fails connect to another one
	QuorumLoss     bool          `json:"quorum_loss,omitempty"`        // faults may take the quorum away for longer than a session lives
	// Tunnelled means that the requests of all variants pass through zkbench, because a variant of the scenario is in a driver.
	Tunnelled bool `json:"tunnelled,omitempty"`
}

// Field is a field of a scenario. All code that reads, overrides, compares or shows the fields of a scenario uses Fields.
type Field struct {
	Name  string // in a file, and of its flag unless Flag has another one
	Wants string // a description of valid values; empty for a block with its own fields
	Value any    // a pointer to the field of the scenario

	Flag string // the name of a flag that gives one element of a list
	Help string // of the flag; empty without one
	// Series means that the flag only says how often and in which order a load is measured, and does not change the load.
	Series bool
	// Condition means that a single measurement depends on the field. Documents in which it differs do not belong together.
	Condition bool
}

// Fields returns every field that a file or a flag can set, in the order of messages.
func (s *Scenario) Fields() []Field {
	const whole, span, yes = "a whole number", "a duration with its unit, such as ", "true or false"
	return []Field{
		{Name: "name", Wants: "a word", Value: &s.Name},
		{Name: "question", Wants: "a sentence", Value: &s.Question},
		{Name: "variants", Wants: "a list of variants, such as [znode, predecessor-watch]", Value: &s.Variants,
			Help: "variants to compare (default: the scenario's)"},
		{Name: "broken", Wants: "a list of variants, such as [writelock]", Value: &s.Broken},
		{Name: "mode", Wants: "closed, lockstep or open", Value: &s.Mode, Condition: true,
			Help: "closed (clients loop), open (operations arrive\nat a rate) or lockstep (exact counts)"},
		{Name: "clients", Wants: "a list of whole numbers, such as [1, 10, 50]", Value: &s.Clients,
			Help: "numbers of clients, such as 1,10,50"},
		{Name: "rate", Wants: "a list of rates, which are whole numbers per second, min or h, such as [100, 6/min]", Value: &s.Rate,
			Help: "`rates` of operations in open mode, such as\n100,200 (per second) or 6/min"},
		{Name: "arrivals", Wants: "constant or poisson", Value: &s.Arrivals, Condition: true, Help: "constant or poisson, in open mode"},
		{Name: "stages", Value: &s.Stages, Condition: true, Flag: "stage",
			Help: "a `stage` of a load that changes, such as\n'for: 10s, clients: 5' or, in open mode,\n'for: 10s, rate: 100'; repeatable; or none"},
		{Name: "size", Wants: whole, Value: &s.Size, Condition: true, Help: "amount of work for each client, such as items"},
		{Name: "operations", Wants: whole, Value: &s.Operations, Condition: true, Help: "operations per client, instead of a duration"},
		{Name: "duration", Wants: span + "3s", Value: &s.Duration, Condition: true, Help: "length of a measurement in closed and open mode"},
		{Name: "warm-up", Wants: span + "1s", Value: &s.WarmUp, Condition: true, Help: "load before each measurement, not counted"},
		{Name: "hold", Wants: span + "5ms", Value: &s.Hold, Condition: true, Help: "time for which a client holds a lock"},
		{Name: "think", Wants: span + "5ms", Value: &s.Think, Condition: true, Help: "pause between a client's operations"},
		{Name: "repeats", Wants: whole, Value: &s.Repeats, Series: true, Help: "measurements of each variant (times need six)"},
		{Name: "seed", Wants: whole + ", not negative", Value: &s.Seed, Series: true, Help: "seed of the order of the variants"},
		{Name: "at-most", Wants: span + "2m", Value: &s.AtMost, Condition: true, Help: "longest time of a load of a number of operations"},
		{Name: "heap", Wants: yes, Value: &s.Heap, Condition: true},
		{Name: "bystander-rate", Wants: whole, Value: &s.BystanderRate, Condition: true},
		{Name: "background", Value: &s.Background, Condition: true,
			Help: "a `load` beside the recipe, such as\n'reads: 500, writes: 100'; or none"},
		{Name: "faults", Value: &s.Faults, Condition: true, Flag: "fault",
			Help: "a `fault`, such as 'kill: leader, at: 1s', instead\nof the scenario's; repeatable; or none"},
		{Name: "session-timeout", Wants: span + "4s", Value: &s.SessionTimeout, Condition: true,
			Help: "`time` until a silent session ends (default 30s)"},
		{Name: "roam", Wants: yes, Value: &s.Roam, Condition: true, Help: "clients whose server fails connect to another"},
		{Name: "quorum-loss", Wants: yes, Value: &s.QuorumLoss, Help: "faults may take the quorum away for longer than\na session lives"},
		{Name: "expect", Wants: "a list of claims, such as [znode herd-max >= 10 x predecessor-watch]", Value: &s.Expect},
		{Name: "overview", Wants: "two variants and a metric, such as predecessor-watch against znode by ops/s", Value: &s.Overview},
	}
}

// FlagName returns the name of the field's flag.
func (f Field) FlagName() string { return cmp.Or(f.Flag, f.Name) }

func (f Field) value() reflect.Value { return reflect.ValueOf(f.Value).Elem() }

// IsZero reports whether the field has its zero value.
func (f Field) IsZero() bool { return f.value().IsZero() }

// Clear sets the field to its zero value.
func (f Field) Clear() { f.value().SetZero() }

// Text returns the value as a flag takes it, such as "3s", the elements of a list separated by semicolons; empty for an empty list.
func (f Field) Text() string {
	v := f.value()
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(v)
	}
	var texts []string
	for i := range v.Len() {
		texts = append(texts, fmt.Sprint(v.Index(i)))
	}
	return strings.Join(texts, "; ")
}

// Settings returns the conditions of the load that are not zero, such as "hold 5ms".
func (s Scenario) Settings() []string {
	given := list.Where(s.Fields(), func(f Field) bool { return f.Condition && !f.IsZero() })
	return list.Map(given, func(f Field) string { return f.Name + " " + f.Text() })
}

// Rates returns the rates to measure: the largest one of a load in stages, and a single zero in a load that is not open.
func (s *Scenario) Rates() []Rate {
	switch {
	case len(s.Rate) > 0:
		return s.Rate
	case s.Mode == OpenMode && len(s.Stages) > 0:
		return []Rate{list.Largest(list.Map(s.Stages, func(l StageLoad) Rate { return l.Rate }))}
	default:
		return []Rate{0}
	}
}

// Offered names the rates of an open load, such as "offered 50/s, 100/s".
func (s *Scenario) Offered() string {
	return "offered " + strings.Join(list.Map(s.Rates(), func(r Rate) string { return r.Of("") }), ", ")
}

// HighestStage returns the largest number of clients of a stage.
func (s *Scenario) HighestStage() int {
	return list.Largest(list.Map(s.Stages, func(l StageLoad) int { return l.Clients }))
}

// Loads returns the loads that the scenario asks for, as [Document.Load] names them.
func (s *Scenario) Loads() []string {
	return slices.Concat(list.Map(s.Clients, func(clients int) []string {
		return list.Map(s.Rates(), func(rate Rate) string { return loadText(clients, rate) })
	})...)
}
