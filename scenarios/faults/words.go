package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Words describes a fault in a sentence without its period: "the leader is killed at 2s, for 3s".
func Words(f Fault) string {
	words := what(f)
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
func what(f Fault) string {
	switch f.Kind {
	case Kill:
		return who(f) + " is killed"
	case Pause:
		return who(f) + " is paused"
	case Partition:
		return who(f) + " is cut off from the other servers"
	case Expire:
		return owned(f, "session", "expires", "expire")
	case Cut:
		return owned(f, "connection", "is cut", "are cut") + moment(f)
	case Stop:
		return who(f) + " stops dead" + strings.TrimSuffix(moment(f), ",")
	default:
		return who(f) + " ignores requests of other clients"
	}
}

// owned describes what happens to something that each client has one of.
func owned(f Fault, thing, one, many string) string {
	if f.Whom == All {
		return "the " + thing + "s of all clients " + many
	}
	return "the " + thing + " of " + who(f) + " " + one
}

// moment describes when exactly a connection is cut.
func moment(f Fault) string {
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
func who(f Fault) string {
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
