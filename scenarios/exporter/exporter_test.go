package exporter

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// exported is an exporter that has shown a second of a measurement.
func exported(t *testing.T, variant string) *Exporter {
	t.Helper()
	e := must.Get(Start(t.Context(), "127.0.0.1:0"))(t)
	t.Cleanup(e.Close)
	e.Step(3, 12)
	e.Show(second(variant, 100))
	return e
}

// second is the state of a measurement after a number of operations.
func second(variant string, operations int64) runner.Live {
	return runner.Live{
		Scenario: "lock-contention", Recipe: "lock", Variant: variant, Clients: 50, Repeat: 1, Phase: "handoff",
		Totals:      recorder.Totals{Operations: operations, Notifications: 50 * operations, Requests: 5 * operations, FailedRequests: 1, FailedOperations: 2},
		Workers:     []runner.LiveWorker{{Host: "node1", Requests: 800, Memory: 1 << 20}, {Host: "node1", Requests: 450}},
		LastSeconds: recorder.LastSeconds{Length: time.Second, Second: recorder.Second{LargestHerd: 49, P99: 2 * time.Millisecond}},
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", reply.Status, err)
	}
	return string(text)
}

// Counters grow with the measurement, and begin again with the next one, whose series replace those of the one before.
func TestExporter(t *testing.T) {
	e := exported(t, "children-watch")
	e.Show(second("children-watch", 250))
	const labels = `{clients="50",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch"} `
	got := scrape(t, e.URL)
	for _, want := range []string{
		"zkbench_operations_total" + labels + "250", "zkbench_notifications_total" + labels + "12500", "zkbench_requests_total" + labels + "1250",
		"zkbench_failed_requests_total" + labels + "1", "zkbench_failed_operations_total" + labels + "2", "zkbench_largest_herd_notifications" + labels + "49",
		`zkbench_phase_p99_seconds{clients="50",phase="handoff",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch"} 0.002`,
		`zkbench_worker_requests_total{clients="50",host="node1",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch",worker="1"} 450`,
		`zkbench_worker_memory_bytes{clients="50",host="node1",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch",worker="0"} 1.048576e+06`,
		"zkbench_measurements_done 3", "zkbench_measurements_planned 12", "go_goroutines",
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	next := second("znode", 7)
	next.P99 = 0
	e.Show(next)
	if got = scrape(t, e.URL); strings.Contains(got, "children-watch") || !strings.Contains(got, `variant="znode"} 7`) || strings.Contains(got, "zkbench_phase_p99_seconds{") {
		t.Errorf("the next measurement has series of the one before, or lacks its own:\n%s", got)
	}
}

// The metrics follow Prometheus' conventions, by its own linter.
func TestMetricsAreLinted(t *testing.T) {
	problems := must.Get(testutil.GatherAndLint(exported(t, "znode").registry))(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The printed URL of an exporter on all addresses is one that Prometheus can use.
func TestURLOfAllAddresses(t *testing.T) {
	e := must.Get(Start(t.Context(), "0.0.0.0:0"))(t)
	defer e.Close()
	if url := e.URL; strings.Contains(url, "[::]") || strings.Contains(url, "0.0.0.0") || !strings.Contains(scrape(t, url), "go_goroutines") {
		t.Errorf("%s is not the address of the metrics", url)
	}
}
