package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Words describes a fault in a sentence without its period: "the leader is killed at 2s, for 3s".
func (f Fault) Words() string {
	words := f.what()
	switch {
	case f.Every == 0:
		words += " at " + span(f.At)
	case f.At == 0 || f.At == f.Every:
		words += " every " + span(f.Every)
	default:
		words += fmt.Sprintf(" at %s and then every %s", span(f.At), span(f.Every))
	}
	switch {
	case f.For > 0:
		words += ", for " + span(f.For)
	case f.Kind.Lasts():
		words += ", to the end"
	}
	return words
}

// what describes what happens, without the time.
func (f Fault) what() string {
	switch f.Kind {
	case Kill:
		return f.who() + " is killed"
	case Pause:
		return f.who() + " is paused"
	case Partition:
		return f.who() + " is cut off from the other servers"
	case Expire:
		return f.owned("session", "expires", "expire")
	case Cut:
		return f.owned("connection", "is cut", "are cut") + f.moment()
	case Stop:
		return f.who() + " stops dead" + strings.TrimSuffix(f.moment(), ",")
	default:
		return f.who() + " ignores requests of other clients"
	}
}

// owned describes what happens to something that each client has one of.
func (f Fault) owned(thing, one, many string) string {
	if f.Whom == All {
		return "the " + thing + "s of all clients " + many
	}
	return "the " + thing + " of " + f.who() + " " + one
}

// moment describes when exactly a connection is cut.
func (f Fault) moment() string {
	switch {
	case f.Before != "":
		return fmt.Sprintf(" before the next %s is sent,", f.Before)
	case f.After != "":
		return fmt.Sprintf(" after the next %s is sent and before its reply,", f.After)
	default:
		return ""
	}
}

// who describes whom the fault hits.
func (f Fault) who() string {
	_, numbered := f.Client()
	switch {
	case numbered || slices.Contains(Servers(), f.Whom):
		return f.Whom
	case f.Whom == Leader:
		return "the leader"
	case f.Whom == Any && f.Kind.OfServer():
		return "a server"
	case f.Whom == Any:
		return "a client"
	case f.Whom == Idle:
		return "an idle client"
	case strings.ContainsRune("aeiou", rune(f.Whom[0])):
		return "an " + f.Whom
	default:
		return "a " + f.Whom
	}
}
