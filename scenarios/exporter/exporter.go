// Package exporter serves what a run is doing in Prometheus' format.
//
// It takes one position: monitoring must not change what is measured. The numbers are those of the live display, once a second, and only
// of the measurement under way, so that a scrape asks nothing of the clients, and the number of series does not grow with the run.
package exporter

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zkbench/zkbench/scenarios/runner"
)

// Exporter serves the numbers of a run. Make one with [Start]. It may be used concurrently. A nil Exporter serves nothing, and its
// methods have no effect.
type Exporter struct {
	url      string
	server   *http.Server
	serving  sync.WaitGroup
	registry *prometheus.Registry

	mu          sync.Mutex
	done, total int // measurements of the scenario
	live        runner.Live
}

// Start serves metrics at an address such as 127.0.0.1:9464, until [Exporter.Close].
func Start(ctx context.Context, address string) (*Exporter, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	e := &Exporter{url: "http://" + listener.Addr().String() + "/metrics", registry: prometheus.NewRegistry()}
	e.registry.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	e.serving.Go(func() { _ = e.server.Serve(listener) }) // ends with an error in any case
	return e, nil
}

// URL returns where the metrics are served.
func (e *Exporter) URL() string { return e.url }

// closeTimeout bounds how long a scrape that is under way is waited for.
const closeTimeout = time.Second

// Close ends the server and waits for its goroutines.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		_ = e.server.Close()
	}
	e.serving.Wait()
}

// Step notes how many measurements of a scenario are complete.
func (e *Exporter) Step(done, total int) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done, e.total = done, total
}

// Show publishes what the measurement under way has done, in place of what was published before.
func (e *Exporter) Show(l runner.Live) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = l
}

// metric is one number of a measurement.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	of         func(runner.Live) float64
}

// metrics returns the numbers of a measurement.
func metrics() []metric {
	count := func(name, help string, of func(runner.Totals) int64) metric {
		return metric{name, help, prometheus.CounterValue, func(l runner.Live) float64 { return float64(of(l.Totals)) }}
	}
	return []metric{
		count("zkbench_operations_total", "Completed operations, warm-up included.",
			func(t runner.Totals) int64 { return t.Operations }),
		count("zkbench_failed_operations_total", "Operations that ended in an error, as only a fault may cause.",
			func(t runner.Totals) int64 { return t.FailedOperations }),
		count("zkbench_notifications_total", "Notifications that the clients received.",
			func(t runner.Totals) int64 { return t.Notifications }),
		count("zkbench_requests_total", "Requests that the clients sent, housekeeping excluded.",
			func(t runner.Totals) int64 { return t.Requests }),
		count("zkbench_failed_requests_total",
			"Requests that a server answered with an error, such as creates that another client was faster with.",
			func(t runner.Totals) int64 { return t.FailedRequests }),
		{"zkbench_largest_herd_notifications", "The most notifications that one transaction caused in the last 10 seconds.",
			prometheus.GaugeValue, func(l runner.Live) float64 { return float64(l.LargestHerd) }},
	}
}

// Describe implements [prometheus.Collector]. It names no metrics, as the measurement under way decides which there are.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (e *Exporter) Collect(out chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.live
	names := []string{"scenario", "recipe", "variant", "clients", "rate", "repeat"}
	values := []string{l.Scenario, l.Recipe, l.Variant, strconv.Itoa(l.Clients), strconv.Itoa(l.Rate), strconv.Itoa(l.Repeat)}
	send := func(m metric, value float64, names, values []string) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, names, nil), m.kind, value, values...)
	}
	gauge := func(name, help string) metric { return metric{name: name, help: help, kind: prometheus.GaugeValue} }
	send(gauge("zkbench_measurements_done", "Measurements of the scenario under way that are complete."), float64(e.done), nil, nil)
	send(gauge("zkbench_measurements_planned", "Measurements of the scenario under way."), float64(e.total), nil, nil)
	if l.Scenario == "" { // none has begun
		return
	}
	for _, m := range metrics() {
		send(m, m.of(l), names, values)
	}
	if l.P99 > 0 {
		send(gauge("zkbench_phase_p99_seconds", "The p99 of the recipe's first phase in the last 10 seconds."), l.P99.Seconds(),
			slices.Concat(names, []string{"phase"}), slices.Concat(values, []string{l.Phase}))
	}
}
