package claim_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/must"
)

func TestParseClaim(t *testing.T) {
	for _, text := range []string{"a herd-max <= 1", "a notifications/op >= 10 x b", "a failed-writes/op == 0", "a ops/s > 0.5 x b", "a handoff-p50/floor <= 2.5"} {
		c, err := claim.Parse(text)
		if err != nil || c.String() != text {
			t.Errorf("%q is read as %q, %v", text, c.String(), err)
		}
	}
	for text, want := range map[string]string{
		"":                          "VARIANT METRIC",
		"a herd-max":                "VARIANT METRIC",
		"a herd-max =< 1":           "wants one of",
		"a herd-max <= one":         "wants a number",
		"a herd-max <= NaN":         "wants a number",
		"a herd-max <= Inf":         "wants a number",
		"a herd-max <= 1 times b":   "VARIANT METRIC",
		"a ops/s > 3s":              "is not a time",
		"a handoff-p50/floor < 2ms": "is not a time",
		"a wait-p50 < 3s x b":       "before the x",
		"a wait-p50 < 250":          "wait-p50 is a time: wants a duration",
	} {
		if _, err := claim.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A time needs no unit in its name. A duration is not mistaken for a number of nanoseconds.
func TestParseClaimWithADuration(t *testing.T) {
	for _, text := range []string{"a acquire-p99 > 0", "a acquire-p99 > 1.2 x b"} {
		if c, err := claim.Parse(text); err != nil || c.Metric != "acquire-p99-ns" {
			t.Errorf("%q is read as %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"a acquire-p99 < 250ms", "a acquire-p99-ns < 250ms", "a acquire-p99<250ms", "a acquire-p99-ns < 2.5e8"} {
		c, err := claim.Parse(text)
		if err != nil || c.String() != "a acquire-p99 < 250ms" || c.Metric != "acquire-p99-ns" || c.Value != 250e6 || !c.IsTime() {
			t.Errorf("%q is read as %q, %v", text, c.String(), err)
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
		c := must.Get(claim.Parse(text))(t)
		if why := c.Unfailing(); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", text, why, want)
		}
	}
}
