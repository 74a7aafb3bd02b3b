package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/strict"
)

// The limits of a schedule. Values beyond them are considered typing errors.
const (
	maxFaults = 20
	maxSpan   = 24 * time.Hour
)

// check returns the mistakes in a fault that do not depend on the recipe, the load or other faults.
func (r *reader) check() (mistakes []string) {
	add := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	if len(r.kinds) == 0 {
		return []string{fmt.Sprintf("what fails? One of the fields %s is missing", joined(Kinds(), "or"))}
	}
	if len(r.kinds) > 1 {
		return []string{joined(r.kinds, "and") + " are different faults: each wants a line of its own"}
	}
	for _, s := range []struct {
		name  string
		value time.Duration
	}{{"at", r.At}, {"every", r.Every}, {"for", r.For}} {
		if s.value > maxSpan {
			add("%s wants at most %s, not %s", s.name, span(maxSpan), span(s.value))
		}
	}
	kind := of(r.Kind)
	switch {
	case first(r.Fault) == 0:
		add("when? at or every is missing")
	case r.Every == 0:
	case r.Every < kind.every:
		add("every wants at least %s for %s, not %s", span(kind.every), r.Kind, span(r.Every))
	case kind.lasts && r.For == 0:
		add("every wants for, too: without it, %s lasts to the end of the measurement and cannot happen again", r.Kind)
	case r.For >= r.Every:
		add("it lasts %s, but would happen again after %s", span(r.For), span(r.Every))
	}
	if r.For > 0 && !kind.lasts {
		add("for means nothing to %s, which happens at once", r.Kind)
	}
	if r.Before != "" && r.After != "" {
		add("before and after exclude each other")
	}
	for _, o := range []struct{ name, value string }{{"before", r.Before}, {"after", r.After}} {
		if o.value == "" {
			continue
		}
		if _, known := wire.OpcodeNamed(o.value); !kind.operations {
			waiting := kindsWhere(func(a about) bool { return a.operations })
			add("%s means nothing to %s: it is for %s", o.name, r.Kind, joined(waiting, "and"))
		} else if !known {
			add("%s: there is no operation %q%s", o.name, o.value, strict.Nearest(o.value, wire.OpcodeNames()))
		}
	}
	return mistakes
}

// Terms are the properties of a scenario and its recipe on which the mistakes in a schedule depend.
type Terms struct {
	Window         time.Duration // the length of the window; 0 if the measurement ends after a number of operations
	SessionTimeout time.Duration
	Clients        int      // the fewest of any measurement
	Roles          []string // of the recipe
	Holds          bool     // clients of the recipe hold
	Asks           bool     // clients of the recipe ask others for what these hold
	Fixed          bool     // no client of the recipe can join again
	Roam           bool     // a client whose server fails connects to another one
	QuorumLoss     bool     // the quorum may be lost for longer than the session timeout
}

// Problem is one mistake in a schedule.
type Problem struct {
	Index int // of the fault in the schedule
	Text  string
}

// Check returns all mistakes in a schedule. Each fault has been read by [Parse] or [ReadList].
func Check(schedule []Fault, t Terms) []Problem {
	var out []Problem
	if len(schedule) > maxFaults {
		return []Problem{{maxFaults, fmt.Sprintf("is the %dth fault, and a schedule has at most %d: every repeats one", maxFaults+1, maxFaults)}}
	}
	for i, f := range schedule {
		add := func(format string, args ...any) { out = append(out, Problem{i, fmt.Sprintf(format, args...)}) }
		checkWhom(f, t, add)
		checkWindow(f, t, add)
		checkSessions(f, t, add)
	}
	if len(out) == 0 { // otherwise the faults that overlap may not be the intended ones
		out = append(checkServers(schedule, t), checkStops(schedule, t)...)
	}
	return out
}

func checkWhom(f Fault, t Terms, add func(format string, args ...any)) {
	number, named := f.Client()
	kind := of(f.Kind)
	switch known := Whom(f.Kind, t.Roles); {
	case named && number >= t.Clients:
		add("there is no client %d: the smallest measurement has %d, numbered from 0 on", number, t.Clients)
	case !named && !slices.Contains(known, f.Whom):
		add("%s wants %s, not %q", f.Kind, joined(known, "or"), f.Whom)
	case f.Whom == Holder && !t.Holds:
		add("there is no holder: no client of the recipe holds")
	case t.Fixed && kind.endsLives:
		add("it ends a session, and no client of the recipe can join again")
	case kind.asks && !t.Asks:
		add("no client of the recipe asks another one, so that none can ignore it")
	}
}

// checkSessions rejects a server fault that outlasts the sessions of the server's clients, if these cannot join again.
func checkSessions(f Fault, t Terms, add func(format string, args ...any)) {
	length := f.For
	if length == 0 {
		length = t.Window - first(f)
	}
	if t.Fixed && !t.Roam && f.Kind.OfServer() && (length >= t.SessionTimeout || f.For == 0 && t.Window == 0) {
		add("the sessions of the server's clients end after %s, and no client of the recipe can join again: "+
			"choose a shorter for, or roam, or a longer session-timeout", span(t.SessionTimeout))
	}
}

func checkWindow(f Fault, t Terms, add func(format string, args ...any)) {
	if t.Window == 0 {
		return
	}
	switch first := first(f); {
	case first >= t.Window:
		add("happens first at %s, but the window ends at %s", span(first), span(t.Window))
	case first+f.For > t.Window:
		add("lasts from %s to %s, but the window ends at %s; without for, it lasts to the end", span(first), span(first+f.For), span(t.Window))
	case f.Kind == Stop && first+t.SessionTimeout >= t.Window:
		add("the session of the client that stops at %s ends at about %s, but the window ends at %s: nothing would be seen of it",
			span(first), span(first+t.SessionTimeout), span(t.Window))
	}
}
