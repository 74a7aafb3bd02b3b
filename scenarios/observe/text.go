package observe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Text returns the report for a terminal with that many columns.
func (r Report) Text(connections proxy.Stats, columns int) string {
	var parts []string // with an empty line between two of them
	say := func(text string) { parts = append(parts, table.Wrap(text, columns)) }
	section := func(title string, items []string, others ...string) {
		lines := list.Map(append(items, others...), func(item string) string { // no item can begin a line as another one does
			return "\n- " + strings.ReplaceAll(table.Wrap(table.Escaped(item), columns-2), "\n", "\n  ")
		})
		if len(lines) > 0 {
			parts = append(parts, table.Wrap(title, columns)+strings.Join(lines, ""))
		}
	}
	summary := fmt.Sprintf("observed %s: %s", seconds(r.Length), r.summary())
	if r.Requests == 0 && connections.Connections == 0 {
		summary += "\nno client has connected: point the application at the addresses of this command instead of the servers'"
	}
	say(summary)
	herds := "largest herds, cause first"
	if r.HerdGuessed {
		herds = "largest herds, guessed by path and time where the servers do not name the transaction (" + results.Unnamed + ")"
	}
	if r.HerdMax > 1 {
		section(herds, list.Map(r.Herds, HerdKind.String), counted(r.OtherHerds, "%s herds with other causes or paths")...)
	}
	if len(r.Paths) > 0 {
		say("by path (* is a number or an id that differs from znode to znode)")
		rendered, dropped := pathTable(r).Text(columns)
		parts[len(parts)-1] += "\n" + rendered
		if len(dropped) > 0 {
			parts[len(parts)-1] += "\n" + table.Wrap("(no room for: "+strings.Join(dropped, ", ")+")", columns)
		}
	}
	section("stuck: exists has set a watch on a sequential znode that is gone; no notification will come",
		list.Map(r.Stuck, Waiter.String), counted(int64(r.MoreStuck), "and %s more")...)
	section("stuck: sessions that wait for each other", list.Map(r.Cycles, Cycle.String))
	for _, line := range slices.Concat(
		counted(r.StuckEnded, "stuck sessions that have ended: %s, which waited for a znode that was gone, or for each other"),
		counted(r.CyclesFound-int64(len(r.Cycles)), "groups of sessions that waited for each other, until one gave up or ended: %s"),
		counted(int64(r.LeftWatches), "watches on sequential znodes that are gone, whose sessions continued: %s, which the servers keep"),
	) {
		say(line)
	}
	printed := r.Looks[:min(len(r.Looks), printedLooks)]
	section("what it looks like", list.Map(printed, Look.String), counted(int64(len(r.Looks)-len(printed)), "and %s more")...)
	section("connections", incidentLines(r, connections))
	return strings.Join(parts, "\n\n") + "\n"
}

// counted returns a line with a number, or no line for zero.
func counted(n int64, format string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf(format, table.Grouped(n))}
}

func (r Report) summary() string {
	sessions := fmt.Sprint(r.MostSessions, " ", table.Plural(r.MostSessions, "session"))
	c := r.IncidentCounts
	switch secret := c[proxy.Encrypted] + c[proxy.ServerTLS] + c[proxy.ClientTLS]; {
	case r.Requests > 0:
	case secret > 0:
		return fmt.Sprintf("%s, and no request: %s connections with TLS that zkbench could not read", sessions, table.Grouped(secret))
	default:
		return sessions + ", and no request: the application is idle, or uses the servers directly"
	}
	perSecond := table.Count(float64(r.Requests) / max(r.Length.Seconds(), 1e-9))
	parts := []string{sessions, perSecond + " requests/s", share(r.Writes, r.Requests) + " of them writes"}
	if r.Writes > 0 {
		parts = append(parts, share(r.FailedWrites, r.Writes)+" of the writes failed")
	}
	if done := r.Writes - r.FailedWrites; done > 0 {
		parts = append(parts, table.Count(float64(r.Notifications)/float64(done))+" notifications per successful write")
	}
	if r.HerdMax > 0 {
		parts = append(parts, fmt.Sprintf("herd p50 %d, max %d", r.HerdP50, r.HerdMax))
	}
	return strings.Join(parts, ", ")
}

func share(part, whole int64) string { return table.Percentage(float64(part) / float64(whole)) }

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// String describes the largest herd of a kind, and how many there were.
func (k HerdKind) String() string {
	h := k.Largest
	cause := "transaction not known"
	switch {
	case h.Cause != "":
		cause = h.Cause + " by session " + h.By
	case h.Zxid != "":
		cause = "no request through these addresses, such as the end of a session that ran out"
	}
	if h.Zxid != "" {
		cause = "zxid " + h.Zxid + ": " + cause
	}
	text := fmt.Sprintf("%s → %d %s of %s to %d %s", cause, h.Notifications, h.Event, h.Path, h.Sessions,
		table.Plural(h.Sessions, "session"))
	if len(h.Effects) > 0 {
		text += "; within 50 ms: " + strings.Join(list.Map(h.Effects, Effect.String), ", ")
	}
	if k.Count > 1 {
		text += fmt.Sprintf(" (the largest of %s such herds, p50 %d)", table.Grouped(k.Count), k.P50)
	}
	return text
}

func (e Effect) String() string {
	switch count := table.Grouped(e.Count); {
	case e.Failed:
		return count + " failed " + e.Operation
	case strings.HasPrefix(e.Operation, "get"):
		return fmt.Sprintf("%s %s (%s)", count, e.Operation, table.Bytes(float64(e.BytesIn)))
	default:
		return count + " " + e.Operation
	}
}

