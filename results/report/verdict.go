package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

const disturbancesPrinted = 6

// writeDisturbances prints the disturbances of the measurements with the longest ones, and only counts the others, because a
// run on a busy machine would fill a page.
func writeDisturbances(w io.Writer, docs []*results.Document) {
	longest := func(d *results.Document) time.Duration {
		return list.Largest(list.Map(doubts.Disturbances(d), func(f doubts.Finding) time.Duration { return f.Took }))
	}
	sorted := slices.SortedStableFunc(slices.Values(docs), func(a, b *results.Document) int { return cmp.Compare(longest(b), longest(a)) })
	var printed, left, affected int
	for _, d := range sorted {
		found := doubts.Disturbances(d)
		if printed+len(found) > disturbancesPrinted && printed > 0 {
			left, affected = left+len(found), affected+min(len(found), 1)
			continue
		}
		for _, f := range found {
			table.Line(w, "warning: %s (%s)", f.Text, nameOf(d))
		}
		printed += len(found)
	}
	if left > 0 {
		table.Line(w, "warning: %d shorter %s of this kind in %d other %s: see the results' files",
			left, table.Plural(left, "disturbance"), affected, table.Plural(affected, "measurement"))
	}
}

// WriteBreaches prints how often the recipe's promise was broken although the scenario does not expect it, and the first violations of
// each measurement. Without such violations it prints nothing and returns false.
func WriteBreaches(w io.Writer, docs []*results.Document) bool {
	broken := list.Where(docs, (*results.Document).Broken)
	if len(broken) == 0 {
		return false
	}
	table.Line(w, "BROKEN: the recipe's promise was breached %d times", list.Sum(list.Map(broken, (*results.Document).Breaches)))
	writeViolations(w, broken)
	return true
}

func writeViolations(w io.Writer, docs []*results.Document) {
	for _, d := range docs {
		for _, v := range d.Violations[:min(len(d.Violations), 3)] {
			table.Line(w, "  %s: at %s %s", nameOf(d), v.At.Round(time.Millisecond), v.Text)
		}
	}
}

func writeKnownBroken(w io.Writer, docs []*results.Document) {
	known := list.Where(docs, func(d *results.Document) bool { return d.KnownBroken != "" })
	why := func(d *results.Document) [2]string { return [2]string{grouping.KeyOf(d).Name(), d.KnownBroken} }
	for _, all := range list.GroupBy(known, why) {
		caught := list.Where(all, func(d *results.Document) bool { return d.Breaches() > 0 })
		table.Line(w, "known broken: %s: %s (caught in %d of %d measurements)",
			grouping.KeyOf(all[0]).Name(), all[0].KnownBroken, len(caught), len(all))
		writeViolations(w, slices.DeleteFunc(caught, (*results.Document).Broken))
	}
}

// WriteVerdict prints breaches of the promise, reasons why numbers must not be used, deviations from formulas, and warnings. It prints
// each reason once, with the measurements to which it applies.
func WriteVerdict(w io.Writer, docs []*results.Document) {
	checked := list.Where(docs, func(d *results.Document) bool { return d.Scenario.Mode != results.ObservedMode })
	if !WriteBreaches(w, docs) && len(checked) > 0 {
		kept := list.Where(checked, func(d *results.Document) bool { return d.Breaches() == 0 })
		table.Line(w, "the recipe's promise was kept in %d of %d measurements", len(kept), len(checked))
	}
	if n := len(docs) - len(checked); n > 0 {
		table.Line(w, "%d %s only observed: zkbench does not know what the application promises", n, table.Plural(n, "measurement"))
	}
	writeKnownBroken(w, docs)
	if equal := len(list.Where(docs, doubts.EqualsFormulas)); equal > 0 {
		table.Line(w, "the counts of %d of %d measurements equal the variants' formulas to the last one", equal, len(docs))
	}
	for _, d := range list.Where(docs, func(d *results.Document) bool { return d.Unfinished != nil }) {
		table.Line(w, "%s: %s", nameOf(d), doubts.Progress(d))
	}
	writeFindings(w, "INVALID", docs, func(d *results.Document) []string { return d.Invalid })
	writeDeviations(w, docs)
	WriteWarnings(w, docs)
	writeOracle(w, docs)
	WriteEngine(w, docs)
}

