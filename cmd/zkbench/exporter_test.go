package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// exported is an exporter that has shown a second of a measurement.
func exported(t *testing.T, variant string) *exporter {
	t.Helper()
	e, err := newExporter(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	e.step(3, 12)
	e.show(second(variant, 100))
	return e
}

// second is what a measurement has done after a number of operations.
func second(variant string, operations int64) runner.Live {
	return runner.Live{
		Measured: runner.Measured{Scenario: "lock-contention", Recipe: "lock", Variant: variant, Clients: 50, Repeat: 1}, Phase: "handoff",
		Totals:      recorder.Totals{Operations: operations, Notifications: 50 * operations, Requests: 5 * operations, FailedRequests: 1, FailedOperations: 2},
		LastSeconds: recorder.LastSeconds{Length: time.Second, Second: recorder.Second{LargestHerd: 49, P99: 2 * time.Millisecond}},
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
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
	e.show(second("children-watch", 250))
	const labels = `{clients="50",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch"} `
	got := scrape(t, e.url())
	for _, want := range []string{
		"zkbench_operations_total" + labels + "250", "zkbench_notifications_total" + labels + "12500", "zkbench_requests_total" + labels + "1250",
		"zkbench_failed_requests_total" + labels + "1", "zkbench_failed_operations_total" + labels + "2", "zkbench_largest_herd_notifications" + labels + "49",
		`zkbench_phase_p99_seconds{clients="50",phase="handoff",rate="0",recipe="lock",repeat="1",scenario="lock-contention",variant="children-watch"} 0.002`,
		"zkbench_measurements_done 3", "zkbench_measurements_planned 12", "go_goroutines",
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	next := second("znode", 7)
	next.P99 = 0
	e.show(next)
	if got = scrape(t, e.url()); strings.Contains(got, "children-watch") || !strings.Contains(got, `variant="znode"} 7`) || strings.Contains(got, "zkbench_phase_p99_seconds{") {
		t.Errorf("the next measurement has series of the one before, or lacks its own:\n%s", got)
	}
}

// The metrics follow Prometheus' conventions, by its own linter.
func TestMetricsAreLinted(t *testing.T) {
	problems, err := testutil.GatherAndLint(exported(t, "znode").registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Metrics are served on loopback unless a host is given, and an address that cannot be had is a mistake in the flags.
func TestMetricsAddress(t *testing.T) {
	for addr, want := range map[string]string{"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "0.0.0.0:9464", "[::1]:0": "[::1]:0"} {
		if got, err := listenAddress("prometheus", addr); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", addr, got, err, want)
		}
	}
	if _, err := listenAddress("prometheus", "here"); err == nil || exitCode(t.Context(), err) != outcome.CodeUsage {
		t.Errorf("an address without a port: %v", err)
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Chdir(t.TempDir())
	_, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "embedded", "--prometheus", taken.Addr().String(), "--name", testName("taken"))
	if code != outcome.CodeUsage || !strings.Contains(stderr, "--prometheus") || strings.Contains(stderr, "embedded servers:") {
		t.Errorf("an address that is in use: exit code %d, %q", code, stderr)
	}
}

// A run serves its numbers from before its first load until its end. If it is interrupted in a long window, it keeps what it has
// measured: that is shown with a mark and drawn, and a gate takes it for no measurement.
func TestMetricsOfAnInterruptedRun(t *testing.T) {
	t.Chdir(t.TempDir())
	server := ensembletest.Embedded(t, embedded.Config{})
	probe, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := probe.Addr().String()
	probe.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan int)
	var stdout string
	go func() {
		var code int
		stdout, _, code = command(ctx, "run", "lock-contention", "--servers", server.Addr(), "--variants", "predecessor-watch", "--clients", "3", "--repeats", "1",
			"--warm-up", "0s", "--duration", "1h", "--prometheus", addr, "--out", "out")
		ended <- code
	}()
	measured := regexp.MustCompile(`zkbench_operations_total\{clients="3",[^}]*repeat="1"[^}]*\} [1-9]`) // after the rehearsal
	for found := false; !found; {
		if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err == nil {
			c.Close()
			found = measured.MatchString(scrape(t, "http://"+addr+"/metrics"))
		}
		select {
		case code := <-ended:
			t.Fatalf("the run ended with exit code %d", code)
		case <-time.After(100 * time.Millisecond):
		}
	}
	cancel(errInterrupted)
	if code := <-ended; code != outcome.CodeInterrupted {
		t.Errorf("exit code %d, want %d", code, outcome.CodeInterrupted)
	}
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err == nil {
		c.Close()
		t.Error("the metrics are served after the end of the run")
	}
	judgePart(t, "out", stdout)
}

func judgePart(t *testing.T, out, stdout string) {
	t.Helper()
	for _, want := range []string{"lock/predecessor-watch PARTIAL", "partial results in " + out + ": 1 measurement", "was interrupted after"} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
			t.Errorf("said %q, want %q in it", stdout, want)
		}
	}
	docs, err := store.ReadAll([]string{out})
	if err != nil || len(docs) != 1 || !docs[0].Partial {
		t.Fatalf("kept %v (%v)", docs, err)
	}
	if shown, _, code := command(t.Context(), "report", out); code != 0 || !strings.Contains(shown, "PARTIAL") {
		t.Errorf("report: exit code %d, %q", code, shown)
	}
	if r := gate.Evaluate(gate.Read([]string{out}), gate.Rules{VariantsOf: variantsOf}); r.Code != outcome.CodeInvalid {
		t.Errorf("gate: exit code %d, want %d: %+v", r.Code, outcome.CodeInvalid, r.Checks)
	}
	if _, said, code := command(t.Context(), "baseline", "save", out, "--dir", t.TempDir()); code == 0 || !strings.Contains(said, "was interrupted after") {
		t.Errorf("baseline save: exit code %d, %q", code, said)
	}
	if _, said, code := command(t.Context(), "plot", out, "--out", t.TempDir()); code != 0 {
		t.Errorf("plot: exit code %d, %q", code, said)
	}
}
