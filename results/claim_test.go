package results_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestParseClaim(t *testing.T) {
	for _, text := range []string{"a herd-max <= 1", "a notifications/op >= 10 x b", "a failed-writes/op == 0", "a ops/s > 0.5 x b"} {
		c, err := results.ParseClaim(text)
		if err != nil || c.String() != text {
			t.Errorf("%q is read as %q, %v", text, c.String(), err)
		}
	}
	for text, want := range map[string]string{
		"":                        "VARIANT METRIC",
		"a herd-max":              "VARIANT METRIC",
		"a herd-max =< 1":         "wants one of",
		"a herd-max <= one":       "wants a number",
		"a herd-max <= NaN":       "wants a number",
		"a herd-max <= Inf":       "wants a number",
		"a herd-max <= 1 times b": "VARIANT METRIC",
		"a ops/s > 3s":            "is no time",
		"a wait-p50 < 3s x b":     "before the x",
	} {
		if _, err := results.ParseClaim(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A duration needs no unit in the metric's name, and is not mistaken for a number of nanoseconds.
func TestParseClaimWithADuration(t *testing.T) {
	for _, text := range []string{"a acquire-p99 < 250ms", "a acquire-p99-ns < 250ms", "a acquire-p99-ns < 2.5e8"} {
		c, err := results.ParseClaim(text)
		if err != nil || c.String() != "a acquire-p99 < 250ms" || c.Metric != "acquire-p99-ns" || c.Value != 250e6 || !c.IsTime() {
			t.Errorf("%q is read as %q, %v", text, c.String(), err)
		}
	}
}

func TestJudge(t *testing.T) {
	row := func(variant string, clients int, notifications float64) results.Row {
		return results.Row{Variant: variant, Clients: clients, Metrics: map[string]results.Aggregated{results.NotificationsPerOp: {Value: notifications}}}
	}
	rows := []results.Row{row("naive", 10, 9), row("good", 10, 1), row("naive", 50, 49), row("good", 50, 1)}
	for _, tt := range []struct {
		claim string
		want  bool
	}{
		{"good notifications/op <= 1", true}, {"good notifications/op < 1", false}, {"naive notifications/op == 49", true},
		{"naive notifications/op >= 40 x good", true}, {"naive notifications/op >= 50 x good", false},
		{"good notifications/op > 0.01 x naive", true},
		{"other notifications/op >= 0", false}, {"good herd-max <= 1", false}, {"good notifications/op <= 1 x other", false},
	} {
		c, err := results.ParseClaim(tt.claim)
		if err != nil {
			t.Fatal(err)
		}
		if j := results.Judge(rows, []results.Claim{c})[0]; j.Holds != tt.want || j.Why == "" {
			t.Errorf("%s: %+v, want %t", tt.claim, j, tt.want)
		}
	}
}
