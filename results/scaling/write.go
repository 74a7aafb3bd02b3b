package scaling

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// Write prints the exponents and the parameters of the universal scalability law of each study, in at most width columns. It
// prints one line about the studies that have too few numbers of clients, and one for each reason why others are not fitted.
func Write(w io.Writer, studies []Study, width int) error {
	var short []string
	unfitted := map[string][]string{}
	for _, s := range studies {
		switch {
		case s.Unfitted != "":
			unfitted[s.Unfitted] = append(unfitted[s.Unfitted], s.Scenario)
		case s.TooFew():
			short = append(short, s.Scenario)
		default:
			if err := s.write(w, width); err != nil {
				return err
			}
		}
	}
	lines := []string{lineOf("no scaling law for %s: too few client counts: an exponent needs 3, the universal scalability law 4", short)}
	for _, why := range []string{unfittedFaults, unfittedStages, unfittedOpen} {
		lines = append(lines, lineOf("no scaling law for %s: "+why, unfitted[why]))
	}
	return writeLines(w, width, lines...)
}

// lineOf returns a line about names, or an empty one without names.
func lineOf(format string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf(format, strings.Join(slices.Compact(names), ", "))
}

// writeLines prints the lines that are not empty.
func writeLines(w io.Writer, width int, lines ...string) error {
	for _, line := range lines {
		if line == "" {
			continue
		}
		if _, err := fmt.Fprintln(w, table.Wrap(line, width)); err != nil {
			return err
		}
	}
	return nil
}

func (s Study) write(w io.Writer, width int) error {
	title := fmt.Sprintf("%s on %s: exponents from %d to %d clients, medians of %d %s",
		s.Scenario, s.Engine, s.Counts[0], s.Counts[len(s.Counts)-1], s.Repeats, results.Plural(s.Repeats, "repeat"))
	fmt.Fprintf(w, "%s\n\n", table.Wrap(title, width))
	if err := writeTable(w, s.exponents(), width); err != nil {
		return err
	}
	if err := writeLines(w, width, s.exponentLegend(), s.leftOut(), s.doubts()); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if !slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Throughput != nil }) {
		return nil
	}
	title = fmt.Sprintf("%s on %s: universal scalability law, X(N) = λN / (1 + σ(N−1) + κN(N−1))", s.Scenario, s.Engine)
	fmt.Fprintf(w, "%s\n\n", table.Wrap(title, width))
	if err := writeTable(w, s.laws(), width); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n\n", table.Wrap(lawLegend(), width))
	return err
}

func writeTable(w io.Writer, t *table.Table, width int) error {
	rendered, dropped := t.Text(width)
	if _, err := fmt.Fprintln(w, rendered); err != nil || len(dropped) == 0 {
		return err
	}
	return writeLines(w, width, "(no room for: "+strings.Join(dropped, ", ")+")")
}

// exponentWidth is where ErrTooFew is wrapped, so that it does not push out the other columns.
const exponentWidth = 14

// exponents returns the table of exponents.
func (s Study) exponents() *table.Table {
	t := table.New(
		table.Column{Title: "variant"}, table.Column{Title: "metric"}, table.Column{Title: "exponent", Right: true, Width: exponentWidth},
		table.Column{Title: "by " + s.expectedTitle(), Right: true}, table.Column{Title: "points", Right: true},
		table.Column{Title: "largest miss", Right: true, Need: 1}, table.Column{Title: s.expectedTitle(), Need: 2})
	for i, v := range s.Variants {
		if i > 0 {
			t.Rule()
		}
		for _, c := range v.Costs {
			t.Row(v.Key.Name(), c.Metric, c.exponentText(), c.expectedText(), c.pointsText(len(s.Counts)), c.missText(), orMissing(c.Expected.Formula))
		}
	}
	return t
}

// expectedTitle names the formulas.
func (s Study) expectedTitle() string {
	if s.Bounds() {
		return "bound"
	}
	return "formula"
}

func (c Cost) exponentText() string {
	switch {
	case len(c.Measured) > 0 && len(c.Fitted) == 0:
		return "always 0"
	case tooFew(c.Err):
		return ErrTooFew.Error()
	case c.Err != nil:
		return table.Missing
	}
	return decimals(c.Law.Exponent) + " ± " + decimals((c.Law.Interval.High-c.Law.Interval.Low)/2)
}

// decimals formats a number with two decimals, and never as -0.00.
func decimals(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', 2, 64)
}

func (c Cost) expectedText() string {
	if math.IsNaN(c.Expected.Exponent) {
		return table.Missing
	}
	return decimals(c.Expected.Exponent)
}

// pointsText returns how many client counts are in the fit, and how many the study has if some are missing.
func (c Cost) pointsText(counts int) string {
	if len(c.Fitted) == counts {
		return strconv.Itoa(counts)
	}
	return fmt.Sprintf("%d of %d", len(c.Fitted), counts)
}

func (c Cost) missText() string {
	if c.Err != nil {
		return table.Missing
	}
	return c.Law.Worst.String()
}

// String returns the residual as in tables, such as "12% at 50". Without one, its client count has no meaning.
func (r Residual) String() string {
	if r.Share < 0.005 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%% at %.0f", 100*r.Share, r.Clients)
}

