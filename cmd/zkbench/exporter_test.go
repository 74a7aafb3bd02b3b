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

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

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

// Metrics are served on loopback unless a host is given. An address that cannot be used is a usage error.
func TestMetricsAddress(t *testing.T) {
	for addr, want := range map[string]string{"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "0.0.0.0:9464", "[::1]:0": "[::1]:0"} {
		if got, err := listenAddress("prometheus", addr); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", addr, got, err, want)
		}
	}
	if _, err := listenAddress("prometheus", "here"); err == nil || exitCode(t.Context(), err) != outcome.CodeUsage {
		t.Errorf("an address without a port: %v", err)
	}
	taken := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	t.Chdir(t.TempDir())
	_, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "embedded", "--prometheus", taken.Addr().String(), "--name", testName("taken"))
	if code != outcome.CodeUsage || !strings.Contains(stderr, "--prometheus") || strings.Contains(stderr, "embedded servers:") {
		t.Errorf("an address that is in use: exit code %d, %q", code, stderr)
	}
}

// A run serves its numbers from before its first load until its end. If it is interrupted in a long window, it keeps its
// measurement so far, which reports mark and plots draw, and which the gate does not count as a measurement.
func TestMetricsOfAnInterruptedRun(t *testing.T) {
	t.Chdir(t.TempDir())
	server := ensembletest.Embedded(t, embedded.Config{})
	probe := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
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
	hasAll(t, strings.Join(strings.Fields(stdout), " "),
		"lock/predecessor-watch PARTIAL", "partial results in "+out+": 1 measurement", "was interrupted after")
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
