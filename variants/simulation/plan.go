// Package simulation runs variants in virtual time, on a server in memory, under random faults, and finds the plan of a
// run in which a variant breaks its promise.
//
// It takes one position: a plan is data, and decides the run. A seed makes a plan, so that thousands differ; a plan is
// made smaller, told as a story and kept as a regression. The plan cannot decide some things, such as which of two
// goroutines runs first at one instant. They are made rare: every message takes a time of its own, and every client
// draws from a source of its own.
package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// Plan decides a run: the same plan makes the same run, as far as the Go scheduler lets it.
type Plan struct {
	Recipe  string   `json:"recipe"`
	Variant string   `json:"variant"`
	Seed    uint64   `json:"seed"` // of the latency of each message, and of how long each client holds
	Clients int      `json:"clients"`
	Steps   int      `json:"steps"` // of each client
	Session Duration `json:"session"`
	Hold    Duration `json:"hold"` // the longest hold of a client
	// Beside is how often another part of the application makes a request on each client's session; zero means never.
	Beside Duration `json:"beside"`
	// Rewatch is how late, at most, the client library looks up the zxid that it sends with its watches on a new connection.
	Rewatch Duration `json:"rewatch"`
	// Latency is the time that a message between each client and the server takes on average. It takes from half to one
	// and a half times as long.
	Latency []Duration `json:"latency"`
	// Lag is by how much each server applies transactions after the leader. A plan without it has one server.
	Lag []Duration `json:"lag,omitempty"`
	// Expiry is how much later than at their timeout sessions expire.
	Expiry Duration `json:"expiry,omitempty"`
	Faults []Fault  `json:"faults"`
}

// Fault is something that happens once to one client, after it has sent so many requests since all have joined, and after a further delay.
type Fault struct {
	Kind   Kind     `json:"kind"`
	Client int      `json:"client"`
	After  int      `json:"after"`            // requests, in all its lives
	Then   bool     `json:"then,omitempty"`   // the requests count from when the plan's previous fault has happened, to the same client
	Delay  Duration `json:"delay"`            // beyond that
	At     string   `json:"at,omitempty"`     // then the next request of this kind, such as "create", or Waiting or Holding; empty for at once
	For    Duration `json:"for,omitempty"`    // how long it lasts
	Also   bool     `json:"also,omitempty"`   // it happens to all other clients, too, and each recovers at a time of its own
	Leader bool     `json:"leader,omitempty"` // it happens to the leader in place of the client's server
}

// The states that a fault may wait for in place of a request.
const (
	Waiting = "waiting" // the client waits for a notification
	Holding = "holding" // the client holds, as a lock
)

// Kind is a kind of fault.
type Kind string

// The kinds.
const (
	DropBefore Kind = "drop-before"
	DropAfter  Kind = "drop-after"
	Cut        Kind = "cut"
	Silence    Kind = "silence"
	Mute       Kind = "mute"
	Deaf       Kind = "deaf"
	Expire     Kind = "expire"
	ExpireAt   Kind = "expire-at"
	Die        Kind = "die"
	Pause      Kind = "pause"
	Ignore     Kind = "ignore"
	Stall      Kind = "stall"
	Crash      Kind = "crash"
	Part       Kind = "part"
	Forward    Kind = "forward"
	Late       Kind = "late"
)

type trait struct {
	words   string // follow the name of a client
	request bool   // it happens at a request, which is named in At
	ends    bool   // it ends the session, however short it is
	deafens bool   // meanwhile the client does not act on requests of others, or cannot
	server  bool   // it happens to the client's server, or to the leader; the words follow the server's name
	several bool
}

func traits() map[Kind]trait {
	return map[Kind]trait{
		DropBefore: {words: "loses the connection in place of its request", request: true},
		DropAfter:  {words: "loses the connection with the reply to its request", request: true},
		Cut:        {words: "loses the connection, and gets no other one", deafens: true},
		Silence:    {words: "is cut off from the server", deafens: true},
		Mute:       {words: "is not heard by the server", deafens: true},
		Deaf:       {words: "hears nothing from the server", deafens: true},
		Expire:     {words: "loses its session", ends: true},
		ExpireAt:   {words: "loses its session with the reply to its request", request: true, ends: true},
		Die:        {words: "dies", ends: true},
		Pause:      {words: "stands still, and so do its timers", deafens: true},
		Ignore:     {words: "ignores what others ask", deafens: true},
		Stall:      {words: "stands still", deafens: true, server: true},
		Crash:      {words: "crashes, and starts again", deafens: true, server: true},
		Part:       {words: "is cut off from the other servers", deafens: true, server: true, several: true},
		Forward:    {words: "hands on requests late", deafens: true, server: true, several: true},
		Late:       {words: "is notified late, like all others", deafens: true},
	}
}

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Sorted(maps.Keys(traits())) }

