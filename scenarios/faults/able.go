package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Ability is what an ensemble can make of a schedule.
type Ability struct {
	Engine  string   // its name, for messages
	Kinds   []Kind   // the faults that it can cause
	Servers []string // their names
	// MinSessionTimeout and MaxSessionTimeout bound what the servers grant; 0 if that is unknown.
	MinSessionTimeout, MaxSessionTimeout time.Duration
}

// ClientKinds returns the faults of clients, which zkbench can cause on every ensemble.
func ClientKinds() []Kind { return slices.DeleteFunc(Kinds(), Kind.OfServer) }

// engines returns which of zkbench's engines can cause a fault of servers.
func engines(k Kind) string {
	if k == Partition {
		return "containers"
	}
	return "containers and processes"
}

// Unable returns what an ensemble cannot do of a schedule and of a session timeout, as one error; nil if it can do all.
func Unable(schedule []Fault, sessionTimeout time.Duration, can Ability) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range schedule {
		switch {
		case !slices.Contains(can.Kinds, f.Kind) && f.Kind.OfServer():
			add("`%s`: the servers of engine %s cannot fail this way (possible: %s); those of %s can",
				f, can.Engine, joined(can.Kinds, "and"), engines(f.Kind))
		case !slices.Contains(can.Kinds, f.Kind):
			add("`%s`: engine %s has no such fault (possible: %s)", f, can.Engine, joined(can.Kinds, "and"))
		case f.Kind.OfServer() && slices.Contains(Servers(), f.Whom) && !slices.Contains(can.Servers, f.Whom):
			add("`%s`: there is no server %s, but %s", f, f.Whom, joined(can.Servers, "and"))
		}
	}
	if least := can.MinSessionTimeout; least > 0 && sessionTimeout < least {
		add("session-timeout: engine %s grants at least %s, not %s: servers count in ticks, and a session lives for at least 2 of them", can.Engine, span(least), span(sessionTimeout))
	}
	if most := can.MaxSessionTimeout; most > 0 && sessionTimeout > most {
		add("session-timeout: engine %s grants at most %s, not %s: servers count in ticks, and a session lives for at most 20 of them", can.Engine, span(most), span(sessionTimeout))
	}
	return errors.Join(errs...)
}
