package runner

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// silent is a server that accepts connections and never answers.
type silent struct{}

func (silent) DialContext(context.Context, string, string) (net.Conn, error) {
	client, _ := dial.Pipe()
	return client, nil
}

// If no further session is established, the measurement ends with how many are. Those are shown until then.
func TestConnectingStops(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		servers := append(e.Servers(), ensemble.Server{Name: "silent", Addr: "192.0.2.2:2181", Dialer: silent{}})
		shown, begun := 0, time.Now()
		at := setting{servers: servers, clients: 5, root: "/", connecting: func(done, of int) {
			if done != 3 || of != 5 {
				t.Errorf("shown are %d of %d", done, of)
			}
			shown++
		}}
		_, err := connectAll(t.Context(), at, catalog.Recipes()[0].Variants[0])
		if err == nil || !strings.Contains(err.Error(), "3 of 5 sessions are established") || !strings.Contains(err.Error(), "maxClientCnxns") {
			t.Errorf("error = %v, want how many sessions are established, and what to look at", err)
		}
		patience := connectTimeout
		if took := time.Since(begun); took < patience || took > 3*patience || shown < int(patience/connectShown) {
			t.Errorf("it took %s, and was shown %d times", took, shown)
		}
	})
}

// While the number grows between two ticks, however slowly, nothing is stuck.
func TestWhileGrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		stuck := make(chan int64, 1)
		stop := whileGrowing(n.Load, growth{patience: time.Hour, stuck: func(n int64) { stuck <- n }})
		for range 5 {
			time.Sleep(time.Hour - time.Minute)
			n.Add(1)
		}
		select {
		case at := <-stuck:
			t.Errorf("stuck at %d", at)
		default:
		}
		if at := <-stuck; at != 5 {
			t.Errorf("stuck at %d, want 5", at)
		}
		stop()
	})
}

// A crowd that one address cannot take is refused, with what to do.
func TestCheckConnections(t *testing.T) {
	t.Parallel()
	const files = 20000
	var servers, doubled []ensemble.Server
	forwarders, half := map[string]forwarder{}, map[string]forwarder{}
	for i := range 3 {
		s := ensemble.Server{ID: i + 1, Name: fmt.Sprintf("zoo%d", i+1), Addr: fmt.Sprintf("127.0.0.1:%d", 100+i)}
		servers = append(servers, s)
		s.Second = fmt.Sprintf("127.0.0.1:%d", 200+i)
		doubled = append(doubled, s)
		for _, port := range []int{100, 200} {
			forwarders[fmt.Sprint(port+i)] = forwarder{int32(port + i), files}
			half[fmt.Sprint(port+i)] = forwarder{int32(port + i), files / 2}
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
		limits  map[string]forwarder
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

// Every other client of a crowd uses the second address of its server, unless clients fail.
func TestHome(t *testing.T) {
	t.Parallel()
	servers := []ensemble.Server{{Name: "a", Addr: "a1", Second: "a2"}, {Name: "b", Addr: "b1"}}
	for _, tt := range []struct {
		clients int
		faults  bool
		want    string
	}{
		{100, false, "a1 b1 a1 b1"},
		{2 * crowd, false, "a1 b1 a2 b1"},
		{2 * crowd, true, "a1 b1 a1 b1"},
	} {
		at := setting{servers: servers, clients: tt.clients, faults: tt.faults}
		var got []string
		for i := range 4 {
			got = append(got, at.home(i).Addr)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%d clients, faults %t: %s, want %s", tt.clients, tt.faults, text, tt.want)
		}
	}
}

// In a crowd, a client that holds, such as the publisher that all others wait for, does not keep the others from starting.
func TestHoldingClientKeepsNoCrowdWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &measurement{pool: &clientPool{}}
		for i := range scenarios.CrowdOfStarts {
			m.pool.clients = append(m.pool.clients, &client{id: i, life: newLife(0, time.Now(), i, nil)})
		}
		first := m.pool.clients[0]
		first.session = variants.NewSession(nil, nil)
		m.scenario.Hold = time.Hour
		go func() { _ = m.hold(first)(t.Context(), first.life, nil) }()
		synctest.Wait()
		begun := time.Now()
		if err := m.paceStart(t.Context(), parallel); err != nil || time.Since(begun) > 0 {
			t.Errorf("a client starts %s after one that holds for an hour has begun to hold (%v)", time.Since(begun), err)
		}
		m.pool.clients[1].session = variants.NewSession(nil, nil) // has neither begun to wait nor completed anything
		if err := m.paceStart(t.Context(), parallel+1); err != nil || time.Since(begun) != settlesWithin {
			t.Errorf("behind one that polls, a client starts after %s (%v), want %s", time.Since(begun), err, settlesWithin)
		}
	})
}
