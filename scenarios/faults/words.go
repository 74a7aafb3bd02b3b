package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Words describes a fault in a sentence without its period: "the leader is killed at 2s, for 3s".
func Words(f Fault) string {
	words := of(f.Kind).happens(f)
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
	case of(f.Kind).lasts:
		words += ", to the end"
	}
	return words
}

func does(what string) func(Fault) string {
	return func(f Fault) string { return who(f) + " " + what }
}

func stops(f Fault) string { return does("stops dead")(f) + strings.TrimSuffix(moment(f), ",") }

func owned(thing, one, many string) func(Fault) string {
	return func(f Fault) string {
		if f.Whom == All {
			return "the " + thing + "s of all clients " + many + moment(f)
		}
		return "the " + thing + " of " + who(f) + " " + one + moment(f)
	}
}

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
