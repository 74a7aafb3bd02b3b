package doubts

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// outage is a kind of disturbance that a fault can cause.
type outage int

const (
	lostSession  outage = iota
	reconnect           // of a client's session
	failedRead          // by a bystander, or a failed request of the background
	leaderChange        // or no leader
	restart             // of a server, also without its process when it joins the others again; or no answer after the measurement
	standstill          // of a server
)

// explains reports whether the scenario asks for a kind of fault that causes such outages. This is the rule by which a fault
// that was asked for does not make a measurement invalid, and one that was not asked for does.
func explains(s results.Scenario, o outage) bool {
	return slices.ContainsFunc(s.Faults, func(f results.FaultLoad) bool {
		switch o {
		case lostSession:
			return f.Kind.OfServer() || f.Kind == results.ExpireFault || f.Kind == results.StopFault
		case reconnect:
			return f.Kind.OfServer() || f.Kind == results.ExpireFault || f.Kind == results.StopFault || f.Kind == results.CutFault
		default: // a server that has lost its quorum begins anew, with new counters
			return f.Kind.OfServer()
		}
	})
}

// outages describes the outages that the schedule of faults explains, or those that it does not.
func outages(d *results.Document, explained bool) []string {
	h := d.Health
	var out []string
	add := func(o outage, happened bool, format string, args ...any) {
		if happened && explains(d.Scenario, o) == explained {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(lostSession, h.SessionsLost > 0, "%d sessions were lost", h.SessionsLost)
	add(failedRead, h.BystanderErrors > 0, "%d reads by bystanders failed", h.BystanderErrors)
	failed := backgroundFailures(d)
	add(failedRead, failed > 0, "%d requests of the background failed", failed)
	add(leaderChange, h.LeaderChanged, "the leader changed, or there was none")
	add(reconnect, h.Reconnects > 0, "%d times a session had to reconnect", h.Reconnects)
	for _, s := range d.Servers {
		add(restart, d.Scenario.Faulty() && s.Restarted, "%s", restarted(s))
	}
	return out
}
