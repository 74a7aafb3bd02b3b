package runner

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/variants/catalog"
)

// The need of a run is compared with the available memory, and the message says what to do.
func TestCheckMemory(t *testing.T) {
	const gb = 1e9
	for _, c := range []struct {
		name      string
		clients   []int
		mode      results.Mode
		duration  time.Duration
		variants  []string
		engine    ensemble.Engine
		available uint64
		want      string
	}{
		{"a small run on a small machine", []int{1, 10}, scenarios.Closed, 3 * time.Second, nil, ensemble.Container, 0.25 * gb, ""},
		{"a thousand clients", []int{1000}, scenarios.Closed, 3 * time.Second, nil, ensemble.Embedded, 0.5 * gb, ""},
		{"the largest number counts", []int{4000, 1}, scenarios.Closed, 3 * time.Second, nil, ensemble.Embedded, 0.5 * gb, "4000 clients need about 0.7 GB"},
		{"four thousand clients", []int{4000}, scenarios.Closed, 3 * time.Second, nil, ensemble.External, 1 * gb, ""},
		{"an hour", []int{10}, scenarios.Closed, time.Hour, nil, ensemble.Container, 0.25 * gb, ""},
		{"an hour on the embedded server", []int{10}, scenarios.Closed, time.Hour, nil, ensemble.Embedded, 0.25 * gb, ""},
		{"a herd that is counted whole", []int{4000}, scenarios.Lockstep, 0, []string{"znode"}, ensemble.External, 2 * gb, ""},
		{"the same without the herd", []int{4000}, scenarios.Lockstep, 0, []string{"predecessor-watch"}, ensemble.External, 2 * gb, ""},
		{"nothing is known", []int{100000}, scenarios.Closed, time.Hour, nil, ensemble.Embedded, math.MaxUint64, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenarios.Default()
			s.Name, s.Recipe, s.Clients, s.Mode, s.Variants = "s", "lock", c.clients, c.mode, c.variants
			s.Duration = c.duration
			err := checkMemory(s, c.engine, c.available)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fewer clients")):
				t.Errorf("error = %v, want %q and what to do", err, c.want)
			}
		})
	}
}

// A background needs memory and connections of its own: the embedded server's znodes are in this process.
func TestBackgroundNeedsMemory(t *testing.T) {
	s := scenarios.Default()
	s.Recipe, s.Clients = "lock", []int{10}
	s.Background = &results.BackgroundLoad{Reads: 1, Bytes: 2000, Znodes: 100_000, Sessions: 10}
	if err := checkMemory(s, ensemble.Container, 0.3e9); err != nil {
		t.Error(err)
	}
	if err := checkMemory(s, ensemble.Embedded, 0.3e9); err == nil {
		t.Error("300 MB of znodes fit into 300 MB")
	}
	s.Background.Sessions = math.MaxInt32
	if err := checkFileLimit(s, catalog.Recipes(), ensemble.Container); err == nil {
		t.Error("more sessions than files are accepted")
	}
}

