package main

import (
	"context"
	"fmt"
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

// exporter serves what a run is doing in Prometheus' format. It has the series of the measurement under way alone, so that their number
// does not grow with the run. Its numbers are those of the live display, once a second: nothing is added to the load. Like the display's, its methods are called one after the other.
type exporter struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup

	registry *prometheus.Registry
	done     prometheus.Gauge
	planned  prometheus.Gauge
	phaseP99 *prometheus.GaugeVec
	herd     *prometheus.GaugeVec
	counters []liveCounter

	what  runner.Measured
	known runner.Totals
}

// liveCounter is a counter of the measurement under way.
type liveCounter struct {
	*prometheus.CounterVec
	of func(runner.Totals) int64
}

// measuredLabels name the measurement under way.
func measuredLabels() []string {
	return []string{"scenario", "recipe", "variant", "clients", "rate", "repeat"}
}

// newExporter serves metrics at an address, until close.
func newExporter(ctx context.Context, addr string) (*exporter, error) {
	address, err := listenAddress("prometheus", addr)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, usage(fmt.Errorf("--prometheus: %w", err))
	}
	e := &exporter{listener: listener, registry: prometheus.NewRegistry()}
	e.register()
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	e.serving.Go(func() { _ = e.server.Serve(e.listener) }) // ends with an error in any case
	return e, nil
}

// export starts an exporter, and prints where it is; nil without an address.
func (a *app) export(ctx context.Context, addr string) (*exporter, error) {
	if addr == "" {
		return nil, nil
	}
	e, err := newExporter(ctx, addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stderr, "live metrics at %s\n", e.url())
	return e, nil
}

// register creates the metrics.
func (e *exporter) register() {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		e.registry.MustRegister(g)
		return g
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append(measuredLabels(), labels...))
		e.registry.MustRegister(g)
		return g
	}
	e.done = gauge("zkbench_measurements_done", "Measurements of the scenario under way that are complete.")
	e.planned = gauge("zkbench_measurements_planned", "Measurements of the scenario under way.")
	e.phaseP99 = gauges("zkbench_phase_p99_seconds", "The p99 of the recipe's first phase in the last 10 seconds.", "phase")
	e.herd = gauges("zkbench_largest_herd_notifications", "The most notifications that one transaction caused in the last 10 seconds.")
	for _, c := range []struct {
		name, help string
		of         func(runner.Totals) int64
	}{
		{"zkbench_operations_total", "Completed operations, warm-up included.", func(t runner.Totals) int64 { return t.Operations }},
		{"zkbench_failed_operations_total", "Operations that ended in an error, as only a fault may cause.", func(t runner.Totals) int64 { return t.FailedOperations }},
		{"zkbench_notifications_total", "Notifications that the clients received.", func(t runner.Totals) int64 { return t.Notifications }},
		{"zkbench_requests_total", "Requests that the clients sent, housekeeping excluded.", func(t runner.Totals) int64 { return t.Requests }},
		{"zkbench_failed_requests_total", "Requests that a server answered with an error, such as creates that another client was faster with.", func(t runner.Totals) int64 { return t.FailedRequests }},
	} {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: c.name, Help: c.help}, measuredLabels())
		e.registry.MustRegister(v)
		e.counters = append(e.counters, liveCounter{v, c.of})
	}
	e.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// url returns where the metrics are served.
func (e *exporter) url() string { return "http://" + e.listener.Addr().String() + "/metrics" }

// closeTimeout bounds how long a scrape that is under way is waited for.
const closeTimeout = time.Second

// close ends the server and waits for its goroutines. A nil exporter has none.
func (e *exporter) close() {
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

// step notes how many measurements of a scenario are complete. A nil exporter ignores it.
func (e *exporter) step(done, total int) {
	if e == nil {
		return
	}
	e.done.Set(float64(done))
	e.planned.Set(float64(total))
}

// show publishes what the measurement under way has done. The series of the one before it are removed. A nil exporter ignores it.
func (e *exporter) show(l runner.Live) {
	if e == nil {
		return
	}
	if l.Measured != e.what {
		e.forget()
		e.what = l.Measured
	}
	labels := []string{l.Scenario, l.Recipe, l.Variant, strconv.Itoa(l.Clients), strconv.Itoa(l.Rate), strconv.Itoa(l.Repeat)}
	for _, c := range e.counters {
		c.WithLabelValues(labels...).Add(float64(max(c.of(l.Totals)-c.of(e.known), 0)))
	}
	e.known = l.Totals
	e.herd.WithLabelValues(labels...).Set(float64(l.LargestHerd))
	ofPhase := slices.Concat(labels, []string{l.Phase})
	if l.P99 > 0 {
		e.phaseP99.WithLabelValues(ofPhase...).Set(l.P99.Seconds())
	} else {
		e.phaseP99.DeleteLabelValues(ofPhase...)
	}
}

// forget removes the series of the measurement before.
func (e *exporter) forget() {
	for _, c := range e.counters {
		c.Reset()
	}
	e.phaseP99.Reset()
	e.herd.Reset()
	e.known = runner.Totals{}
}