func (k Kind) lasts() bool { return traits()[k].deafens || k == Die }

// Requests returns the kinds of request at which a fault can happen.
func Requests() map[string]wire.Opcode {
	return map[string]wire.Opcode{
		"create": wire.OpCreate, "delete": wire.OpDelete, "exists": wire.OpExists, "get": wire.OpGetData, "set": wire.OpSetData,
		"children": wire.OpGetChildren2, "multi": wire.OpMulti, "sync": wire.OpSync,
	}
}

// nameOf returns the empty string for a request at which no fault can happen.
func nameOf(op wire.Opcode) string {
	for name, code := range Requests() {
		if code == op {
			return name
		}
	}
	return ""
}

// String tells a fault in a sentence.
func (f Fault) String() string {
	whom := fmt.Sprintf("client %d", f.Client)
	if f.Leader {
		whom = "the leader"
	} else if traits()[f.Kind].server {
		whom += "'s server"
	}
	s := whom + " " + traits()[f.Kind].words
	if f.Kind.lasts() {
		s += fmt.Sprintf(", for %s", f.For)
	}
	if f.Then {
		s += fmt.Sprintf(", %s after %d more requests", f.Delay, f.After)
	} else {
		s += fmt.Sprintf(", %s after request %d", f.Delay, f.After)
	}
	switch {
	case f.At == Waiting, f.At == Holding:
		s += ", while it is " + f.At
	case f.At != "":
		s += ", at the next " + f.At
	}
	if f.Also {
		s += "; and so do all others"
	}
	return s
}

// Duration is a time that is written as "1.5ms".
type Duration time.Duration

// String implements [fmt.Stringer].
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// ParsePlan reads a plan that was written as JSON, and checks that it can be run.
func ParsePlan(text []byte) (Plan, error) {
	var p Plan
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("read a plan: %w", err)
	}
	return p, p.check()
}

// The bounds of plans. The largest plan ends within seconds.
const (
	mostClients = 16
	mostSteps   = 1000
	longest     = Duration(10 * time.Minute)
)

// check returns why a plan cannot be run.
func (p Plan) check() error {
	switch {
	case p.Clients < 1 || p.Clients > mostClients:
		return fmt.Errorf("a plan has from 1 to %d clients, not %d", mostClients, p.Clients)
	case p.Steps < 1 || p.Steps > mostSteps:
		return fmt.Errorf("the clients of a plan take from 1 to %d steps, not %d", mostSteps, p.Steps)
	case len(p.Latency) != p.Clients:
		return fmt.Errorf("a plan with %d clients has as many latencies, not %d", p.Clients, len(p.Latency))
	case p.Session < Duration(time.Second) || slices.Min(p.Latency) < Duration(time.Microsecond),
		max(p.Session, slices.Max(p.Latency)) > longest:
		return fmt.Errorf("a session timeout is from 1s to %s, and a latency from 1us to %s", longest, longest)
	case min(p.Hold, p.Beside, p.Rewatch) < 0 || max(p.Hold, p.Beside, p.Rewatch) > longest:
		return fmt.Errorf("hold, beside and rewatch are from 0s to %s", longest)
	case !slices.Contains([]int{0, 1, 3, 5}, len(p.Lag)):
		return fmt.Errorf("a plan has the lag of 1, 3 or 5 servers, not of %d", len(p.Lag))
	case p.Expiry < 0 || p.Expiry > longest || slices.ContainsFunc(p.Lag, func(d Duration) bool { return d < 0 || d > longest }):
		return fmt.Errorf("lag and expiry are from 0s to %s", longest)
	}
	for i, f := range p.Faults {
		if err := f.check(p); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return nil
}

func (f Fault) check(p Plan) error {
	_, request := Requests()[f.At]
	trait, known := traits()[f.Kind]
	switch {
	case !known:
		return fmt.Errorf("%q is no kind of fault: choose one of %v", f.Kind, Kinds())
	case f.Client < 0 || f.Client >= p.Clients:
		return fmt.Errorf("there is no client %d", f.Client)
	case f.After < 0 || min(f.Delay, f.For) < 0 || max(f.Delay, f.For) > longest:
		return fmt.Errorf("its times are from 0s to %s, and no request has a number below 0", longest)
	case f.Leader && !trait.server, trait.several && len(p.Lag) < 2:
		return fmt.Errorf("%s cannot happen: a leader has the faults of servers, and %s needs several", f.Kind, Part)
	case !request && (trait.request || f.At != "" && f.At != Waiting && f.At != Holding):
		return fmt.Errorf("at: %q is no kind of request, such as create, nor %s or %s where no request is needed", f.At, Waiting, Holding)
	}
	return nil
}