func orMissing(text string) string {
	if text == "" {
		return table.Missing
	}
	return text
}

// exponentLegend explains the columns of the table of exponents.
func (s Study) exponentLegend() string {
	expected := s.expectedTitle()
	line := "exponent: e in cost ∝ clients^e, with its 95% interval. Each client count is one point, the median of its repeats. by " +
		expected + ": the exponent of the values of the variant's formula"
	if expected == "bound" {
		line += ", an upper bound under this load,"
	}
	return line + " at the same client counts. largest miss: distance of a point from the fit, and its client count."
}

// leftOut names the points that have no logarithm, if others of the same curve have one.
func (s Study) leftOut() string {
	var points []string
	variants := map[string][]string{}
	for _, v := range s.Variants {
		for _, c := range v.Costs {
			counts := c.LeftOut()
			if len(counts) == 0 || len(c.Fitted) == 0 {
				continue
			}
			where := c.Metric + " at " + clientsText(counts)
			if variants[where] == nil {
				points = append(points, where)
			}
			variants[where] = append(variants[where], v.Key.Name())
		}
	}
	for i, where := range points {
		points[i] = fmt.Sprintf("%s (%s)", where, strings.Join(variants[where], ", "))
	}
	return lineOf("left out, because zero has no logarithm: %s", points)
}

// doubts returns a line about times that are not those of ZooKeeper or of an ensemble.
func (s Study) doubts() string {
	timed := slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Throughput != nil })
	switch {
	case !timed:
		return ""
	case s.Engine == results.Embedded:
		return "the embedded server has neither a disk nor a quorum: how its times and throughput scale says nothing about an ensemble"
	case len(s.Delayed) > 0:
		return "time/op and throughput are in doubt at " + clientsText(s.Delayed) + ": the warnings of `zkbench report` give the reasons"
	default:
		return ""
	}
}

// clientsText returns numbers of clients, such as "1, 5 clients".
func clientsText(counts []int) string {
	if len(counts) == 1 && counts[0] == 1 {
		return "1 client"
	}
	return strings.Join(results.Map(counts, strconv.Itoa), ", ") + " clients"
}

// laws returns the table of the universal scalability law, with a row for each parameter.
func (s Study) laws() *table.Table {
	t := table.New(table.Column{Title: "variant"}, table.Column{Title: "parameter"}, table.Column{Title: "value", Right: true},
		table.Column{Title: "95% interval, or reason", Fill: true})
	for i, v := range s.Variants {
		if v.Throughput == nil {
			continue
		}
		if i > 0 {
			t.Rule()
		}
		v.Throughput.rows(t, v.Key.Name())
	}
	return t
}

// lawLegend explains the parameters.
func lawLegend() string {
	return fmt.Sprintf("λ: ops/s of one client. σ: contention, the share of the work that clients do one after the other. κ: coherency, "+
		"the work that each pair of clients causes. peak: the client count with the largest throughput. largest miss: distance of a "+
		"median from the law, and its client count; over %.0f%%, the law is a poor fit and predicts nothing.", 100*poor)
}

// rows appends the parameters of a variant's law, or the reason why there is none.
func (t Throughput) rows(to *table.Table, name string) {
	u := t.Law
	switch {
	case tooFew(t.Err):
		to.Row(name, "all", table.Missing, fmt.Sprintf("%v: %d of 4", ErrTooFew, len(t.Measured)))
		return
	case t.Err != nil:
		to.Row(name, "all", table.Missing, t.Err.Error())
		return
	}
	to.Row(name, "λ, ops/s", significant(u.Lambda), u.LambdaInterval.text(significant))
	to.Row(name, "σ", significant(u.Sigma), u.SigmaInterval.text(significant))
	to.Row(name, "κ", significant(u.Kappa), u.KappaInterval.text(significant))
	peak, reason := u.peakText()
	to.Row(name, "peak, clients", peak, reason)
	fit := ""
	if u.Poor() {
		fit = "POOR FIT"
	}
	to.Row(name, "largest miss", u.Worst.String(), fit)
}

// significant formats a number with three digits.
func significant(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// text formats the interval. An infinite bound is left out.
func (i Interval) text(format func(float64) string) string {
	switch low, high := math.IsInf(i.Low, -1), math.IsInf(i.High, 1); {
	case low && high:
		return "any value"
	case low:
		return "at most " + format(i.High)
	case high:
		return "at least " + format(i.Low)
	default:
		return format(i.Low) + " to " + format(i.High)
	}
}

// peakText returns the predicted peak, and its interval or the reason why there is none.
func (u USL) peakText() (peak, reason string) {
	p := u.Peak
	interval := p.Interval.text(table.Whole)
	switch {
	case u.Poor():
		return table.Missing, "poor fit"
	case u.Kappa <= 0:
		return "none", "κ is not above zero: not extrapolated"
	case !p.Exists:
		return "none", "σ is below zero: not extrapolated"
	case p.Beyond:
		return "over " + table.Whole(p.Limit), fmt.Sprintf("beyond %d times the measured counts", Reach)
	case u.KappaInterval.Contains(0):
		return table.Whole(p.Clients) + " or none", interval + ": κ may be zero"
	case p.Clients == 1:
		return "1", interval + ": falls from the first client on"
	default:
		return table.Whole(p.Clients), interval
	}
}
