package store_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
)

// A text with another content than the written one is refused; the same content in another form is accepted.
func TestDecodeNoticesChanges(t *testing.T) {
	text := must.Get(store.Seal(recordertest.Whole()))(t)
	for _, tt := range []struct{ name, old, replacement, want string }{
		{"whole", "", "", ""},
		{"more white space", `"clients": 10`, "\n\t\"clients\" : 10 ", ""},
		{"an escape", `"recipe": "lock"`, `"recipe": "loc\u006b"`, ""},
		{"another number", `"clients": 10`, `"clients": 11`, "was changed after zkbench wrote it"},
		{"the same number, written otherwise", `"clients": 10`, `"clients": 10.0`, "was changed after"},
		{"a missing part", `"clients": 10,`, "", "was changed after"},
		{"an unknown part", `"clients": 10`, `"clients": 10, "customers": 9`, "was changed after"},
		{"another case", `"clients": 10`, `"Clients": 10`, "was changed after"},
		{"null", `"clients": 10`, `"clients": null`, "was changed after"},
		{"another digest", `"sha256:`, `"sha256:0`, "was changed after"},
		{"no digest", `"digest":`, `"":`, "has no digest"},
		{"a digest of another kind", `"digest": "`, `"digest": 1, "x": "`, "has no digest"},
		{"a part twice", `"clients": 10`, `"clients": 10, "clients": 10`, `has the key "clients" twice`},
		{"an inner part twice", `"delete": 10`, `"delete": 10, "delete": 10`, `has the key "delete" twice`},
		{"another schema", `"schema": 2`, `"schema": 4`, "has schema 4, and this zkbench reads only schema 2: measure again"},
		{"no schema", `"schema": 2`, `"scheme": 2`, "has no schema number"},
		{"an inner part twice, in capitals", `"delete": 10`, `"delete": 10, "DELETE": 10`, "was changed after"},
		{"a number without end", `"clients": 10`, `"clients": 1e999`, "was changed after"},
		{"something after it", "\n}\n", "\n}\n{}", "is not complete JSON"},
	} {
		changed := strings.Replace(string(text), tt.old, tt.replacement, 1)
		if changed == string(text) && tt.old != tt.replacement {
			t.Fatalf("%s is not in %s", tt.old, text)
		}
		if _, err := store.Decode([]byte(changed)); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A part that a newer zkbench adds does not count as a change, and does not make today's documents unreadable.
func TestDecodeOfMoreParts(t *testing.T) {
	d := struct {
		*results.Document
		Later []int `json:"later"`
	}{recordertest.Whole(), []int{1}}
	must.Get(store.Decode(must.Get(store.Seal(d))(t)))(t)
}

// Metrics that do not follow from the rest are refused even with a digest.
func TestDecodeComputesMetricsAgain(t *testing.T) {
	for name, change := range map[string]func(d *results.Document){
		"another value": func(d *results.Document) {
			d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 1.5, Unit: "per op"}
		},
		"another unit": func(d *results.Document) { d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 1.4, Unit: "1/s"} },
		"one more":     func(d *results.Document) { d.Metrics["acquire-p50-ns"] = results.Metric{Value: 1, Unit: "ns"} },
		"no histogram": func(d *results.Document) { d.Histograms["release"] = results.Histogram{Samples: 10, HDR: "HISTFAAAAA"} },
	} {
		d := recordertest.Whole()
		change(d)
		text := must.Get(store.Seal(d))(t)
		if _, err := store.Decode(text); err == nil || !strings.Contains(err.Error(), "does not follow from its measurement") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A metric that a document lacks, because an older zkbench wrote it, is computed.
func TestDecodeAddsMetrics(t *testing.T) {
	d := recordertest.Whole()
	want := d.Metrics[metric.HerdMax]
	delete(d.Metrics, metric.HerdMax)
	text := must.Get(store.Seal(d))(t)
	if got := must.Get(store.Decode(text))(t).Metrics[metric.HerdMax]; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Reasons that are missing in a document are added when it is read, so that no reader has to look for them.
func TestDecodeFindsVoidNumbers(t *testing.T) {
	for _, change := range []func(d *results.Document){
		func(d *results.Document) { d.Health.Reconnects = 2 },
		func(d *results.Document) { d.Oracle.AllNotifications = 20 }, // the recorder has only half of them
		func(d *results.Document) {
			d.Oracle.ServerPackets, d.Oracle.LeastPackets, d.Oracle.MostPackets = 99, 100, 101
		},
		func(d *results.Document) {
			d.Oracle.ServerPackets, d.Oracle.LeastPackets, d.Oracle.MostPackets = 102, 100, 101
		},
	} {
		d := recordertest.Whole()
		change(d)
		if read := must.Get(store.Decode(must.Get(store.Seal(d))(t)))(t); len(read.Invalid) != 1 || read.Sound() {
			t.Errorf("%v", read.Invalid)
		}
	}
}

// FuzzDecode decodes texts as they are and with their own digest. An accepted text is accepted again after it was written.
func FuzzDecode(f *testing.F) {
	sealed := must.Get(store.Seal(recordertest.Whole()))(f)
	f.Add(sealed)
	f.Add([]byte(`{"schema":2,"histograms":{"acquire":{"samples":3,"hdr":"HISTFAAAAA"}}}`))
	f.Add([]byte(`{"schema":2,"clients":1,"herd":{"sizes":[{"size":1,"count":null}]},"health":{"client_cpu":-1e999}}`))
	f.Add([]byte(`{"schema":2,"open":{},"failure":{},"background":{"during":{}},"connect":{},"unfinished":{},"floor":{},"heap":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = store.Decode(text)
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil || object == nil {
			return
		}
		delete(object, "digest")
		sealed, err := store.Seal(object)
		if err != nil {
			return
		}
		d, err := store.Decode(sealed)
		if err != nil {
			return
		}
		sealed = must.Get(store.Seal(d))(t)
		again := must.Get(store.Decode(sealed))(t)
		if other, err := store.Seal(again); err != nil || !bytes.Equal(other, sealed) {
			t.Errorf("%v: %s, want %s", err, other, sealed)
		}
	})
}
