package faults

import (
	"cmp"
	"slices"
	"time"
)

// checkServers rejects faults of servers that are down, and faults that together take the quorum away for too long.
func checkServers(schedule []Fault, t Terms) []Problem {
	l := overlaps{terms: t}
	for o := range occurrences(schedule, t.Window, func(f Fault) bool { return f.Kind.OfServer() }) {
		l.endBefore(o.Due)
		if !l.canHappen(o) {
			continue
		}
		end := cmp.Or(t.Window, never) // the server is restored at the end of the window
		if o.For > 0 {
			end = min(o.Due+o.For, end)
		}
		l.begin(o, end)
		if l.losing == nil && !l.hasQuorum() {
			l.losing = &o
		}
	}
	l.endBefore(never)
	if l.losing != nil {
		l.checkLoss(never)
	}
	return l.problems
}

func (l *overlaps) hasQuorum() bool { return len(Servers())-len(l.open) > len(Servers())/2 }

// canHappen reports whether there is a server that an occurrence can hit, and adds a mistake otherwise.
func (l *overlaps) canHappen(o Occurrence) bool {
	before := slices.IndexFunc(l.open, func(other outage) bool {
		return slices.Contains(Servers(), o.Whom) && (other.Whom == o.Whom || !slices.Contains(Servers(), other.Whom))
	})
	switch {
	case len(l.open) == len(Servers()):
		l.add(o, "at %s no server is left: all of them are down", span(o.Due))
	case !l.hasQuorum() && (o.Whom == Leader || o.Whom == Follower):
		l.add(o, "at %s there is no %s: %d of the %d servers are down, and the others have no quorum",
			span(o.Due), o.Whom, len(l.open), len(Servers()))
	case before >= 0 && l.open[before].Whom == o.Whom:
		l.add(o, "at %s %s is still down, by `%s`", span(o.Due), o.Whom, l.open[before].Fault)
	case before >= 0:
		l.add(o, "at %s %s may still be down, by `%s`", span(o.Due), o.Whom, l.open[before].Fault)
	default:
		return true
	}
	return false
}

// checkLoss adds a mistake if the quorum was lost for longer than a session lives, unless the scenario allows that.
func (l *overlaps) checkLoss(until time.Duration) {
	losing := *l.losing
	l.losing = nil
	if until-losing.Due <= l.terms.SessionTimeout || l.terms.QuorumLoss {
		return
	}
	to, lasts := "to "+span(until), span(until-losing.Due)+" without a quorum"
	if until == never {
		to, lasts = "on", "no quorum to the end of the measurement"
	}
	l.add(losing, "from %s %s at most one of the %d servers works: %s, longer than the session timeout of %s, "+
		"so that every session ends; quorum-loss: true allows it", span(losing.Due), to, len(Servers()), lasts, span(l.terms.SessionTimeout))
}
