package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

// Ability describes the faults and session timeouts that an ensemble allows.
type Ability struct {
	Engine  string
	Kinds   []Kind
	Servers []string
	// MinSessionTimeout and MaxSessionTimeout bound the timeouts that the servers grant; 0 if a bound is unknown.
	MinSessionTimeout, MaxSessionTimeout time.Duration
}

// Unable returns the faults of a schedule, and the session timeout, that an ensemble does not allow, as one error; nil if it
// allows all.
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
