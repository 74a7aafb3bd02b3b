package plots

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
)

// Every kind of figure has a row in the documentation, in the same order, before the figures of several scenarios and runs.
func TestKindsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/plots.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllSubmatch(text, -1) {
		got = append(got, string(row[1]))
	}
	for _, k := range kinds() {
		want = append(want, k.name)
	}
	if want = append(want, "overview", "compared-I-values"); !slices.Equal(got, want) {
		t.Errorf("docs/plots.md has %v, want %v", got, want)
	}
}

// A difference, and a lack of evidence, look unlike no difference.
func TestLooksOfVerdicts(t *testing.T) {
	for _, v := range []compare.Verdict{compare.Better, compare.Worse, compare.Different, compare.Undecided} {
		if verdictLook(v).glyph == verdictLook(compare.NotShown).glyph {
			t.Errorf("%q has the shape of %q", v, compare.NotShown)
		}
	}
}

// An axis of ratios says which direction is better, unless neither is.
func TestDirectionOfRatios(t *testing.T) {
	for name, want := range map[string]string{
		metric.OpsPerSecond: "more is better", metric.RequestsPerOp: "less is better", metric.RequestsPerSecond: "",
	} {
		if got := (sides{}).ratioPanel(name, nil).X.Label.Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
