package faults

import (
	"cmp"
	"slices"
	"time"
)

// servers finds the mistakes in the faults of servers: those that hit a server that is down, and those that together take the
// quorum away.
type servers struct {
	overlaps
	lost   time.Duration // since when there is no quorum
	losing Occurrence    // that took it away
}

// checkServers walks through the faults of servers in the order of time.
func checkServers(schedule []Fault, t Terms) []Problem {
	s := servers{overlaps: overlaps{terms: t}}
	for o := range occurrences(schedule, t.Window, func(f Fault) bool { return f.Kind.OfServer() }) {
		s.restoreBefore(o.Due)
		if !s.canHappen(o) {
			continue
		}
		quorum := s.hasQuorum()
		s.begin(o, s.endOf(o))
		if quorum && !s.hasQuorum() {
			s.lost, s.losing = o.Due, o
		}
	}
	s.restoreBefore(never)
	if !s.hasQuorum() {
		s.checkLoss(never)
	}
	return s.problems
}

// endOf returns when the server of an occurrence is restored, at the latest.
func (s *servers) endOf(o Occurrence) time.Duration {
	last := cmp.Or(s.terms.Window, never)
	if o.For == 0 {
		return last
	}
	return min(o.Due+o.For, last)
}

// hasQuorum reports whether a majority of the servers works.
func (s *servers) hasQuorum() bool { return len(Servers())-len(s.open) > len(Servers())/2 }

// restoreBefore ends the outages that are over before a time. One that ends at that time still counts: the server needs a
// moment to join its quorum.
func (s *servers) restoreBefore(t time.Duration) {
	for {
		quorum := s.hasQuorum()
		end, over := s.endBefore(t)
		if !over {
			return
		}
		if !quorum && s.hasQuorum() {
			s.checkLoss(end)
		}
	}
}

// canHappen reports whether there is a server that an occurrence can hit, and adds a mistake otherwise.
func (s *servers) canHappen(o Occurrence) bool {
	before := slices.IndexFunc(s.open, func(other outage) bool {
		return slices.Contains(Servers(), o.Whom) && (other.Whom == o.Whom || !slices.Contains(Servers(), other.Whom))
	})
	switch {
	case len(s.open) == len(Servers()):
		s.add(o, "at %s no server is left: all of them are down", span(o.Due))
	case !s.hasQuorum() && (o.Whom == Leader || o.Whom == Follower):
		s.add(o, "at %s there is no %s: %d of the %d servers are down, and the others have no quorum", span(o.Due), o.Whom, len(s.open), len(Servers()))
	case before >= 0 && s.open[before].Whom == o.Whom:
		s.add(o, "at %s %s is still down, by `%s`", span(o.Due), o.Whom, s.open[before].Fault)
	case before >= 0:
		s.add(o, "at %s %s may still be down, by `%s`", span(o.Due), o.Whom, s.open[before].Fault)
	default:
		return true
	}
	return false
}

// checkLoss adds a mistake if there was no quorum for longer than a session lives, unless the scenario wants that.
func (s *servers) checkLoss(until time.Duration) {
	if until-s.lost <= s.terms.SessionTimeout || s.terms.QuorumLoss {
		return
	}
	to, lasts := "to "+span(until), span(until-s.lost)+" without a quorum"
	if until == never {
		to, lasts = "on", "no quorum to the end of the measurement"
	}
	s.add(s.losing, "from %s %s at most one of the %d servers works: %s, longer than the session timeout of %s, so that every session ends; quorum-loss: true allows it",
		span(s.lost), to, len(Servers()), lasts, span(s.terms.SessionTimeout))
}