// writeDeviations prints one line for each count of a variant under a load.
func writeDeviations(w io.Writer, docs []*results.Document) {
	for _, group := range grouping.Repeats(docs) {
		for _, text := range doubts.Deviating(group) {
			table.Line(w, "%s: %s: %s", doubts.DeviatesMark, loadOf(group[0]), text)
		}
	}
}

// WriteWarnings prints each distinct warning once, with the measurements that have it.
func WriteWarnings(w io.Writer, docs []*results.Document) {
	writeDisturbances(w, docs)
	writeFindings(w, "warning", docs, doubts.OtherWarnings)
}

// WriteEngine warns that times do not represent an ensemble, or contain no disk accesses.
func WriteEngine(w io.Writer, docs []*results.Document) {
	writeEmbedded(w, docs)
	if slices.ContainsFunc(docs, func(d *results.Document) bool { return grouping.InMemory(d.Environment) }) {
		fmt.Fprintln(w, "TRANSACTION LOGS IN MEMORY: no write waited for a disk: compare times only with those of other servers of this kind")
	}
}

func writeEmbedded(w io.Writer, docs []*results.Document) {
	i := slices.IndexFunc(docs, func(d *results.Document) bool { return d.Environment.Engine == results.Embedded })
	if i < 0 {
		return
	}
	servers, delays := "one in-memory server", ""
	none := []string{"", "0s"}
	c := docs[i].Environment.ServerConfig
	if read, write := c["readDelay"], c["writeDelay"]; !slices.Contains(none, read) || !slices.Contains(none, write) {
		delays = fmt.Sprintf(", busy for %s with each read and for %s with each write", read, write)
	}
	if lag, several := c["lag"]; several {
		servers = "in-memory servers"
		if !slices.Contains(none, lag) {
			delays = ", whose followers lag by " + lag
		}
	}
	table.Line(w, "EMBEDDED: counts are exact, but times are those of %s inside zkbench%s: do not compare them with an ensemble's",
		servers, delays)
}

func writeOracle(w io.Writer, docs []*results.Document) {
	checked := list.Where(docs, func(d *results.Document) bool { return d.Oracle.Checked && d.Oracle.Agrees() })
	if len(checked) > 0 {
		notifications := list.Sum(list.Map(checked, func(d *results.Document) int64 { return d.Oracle.ServerNotifications }))
		writes := list.Sum(list.Map(checked, func(d *results.Document) int64 { return d.Oracle.ServerTransactions }))
		all := ""
		if n := list.Sum(list.Map(checked, func(d *results.Document) int64 { return d.Oracle.ServerPackets })); n > 0 {
			all = fmt.Sprintf(", %d packets of all sessions", n)
		}
		table.Line(w, "the servers' own counters confirm %d of %d measurements (%d notifications, %d writes%s)",
			len(checked), len(docs), notifications, writes, all)
	}
}

// nameOf names a measurement: "lock/znode, 50 clients, repeat 1".
func nameOf(d *results.Document) string { return fmt.Sprintf("%s, repeat %d", loadOf(d), d.Repeat) }

// loadOf names a variant under a load: "lock/znode, 50 clients".
func loadOf(d *results.Document) string { return grouping.KeyOf(d).Name() + ", " + d.Load() }

// writeFindings prints each distinct finding with the number of measurements that have it, or with the only one.
func writeFindings(w io.Writer, kind string, docs []*results.Document, findings func(*results.Document) []string) {
	type finding struct {
		text string
		of   *results.Document
	}
	var all []finding
	for _, d := range docs {
		all = append(all, list.Map(findings(d), func(text string) finding { return finding{text, d} })...)
	}
	for _, equal := range list.GroupBy(all, func(f finding) string { return f.text }) {
		measurements := nameOf(equal[0].of)
		if n := len(equal); n > 1 {
			measurements = fmt.Sprintf("%d of %d measurements", n, len(docs))
		}
		table.Line(w, "%s: %s (%s)", kind, equal[0].text, measurements)
	}
}
