package results_test

import (
	"encoding/json"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
)

// A rate is the same after it was written as a field of a file and as a number of a document.
func TestRates(t *testing.T) {
	for text, want := range map[string]struct {
		rate              float64
		text, word, count string
	}{
		"100":       {100, "100", "100", "100 operations/s"},
		"100000":    {100_000, "100000", "100000", "100000 operations/s"},
		"100/s":     {100, "100", "100", "100 operations/s"},
		"6/min":     {0.1, "6/min", "6-per-min", "6 operations/min"},
		"360/h":     {0.1, "6/min", "6-per-min", "6 operations/min"},
		"60/min":    {1, "1", "1", "1 operations/s"},
		"100/min":   {100.0 / 60, "100/min", "100-per-min", "100 operations/min"},
		"7/h":       {7.0 / 3600, "7/h", "7-per-h", "7 operations/h"},
		"1/h":       {1.0 / 3600, "1/h", "1-per-h", "1 operations/h"},
		"9000000/h": {2500, "2500", "2500", "2500 operations/s"},
		"0":         {0, "0", "0", "0 operations/s"},
		"-5":        {-5, "-5", "-5", "-5 operations/s"},
	} {
		var r, again, kept results.Rate
		must.Do(t, yaml.Unmarshal([]byte(text), &r))
		if float64(r) != want.rate || r.String() != want.text || r.Word() != want.word || r.Of(" operations") != want.count {
			t.Errorf("%s is read as %g: %s, %s, %s", text, float64(r), r, r.Word(), r.Of(" operations"))
		}
		must.Do(t, yaml.Unmarshal([]byte(r.String()), &again))
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(r))(t), &kept))
		if again != r || kept != r {
			t.Errorf("%s is written as %s and read as %g, or kept as %g", text, r, float64(again), float64(kept))
		}
	}
	for _, text := range []string{"1.5", "0.5/min", "6/m", "6 / min", "6/", "/min", "1e2", "010", "0x10", "many", "''", "[1]", "{}", "~"} {
		var r results.Rate
		if err := yaml.Unmarshal([]byte(text), &r); text != "~" && err == nil {
			t.Errorf("%s is read as %s", text, r)
		}
	}
	for number := range 4000 { // every number of a unit survives
		for _, seconds := range []float64{1, 60, 3600} {
			var again results.Rate
			r := results.Rate(float64(number) / seconds)
			if must.Do(t, yaml.Unmarshal([]byte(r.String()), &again)); again != r {
				t.Fatalf("%g is written as %s and read as %g", float64(r), r, float64(again))
			}
		}
	}
}
