// Package exporter serves the live numbers of a run in Prometheus' format.
//
// It takes one position: monitoring must not change the measurement. The numbers are those of the live display, once a second, and only of
// the measurement under way. So a scrape sends no request to the clients, and the number of series does not grow with the run.
package exporter

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// Exporter serves the numbers of a run. Make one with [Start]. It may be used concurrently.
type Exporter struct {
	URL string // the address of the metrics page

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
	e := &Exporter{URL: "http://" + dial.Destination(listener.Addr()) + "/metrics", registry: prometheus.NewRegistry()}
	e.registry.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	e.serving.Go(func() { _ = e.server.Serve(listener) }) // ends with an error in any case
	return e, nil
}

// Close ends the server and waits for its goroutines. A scrape that is under way has a second.
func (e *Exporter) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		_ = e.server.Close()
	}
	e.serving.Wait()
}

// Step sets how many measurements of a scenario are complete.
func (e *Exporter) Step(done, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done, e.total = done, total
}

// Show publishes the numbers of the measurement under way, in place of the previous ones.
func (e *Exporter) Show(l runner.Live) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = l
}

// Describe implements [prometheus.Collector]. It names no metrics, because they depend on the measurement under way.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (e *Exporter) Collect(out chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, labels := e.live, prometheus.Labels{}
	send := func(kind prometheus.ValueType, value float64, name, help string) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
	}
	count := func(value int64, name, help string) { send(prometheus.CounterValue, float64(value), name, help) }
	gauge := func(value float64, name, help string) { send(prometheus.GaugeValue, value, name, help) }
	gauge(float64(e.done), "zkbench_measurements_done", "Measurements of the scenario under way that are complete.")
	gauge(float64(e.total), "zkbench_measurements_planned", "Measurements of the scenario under way.")
	if l.Scenario == "" { // none has begun
		return
	}
	labels = prometheus.Labels{
		"scenario": l.Scenario, "recipe": l.Recipe, "variant": l.Variant,
		"clients": strconv.Itoa(l.Clients), "rate": strconv.FormatFloat(float64(l.Rate), 'f', -1, 64), "repeat": strconv.Itoa(l.Repeat),
	}
	count(l.Totals.Operations, "zkbench_operations_total", "Completed operations, warm-up included.")
	count(l.Totals.FailedOperations, "zkbench_failed_operations_total", "Operations that ended in an error, as only a fault may cause.")
	count(l.Totals.Notifications, "zkbench_notifications_total", "Notifications that the clients received.")
	count(l.Totals.Requests, "zkbench_requests_total", "Requests that the clients sent, housekeeping excluded.")
	count(l.Totals.FailedRequests, "zkbench_failed_requests_total",
		"Requests that a server answered with an error, such as creates that another client was faster with.")
	gauge(float64(l.LargestHerd), "zkbench_largest_herd_notifications",
		"The most notifications that one transaction caused in the last 10 seconds.")
	common := labels
	for i, w := range l.Workers {
		labels = maps.Clone(common)
		labels["worker"], labels["host"] = strconv.Itoa(i), w.Host
		count(w.Requests, "zkbench_worker_requests_total",
			"Requests that the clients of one worker sent, those of joining included, and housekeeping excluded.")
		gauge(float64(w.Memory), "zkbench_worker_memory_bytes", "The resident memory of one worker; 0 if it is not known.")
	}
	if labels = common; l.P99 > 0 {
		labels["phase"] = l.Phase
		gauge(l.P99.Seconds(), "zkbench_phase_p99_seconds", "The p99 of the recipe's first phase in the last 10 seconds.")
	}
}
