package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// Kind names the failure that a fault causes, such as kill.
type Kind = results.FaultKind

// The kinds.
const (
	Kill      = Kind(ensemble.Kill)
	Pause     = Kind(ensemble.Pause)
	Partition = Kind(ensemble.Partition)
	Expire    = results.ExpireFault
	Cut       = results.CutFault
	Stop      = results.StopFault
	Deaf      = results.DeafFault
)

// about describes a kind. Package chaos knows how it is caused.
type about struct {
	Kind
	whom       []string          // the words for whom it can hit, besides the recipe's roles if it is a fault of clients
	every      time.Duration     // the shortest time from one occurrence to the next
	lasts      bool              // it lasts until it is undone; other faults happen at once, and the clients recover by themselves
	operations bool              // it can wait for an operation
	endsLives  bool              // it ends a session, so that the client must be able to join again
	asks       bool              // it has no effect unless clients ask others for what these hold
	engines    []ensemble.Engine // the engines whose servers can fail this way; unused for faults of clients
}

// kinds is the table of all kinds: the faults of servers, then the faults of clients.
func kinds() []about {
	const second, moment = time.Second, 10 * time.Millisecond // a server takes longer to join its quorum than a client to connect
	server := append([]string{Leader, Follower, Any}, Servers()...)
	client, clients := []string{Any, Holder, Waiter, Idle, "client 0"}, []string{Any, All, Holder, Waiter, Idle, "client 0"}
	here := []ensemble.Engine{ensemble.Container, ensemble.Process, ensemble.Embedded}
	networked := []ensemble.Engine{ensemble.Container, ensemble.Embedded}
	return []about{
		{Kind: Kill, whom: server, every: second, lasts: true, engines: here},
		{Kind: Pause, whom: server, every: second, lasts: true, engines: here},
		{Kind: Partition, whom: server, every: second, lasts: true, engines: networked},
		{Kind: Expire, whom: clients, every: moment, endsLives: true},
		{Kind: Cut, whom: clients, every: moment, operations: true},
		{Kind: Stop, whom: client, every: moment, operations: true, endsLives: true},
		{Kind: Deaf, whom: client, every: moment, lasts: true, asks: true},
	}
}

// of describes a kind. A fault that could not be read has a kind that is not in the table.
func of(k Kind) about {
	for _, a := range kinds() {
		if a.Kind == k {
			return a
		}
	}
	return about{Kind: k}
}

// Kinds returns all kinds: the faults of servers, then the faults of clients.
func Kinds() []Kind { return kindsWhere(func(about) bool { return true }) }

// KindsOn returns the kinds of faults that zkbench can cause on an engine with three servers.
func KindsOn(engine ensemble.Engine) []Kind {
	return kindsWhere(func(a about) bool { return !a.OfServer() || slices.Contains(a.engines, engine) })
}

// ClientKinds returns the faults of clients, which zkbench can cause on every ensemble.
func ClientKinds() []Kind { return kindsWhere(func(a about) bool { return !a.OfServer() }) }

func kindsWhere(wanted func(about) bool) []Kind {
	return list.Map(list.Where(kinds(), wanted), func(a about) Kind { return a.Kind })
}

// Whom returns the words for whom a fault of this kind can hit, in a recipe with these roles.
func Whom(k Kind, roles []string) []string {
	if k.OfServer() {
		roles = nil
	}
	return append(of(k).whom, roles...)
}

// Ability describes the faults and session timeouts that an ensemble allows.
type Ability struct {
	Engine  string
	Kinds   []Kind
	Servers []string
	// MinSessionTimeout and MaxSessionTimeout bound the timeouts that the servers grant; 0 if a bound is unknown.
	MinSessionTimeout, MaxSessionTimeout time.Duration
}

// Unable returns the faults of a schedule, and the session timeout, that an ensemble does not allow, as one error; nil if it allows all.
func Unable(schedule []Fault, sessionTimeout time.Duration, can Ability) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range schedule {
		switch able := slices.Contains(can.Kinds, f.Kind); {
		case !able && f.Kind.OfServer():
			add("`%s`: the servers of engine %s cannot fail this way (possible: %s); those of %s can",
				f, can.Engine, joined(can.Kinds, "and"), joined(startable(f.Kind), "and"))
		case !able:
			add("`%s`: engine %s has no such fault (possible: %s)", f, can.Engine, joined(can.Kinds, "and"))
		case f.Kind.OfServer() && slices.Contains(Servers(), f.Whom) && !slices.Contains(can.Servers, f.Whom):
			add("`%s`: there is no server %s, but %s", f, f.Whom, joined(can.Servers, "and"))
		}
	}
	const ticks = "session-timeout: engine %s grants at %s %s, not %s: servers count in ticks, and a session lives for at %s %d of them"
	if least := can.MinSessionTimeout; least > 0 && sessionTimeout < least {
		add(ticks, can.Engine, "least", span(least), span(sessionTimeout), "least", 2)
	}
	if most := can.MaxSessionTimeout; most > 0 && sessionTimeout > most {
		add(ticks, can.Engine, "most", span(most), span(sessionTimeout), "most", 20)
	}
	return errors.Join(errs...)
}

func startable(k Kind) []string {
	names := map[ensemble.Engine]string{ensemble.Container: "containers", ensemble.Process: "processes"}
	all := list.Map(of(k).engines, func(e ensemble.Engine) string { return names[e] })
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}