// pathTable returns the table of paths. Watches and notifications are in the first line of a path.
func pathTable(r Report) *table.Table {
	t := table.New(
		table.Column{Title: "path", Fill: true, Named: true}, table.Column{Title: "operation"}, table.Column{Title: "count", Right: true},
		table.Column{Title: "failed", Need: 2}, table.Column{Title: "bytes in", Right: true, Need: 4},
		table.Column{Title: "watches set", Right: true, Need: 3}, table.Column{Title: "watches now", Right: true, Need: 1},
		table.Column{Title: "fired", Right: true}, table.Column{Title: "no write followed", Right: true},
	)
	paths := r.Paths
	if r.OtherPaths != nil {
		paths = append(slices.Clip(paths), *r.OtherPaths)
	}
	for _, p := range paths {
		now := table.Grouped(p.WatchesNow)
		if p.Watchers > 0 {
			now += fmt.Sprintf(" (%s %s)", table.Grouped(p.Watchers), table.Plural(int(p.Watchers), "session"))
		}
		watches := []any{table.Grouped(p.WatchesSet), now, table.Grouped(p.Fired), table.Grouped(p.Unfollowed)}
		if len(p.Operations) == 0 {
			t.Row(slices.Concat([]any{p.Path, table.Missing, "0", "", "0"}, watches)...)
		}
		for i, o := range p.Operations {
			cells := []any{p.Path, o.Operation, table.Grouped(o.Count), failedText(o.Failed), table.Bytes(float64(o.BytesIn))}
			if i > 0 {
				cells[0], watches = "", []any{"", "", "", ""}
			}
			t.Row(slices.Concat(cells, watches)...)
		}
	}
	return t
}

func failedText(failed map[string]int64) string {
	text := func(code string) string { return table.Grouped(failed[code]) + " " + code }
	return strings.Join(list.Map(slices.Sorted(maps.Keys(failed)), text), ", ")
}

func (w Waiter) String() string {
	return fmt.Sprintf("session %s has waited for %s, which is gone, for %s", w.Session, w.Path, seconds(w.Since))
}

// String names the recipe, and the better variant with its cost.
func (l Look) String() string {
	text, see := l.Path, l.Variant
	if l.Similar > 0 {
		text += fmt.Sprintf(" and %d similar %s", l.Similar, table.Plural(l.Similar, "path"))
	}
	text += ": " + l.Variant
	if l.Equal != "" {
		text += " or " + l.Equal + ", which looks the same"
	}
	text += " (" + l.Because + ")"
	if _, v, known := catalog.Variant(l.Better); known {
		see = l.Better
		text += fmt.Sprintf("; %s would need at most %s and %s per operation with %d sessions", l.Better,
			amount(v.Free.Requests.At(l.Sessions), "request"), amount(v.Free.Notifications.At(l.Sessions), "notification"), l.Sessions)
	}
	return text + fmt.Sprintf("; see `zkbench explain %s`", see)
}

func amount(v float64, noun string) string {
	n := 2 // any number that is not one
	if v == 1 {
		n = 1
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + table.Plural(n, noun)
}

func incidentLines(r Report, connections proxy.Stats) []string {
	lines := slices.Concat(
		counted(connections.Commands, "four-letter commands, forwarded and not decoded: %s"),
		counted(r.Expired, "sessions that ran out: %s"),
		counted(r.Learned, "sessions whose client has read the servers' own addresses: %s; "+
			"it may connect to these, past zkbench, as Curator does unless its ensemble tracker is off"),
	)
	meanings := map[proxy.IncidentKind]string{
		proxy.Unreachable:  "connections that a server did not take",
		proxy.OwnLimit:     "connections for which zkbench or this machine had no file, port or memory",
		proxy.EndedServer:  "connections that a server ended, with their sessions still open",
		proxy.EndedClient:  "connections that a client ended without closing its session",
		proxy.Refused:      "connect requests that a server refused",
		proxy.NotZooKeeper: "connections that do not speak ZooKeeper's protocol, forwarded and not counted",
		proxy.Encrypted:    "connections with TLS, forwarded and not counted (see --tls and --tls-listen-cert)",
		proxy.ServerTLS:    "connections that were reset, as zkbench and the server did not agree on TLS",
		proxy.ClientTLS:    "connections whose client and zkbench's address did not agree on TLS",
		proxy.Unmatched:    "connections with frames that could not be decoded, so that counts are too low",
	}
	for _, kind := range slices.Sorted(maps.Keys(meanings)) {
		lines = append(lines, counted(r.IncidentCounts[kind], meanings[kind]+": %s")...)
	}
	latest := withoutRepeats(r.Incidents)
	return append(lines, list.Map(latest[max(len(latest)-printedIncidents, 0):], incidentText)...)
}

// withoutRepeats leaves out incidents that a later one repeats, so that a client that tries again and again hides no other cause.
func withoutRepeats(incidents []proxy.Incident) []proxy.Incident {
	var out []proxy.Incident
	for i, one := range incidents {
		repeated := func(later proxy.Incident) bool { return later.Kind == one.Kind && later.Detail == one.Detail }
		if one.Detail == "" || !slices.ContainsFunc(incidents[i+1:], repeated) {
			out = append(out, one)
		}
	}
	return out
}

const printedIncidents, printedLooks = 8, 20

func incidentText(i proxy.Incident) string {
	text := fmt.Sprintf("at %s: %s: client %s, server %s", seconds(i.At), i.Kind, i.Client, i.Server)
	if i.Session != 0 {
		text += fmt.Sprintf(", session %#x", uint64(i.Session))
	}
	if i.Unanswered > 0 {
		text += fmt.Sprintf(", %d requests without a reply", i.Unanswered)
	}
	if i.Detail != "" {
		text += ": " + i.Detail
	}
	return text
}