// The estimate is near the measured memory (VmHWM of the whole process).
func TestMemoryNeeded(t *testing.T) {
	for _, c := range []struct {
		scenario string
		clients  int
		size     int // 0 for the scenario's
		engine   ensemble.Engine
		measured float64
	}{
		{"lock-contention", 1000, 0, ensemble.Embedded, 217 << 20},
		{"lock-contention", 4000, 0, ensemble.Embedded, 605 << 20},
		{"lock-contention", 1000, 0, ensemble.External, 208 << 20},
		{"lock-contention", 4000, 0, ensemble.External, 573 << 20},
		{"watch-delivery", 1000, 0, ensemble.Embedded, 438 << 20},
		{"watch-memory", 100, 0, ensemble.Embedded, 339 << 20},
		{"watch-memory", 20, 10_000, ensemble.Embedded, 477 << 20},
		{"watch-memory", 100, 10_000, ensemble.Embedded, 2356 << 20},
	} {
		s, err := scenarios.Load(c.scenario, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		s.Clients, s.Size = []int{c.clients}, cmp.Or(c.size, s.Size)
		if got := memoryNeeded(s, c.engine); got < 0.8*c.measured || got > 1.4*c.measured {
			t.Errorf("%s, %d clients on %s: %.0f MB, measured %.0f", c.scenario, c.clients, c.engine, got/(1<<20), c.measured/(1<<20))
		}
	}
}

// A load with too many connections for one address is refused, and the message says what to do.
func TestCheckConnections(t *testing.T) {
	t.Parallel()
	const files = 20000
	var servers, doubled []ensemble.Server
	forwarders, half := map[string]machine.Forwarder{}, map[string]machine.Forwarder{}
	for i := range 3 {
		s := ensemble.Server{ID: i + 1, Name: fmt.Sprintf("zoo%d", i+1), Addr: fmt.Sprintf("127.0.0.1:%d", 100+i)}
		servers = append(servers, s)
		s.Second = fmt.Sprintf("127.0.0.1:%d", 200+i)
		doubled = append(doubled, s)
		for _, port := range []int{100, 200} {
			forwarders[fmt.Sprint(port+i)] = machine.Forwarder{PID: int32(port + i), Files: files}
			half[fmt.Sprint(port+i)] = machine.Forwarder{PID: int32(port + i), Files: files / 2}
		}
	}
	none := scenarios.Scenario{Scenario: results.Scenario{}}
	roaming := scenarios.Scenario{Scenario: results.Scenario{Roam: true}}
	killed := scenarios.Scenario{Scenario: results.Scenario{Faults: []faults.Fault{{Kind: faults.Kill, Whom: faults.Leader}}}}
	moving := scenarios.Scenario{Scenario: results.Scenario{Faults: killed.Faults, Roam: true}}
	cut := scenarios.Scenario{Scenario: results.Scenario{Faults: []faults.Fault{{Kind: faults.Cut, Whom: faults.All}}, Roam: true}}
	busy := scenarios.Scenario{Scenario: results.Scenario{Background: &results.BackgroundLoad{Sessions: 60}}}
	crowded := moving
	crowded.Background = busy.Background
	for _, tt := range []struct {
		name    string
		servers []ensemble.Server
		load    scenarios.Scenario
		clients []int
		ports   int
		limits  map[string]machine.Forwarder
		want    string
	}{
		{"a few clients", servers, none, []int{100}, 28000, forwarders, ""},
		{"nothing is known", servers, none, []int{100000}, math.MaxInt, nil, ""},
		{"more than one process forwards", servers, none, []int{10000}, 28000, forwarders, "prlimit --pid 100 --nofile=20100"},
		{"two processes forward them", doubled, none, []int{10000}, 28000, forwarders, ""},
		{"more than two forward", doubled, none, []int{21000}, 28000, forwarders, "and may have 20000"},
		{"more than there are ports", servers[:1], none, []int{30000}, 28000, nil, "ip_local_port_range"},
		{"enough ports for three servers", servers, none, []int{30000}, 28000, nil, ""},
		{"the largest number of clients uses second ports", doubled, none, []int{6000}, 28000, half, ""},
		{"another one does not", doubled, none, []int{5900, 6000}, 28000, half, "5900 clients need 1983 connections to 127.0.0.1:100, for which docker-proxy (process 100) needs 11898"},
		{"faults keep clients from second ports", doubled, killed, []int{10000}, 28000, forwarders, "needs 20100 open files"},
		{"clients that move", servers, moving, []int{3400}, 28000, forwarders, "3400 clients need 3416 connections"},
		{"to the first ports", doubled, moving, []int{3400}, 28000, forwarders, "3400 clients need 3416 connections"},
		{"to ports of this machine", servers, moving, []int{30000}, 28000, nil, "all may meet at the same), and this machine has 28000 outgoing ports"},
		{"clients that wait for their server", servers, killed, []int{3400}, 28000, forwarders, ""},
		{"clients whose server does not fail", servers, roaming, []int{3400}, 28000, forwarders, ""},
		{"clients whose connections are cut", servers, cut, []int{3400}, 28000, forwarders, ""},
		{"clients that move, just enough files", servers, moving, []int{3300}, 28000, forwarders, ""},
		{"and a background", servers, crowded, []int{3300}, 28000, forwarders, "3300 clients need 3336 connections"},
		{"clients, just enough files", servers, none, []int{9950}, 28000, forwarders, ""},
		{"with a background", servers, busy, []int{9950}, 28000, forwarders, "9950 clients need 3353 connections"},
	} {
		tt.load.Clients = tt.clients
		err := checkScenario(tt.load, tt.servers, tt.ports, tt.limits)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
