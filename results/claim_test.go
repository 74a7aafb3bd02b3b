package results_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
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
		"a ops/s > 3s":            "is not a time",
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
		return results.Row{Variant: variant, Clients: clients, Metrics: map[string]results.Aggregated{
			results.NotificationsPerOp: {Value: notifications, Min: notifications, Max: notifications},
		}}
	}
	rows := []results.Row{row("naive", 10, 9), row("good", 10, 1), row("naive", 50, 49), row("good", 50, 1), row("none", 50, 0)}
	for _, tt := range []struct {
		claim string
		want  bool
	}{
		{"good notifications/op <= 1", true}, {"good notifications/op < 1", false}, {"naive notifications/op == 49", true},
		{"naive notifications/op >= 40 x good", true}, {"naive notifications/op >= 50 x good", false},
		{"good notifications/op > 0.01 x naive", true},
		{"good notifications/op < 1 x none", false}, {"none notifications/op < 1 x good", true}, // no multiple of nothing
		{"other notifications/op >= 0", false}, {"good herd-max <= 1", false}, {"good notifications/op <= 1 x other", false},
	} {
		c, err := results.ParseClaim(tt.claim)
		if err != nil {
			t.Fatal(err)
		}
		if e := c.Evaluate(rows, results.MostClients(rows)); (e.Outcome == outcome.Pass) != tt.want || e.Why == "" {
			t.Errorf("%s: %+v, want %t", tt.claim, e, tt.want)
		}
	}
}

// The repeat that speaks most against a claim decides, unless it is about a time.
func TestEvaluateRepeats(t *testing.T) {
	row := func(variant, metric string, values ...float64) results.Row {
		var group []*results.Document
		for _, v := range values {
			group = append(group, &results.Document{Metrics: map[string]results.Metric{metric: {Value: v}}})
		}
		return results.Row{Variant: variant, Metrics: results.Aggregate(group)}
	}
	rows := []results.Row{
		row("a", results.HerdMax, 1, 49, 1), row("b", results.HerdMax, 1, 1, 1), row("c", results.HerdMax, 20, 1, 20),
		row("t", "wait-p50-ns", 1, 49, 1),
	}
	for claim, want := range map[string]bool{
		"a herd-max <= 1": false, "a herd-max == 1": false, "a herd-max == 49": false, "a herd-max < 50": true, "a herd-max >= 1": true,
		"c herd-max >= 20": false, "c herd-max > 0": true, "c herd-max == 20": false, "b herd-max == 1": true,
		"b herd-max <= 1 x a": true, "b herd-max < 1 x c": false, "c herd-max >= 1 x b": true, "c herd-max >= 0.5 x a": false,
		"t wait-p50-ns <= 1": true, "t wait-p50-ns >= 2": false,
	} {
		c, err := results.ParseClaim(claim)
		if err != nil {
			t.Fatal(err)
		}
		if e := c.Evaluate(rows, 0); (e.Outcome == outcome.Pass) != want {
			t.Errorf("%s: %+v, want %t", claim, e, want)
		}
	}
}

// A claim that no measurement can make false is found; one that some measurement can is not.
func TestUnfailing(t *testing.T) {
	for text, want := range map[string]string{
		"a requests/op >= 0":           "no metric is below 0",
		"a violations > -1":            "no metric is below 0",
		"a requests/op >= -1 x b":      "no metric is below 0",
		"a requests/op > 0":            "",
		"a requests/op < 1e300":        "requests/op is never over 1e+12",
		"a ops/s <= 1e12":              "never over",
		"a stale/read < 1e13":          "never over",
		"a ops/s <= 1e11":              "",
		"a wait-p99 < 1h":              "wait-p99-ns is never over 1h0m0s",
		"a wait-p99-ns < 3.7e12":       "never over",
		"a wait-p99 < 59m":             "",
		"a wait-p50-ns < 1e300 x b":    "no value exceeds another",
		"a wait-p50-ns < 1.5 x b":      "",
		"a wait-p50-ns < 1.5 x a":      "compared with itself",
		"a notifications/op == 1e300":  "", // never true
		"a notifications/op >= 1e300":  "",
		"a herd-max >= 1e-300 x other": "",
	} {
		c, err := results.ParseClaim(text)
		if err != nil {
			t.Fatal(err)
		}
		if why := c.Unfailing(); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", text, why, want)
		}
	}
}

// Every metric of a document is one that a recipe with its phases can have.
func TestMetricNames(t *testing.T) {
	d := whole(t)
	names := results.MetricNames(d.Phases, []results.Share{{Phase: "stale", Of: "read"}}, nil)
	for name := range d.Metrics {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing in %q", name, names)
		}
	}
	for _, want := range []string{"ops/s", "stale/read", "acquire-p99-ns", "bystander-service-max-ns", "heap-bytes/watch", "acquire-p50/floor", "floor-write-p50-ns"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
}

// A claim that an engine has nothing to say about is not held against it.
func TestDecidableClaims(t *testing.T) {
	var claims []results.Claim
	for _, text := range []string{"a herd-max <= 1", "a ops/s > 1", "a heap-bytes/watch < 600"} {
		claim, err := results.ParseClaim(text)
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, claim)
	}
	for engine, want := range map[string]int{"container": 3, "process": 3, results.External: 2, results.Embedded: 1} {
		for _, guessed := range []bool{false, true} {
			decidable := 0
			for _, c := range claims {
				if c.DecidableOn(engine, guessed) {
					decidable++
				}
			}
			if guessed {
				decidable++ // the claim about the herd
			}
			if decidable != want {
				t.Errorf("%s, herds guessed %v: %d claims can be decided, want %d", engine, guessed, decidable, want)
			}
		}
	}
}
