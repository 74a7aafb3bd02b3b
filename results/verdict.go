package results

import (
	"fmt"
	"io"
	"slices"
)

// WriteBreaches prints how often the recipe's promise was broken although the scenario does not expect it, and the first violations of
// each measurement. Without such violations it prints nothing and returns false.
func WriteBreaches(w io.Writer, docs []*Document) bool {
	broken := Where(docs, (*Document).Broken)
	if len(broken) == 0 {
		return false
	}
	fmt.Fprintf(w, "BROKEN: the recipe's promise was breached %d times\n", Sum(Map(broken, (*Document).Breaches)))
	writeViolations(w, broken)
	return true
}

// writeViolations prints the first violations of each measurement.
func writeViolations(w io.Writer, docs []*Document) {
	for _, d := range docs {
		for _, v := range d.Violations[:min(len(d.Violations), 3)] {
			fmt.Fprintf(w, "  %s: at %s %s\n", d.label(), v.At, v.Text)
		}
	}
}

// writeKnownBroken prints what each variant that is known to be broken was caught at, and in how many of its measurements.
func writeKnownBroken(w io.Writer, docs []*Document) {
	known := Where(docs, func(d *Document) bool { return d.KnownBroken != "" })
	for _, all := range GroupBy(known, func(d *Document) [2]string { return [2]string{d.Key().Name(), d.KnownBroken} }) {
		caught := Where(all, func(d *Document) bool { return d.Breaches() > 0 })
		fmt.Fprintf(w, "known broken: %s: %s (caught in %d of %d measurements)\n", all[0].Key().Name(), all[0].KnownBroken, len(caught), len(all))
		writeViolations(w, slices.DeleteFunc(caught, (*Document).Broken))
	}
}

// WriteVerdict prints breaches of the promise, reasons why numbers must not be used, and warnings. It prints each reason
// once, with the measurements to which it applies.
func WriteVerdict(w io.Writer, docs []*Document) {
	checked := Where(docs, func(d *Document) bool { return d.Scenario.Mode != ObservedMode })
	if !WriteBreaches(w, docs) && len(checked) > 0 {
		kept := Where(checked, func(d *Document) bool { return d.Breaches() == 0 })
		fmt.Fprintf(w, "the recipe's promise was kept in %d of %d measurements\n", len(kept), len(checked))
	}
	if n := len(docs) - len(checked); n > 0 {
		were := "were"
		if n == 1 {
			were = "was"
		}
		fmt.Fprintf(w, "%d %s %s only observed: zkbench does not know what the application promises\n", n, Plural(n, "measurement"), were)
	}
	writeKnownBroken(w, docs)
	if equal := len(Where(docs, func(d *Document) bool { return d.Expected.Equal })); equal > 0 {
		fmt.Fprintf(w, "the counts of %d of %d measurements equal the variants' formulas to the last one\n", equal, len(docs))
	}
	writeProgress(w, docs)
	writeFindings(w, "INVALID", docs, func(d *Document) []string { return d.Invalid })
	WriteWarnings(w, docs)
	writeOracle(w, docs)
	WriteEngine(w, docs)
}

// WriteWarnings prints each distinct warning once, with the measurements that have it.
func WriteWarnings(w io.Writer, docs []*Document) {
	writeDisturbances(w, docs)
	writeFindings(w, "warning", docs, (*Document).otherWarnings)
}

// WriteEngine warns of times that are not those of an ensemble, and of times that contain no disk accesses.
func WriteEngine(w io.Writer, docs []*Document) {
	writeEmbedded(w, docs)
	writeTxnLog(w, docs)
}

// writeProgress prints how far each load came that was not finished.
func writeProgress(w io.Writer, docs []*Document) {
	for _, d := range Where(docs, func(d *Document) bool { return d.Unfinished != nil }) {
		fmt.Fprintf(w, "%s: %s\n", d.label(), d.Progress())
	}
}

// Embedded is the engine whose server runs inside zkbench. Its times are comparable with those of no other engine.
const Embedded = "embedded"

// writeEmbedded warns of times that are not those of an ensemble.
func writeEmbedded(w io.Writer, docs []*Document) {
	i := slices.IndexFunc(docs, func(d *Document) bool { return d.Environment.Engine == Embedded })
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
	fmt.Fprintf(w, "EMBEDDED: counts are exact, but times are those of %s inside zkbench%s: do not compare them with an ensemble's\n", servers, delays)
}

// writeTxnLog warns of times that contain no disk accesses.
func writeTxnLog(w io.Writer, docs []*Document) {
	if slices.ContainsFunc(docs, func(d *Document) bool { return d.Environment.InMemory() }) {
		fmt.Fprintln(w, "TRANSACTION LOGS IN MEMORY: no write waited for a disk: compare times only with those of other servers of this kind")
	}
}

// writeOracle prints how many measurements the servers' own counters confirm.
func writeOracle(w io.Writer, docs []*Document) {
	checked := Where(docs, func(d *Document) bool { return d.Oracle.Checked && d.Oracle.Agrees() })
	if len(checked) > 0 {
		notifications := Sum(Map(checked, func(d *Document) int64 { return d.Oracle.ServerNotifications }))
		writes := Sum(Map(checked, func(d *Document) int64 { return d.Oracle.ServerTransactions }))
		fmt.Fprintf(w, "the servers' own counters confirm %d of %d measurements (%d notifications, %d writes)\n",
			len(checked), len(docs), notifications, writes)
	}
}

func (d *Document) label() string {
	rate := ""
	if d.Rate > 0 {
		rate = fmt.Sprintf(", %d/s", d.Rate)
	}
	return fmt.Sprintf("%s, %d %s%s, repeat %d", d.Key().Name(), d.Clients, Plural(d.Clients, "client"), rate, d.Repeat)
}

// writeFindings prints each distinct finding with the number of measurements that have it, or with the only one.
func writeFindings(w io.Writer, kind string, docs []*Document, findings func(*Document) []string) {
	var order []string
	where := map[string][]string{}
	for _, d := range docs {
		for _, f := range findings(d) {
			if where[f] == nil {
				order = append(order, f)
			}
			where[f] = append(where[f], d.label())
		}
	}
	for _, f := range order {
		measurements := where[f][0]
		if n := len(where[f]); n > 1 {
			measurements = fmt.Sprintf("%d of %d measurements", n, len(docs))
		}
		fmt.Fprintf(w, "%s: %s (%s)\n", kind, f, measurements)
	}
}
