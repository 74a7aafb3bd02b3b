package runner

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// spareFiles is the number of file descriptors besides the clients': for bystanders, administration and results.
const spareFiles = 64

// CheckResources returns an error if a scenario clearly needs more files or memory than the process may use.
func CheckResources(s scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine) error {
	return errors.Join(checkFileLimit(s, recipes, engine), checkMemory(s, engine, machine.AvailableMemory()))
}

func checkFileLimit(s scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine) error {
	clients, each := slices.Max(s.Clients), 1
	sessions := clients + cmp.Or(s.Background, new(results.BackgroundLoad)).Sessions
	if engine == ensemble.Embedded {
		each = 2 // both ends of a connection are in this process
	}
	if recipe := s.RecipeAmong(recipes); recipe != nil && s.HasDriver(*recipe) {
		each += 2 // a tunnel's listener, and the connection from the driver
	}
	files := sessions*each + spareFiles
	if limit := machine.FileLimit(); uint64(files) > limit {
		return fmt.Errorf("%d clients need %d file descriptors (%d for each), but this process may open %d (its hard limit): "+
			"raise that (as root: ulimit -n %d, or LimitNOFILE of the service) or ask for fewer clients",
			clients, files, each, limit, files)
	}
	return nil
}

// The memory of a measurement in bytes, as measured on Linux with lock-contention, watch-delivery and watch-memory at 10 to
// 10,000 clients. It does not depend on the length of the load.
const (
	baseMemory     = 40<<20 + machine.MinGarbage
	clientMemory   = 60 << 10 // a session, its participant and its records
	embeddedMemory = 10 << 10 // the embedded server's part of a session
	// listingMemory is needed for each pair of clients: if all clients list all others, a fifth of the listings are in memory
	// at the same time. It predicts the 2.2 GB of 10,000 clients that enter a lock's line at once. With paced starts (see
	// paceStart) they take half of that, but the herds of naive variants are not paced. 10,000 clients that do not list each
	// other take 0.5 GB.
	listingMemory = 12
	// watchMemory is needed in the client for each unit of a scenario's size, such as a watch. embeddedWatchMemory is needed in
	// the embedded server, the watch's znode included. One million watches with a znode each took 2.4 GB.
	watchMemory         = 1500
	embeddedWatchMemory = 900
	// znodeMemory is needed for a znode of a background in the embedded server, in addition to its data.
	znodeMemory = 1000
	// outstandingMemory is needed for the outstanding requests of a background.
	outstandingMemory = background.MaxOutstanding * 10 << 10
)

// checkMemory returns an error if a scenario clearly needs more memory than is available. It is an estimate: the need depends on variants.
func checkMemory(s scenarios.Scenario, engine ensemble.Engine, available uint64) error {
	need := memoryNeeded(s, engine)
	if need <= float64(available) {
		return nil
	}
	return fmt.Errorf("%s: %d clients need about %s of memory (an estimate), and this machine has %s available: "+
		"ask for fewer clients or a smaller size",
		s.Name, slices.Max(s.Clients), gigabytes(need), gigabytes(float64(available)))
}

// memoryNeeded estimates the peak of the largest measurement of a scenario. Each measurement returns its memory when it ends.
func memoryNeeded(s scenarios.Scenario, engine ensemble.Engine) float64 {
	n := float64(slices.Max(s.Clients))
	need := baseMemory + n*clientMemory + n*n*listingMemory + n*float64(s.Size)*watchMemory
	if engine == ensemble.Embedded {
		need += n * (embeddedMemory + float64(s.Size)*embeddedWatchMemory)
	}
	if b := s.Background; b != nil {
		need += outstandingMemory + float64(b.Sessions)*clientMemory
		if engine == ensemble.Embedded {
			need += float64(b.Znodes) * float64(b.Bytes+znodeMemory)
		}
	}
	return need
}

func gigabytes(bytes float64) string { return fmt.Sprintf("%.1f GB", bytes/1e9) }

// The cost of connections to one address.
const (
	forwardFiles = 6  // open files of Docker's forwarding process for each connection: two sockets, and a pipe in each direction
	spareSession = 16 // connections besides the clients': for bystanders, floors and four-letter commands
)

// CheckConnections returns an error if a measurement of a scenario needs more connections to one address than this machine has outgoing
// ports for, or than Docker's process that forwards the address may open: beyond its limit, that ends and breaks all its connections.
func CheckConnections(s scenarios.Scenario, servers []ensemble.Server) error {
	_, ports := ensemble.OutgoingPorts()
	return checkScenario(s, servers, ports, machine.Forwarders())
}

// checkScenario checks each number of clients. The largest one may need fewer connections to one address than a smaller one,
// because it uses the servers' second addresses.
func checkScenario(s scenarios.Scenario, servers []ensemble.Server, ports int, forwarders map[string]machine.Forwarder) error {
	at := pool.Config{Servers: servers, Faults: len(s.Faults) > 0, Roam: s.Roam && faults.OfServers(s.Faults)}
	for _, at.Clients = range s.Clients {
		sessions := mostSessions(at, cmp.Or(s.Background, new(results.BackgroundLoad)).Sessions)
		if err := checkConnections(at, sessions, ports, forwarders); err != nil {
			return err
		}
	}
	return nil
}

func checkConnections(at pool.Config, sessions map[string]int, ports int, forwarders map[string]machine.Forwarder) error {
	for _, server := range at.Servers {
		for _, addr := range []string{server.Addr, server.Second} {
			n := sessions[addr] + spareSession
			need := fmt.Sprintf("%d clients need %d connections to %s", at.Clients, n, addr)
			if at.Roam {
				need += " (if its server fails, a client connects to another one, and all may meet at the same)"
			}
			if n > ports {
				return fmt.Errorf("%s, and this machine has %d outgoing ports: "+
					"widen net.ipv4.ip_local_port_range, or ask for fewer clients", need, ports)
			}
			_, port, _ := net.SplitHostPort(addr)
			if f, ok := forwarders[port]; ok && uint64(n*forwardFiles) > f.Files {
				return fmt.Errorf("%s, for which docker-proxy (process %d) needs %d open files and may have %d: "+
					"raise its limit (sudo prlimit --pid %d --nofile=%d, or LimitNOFILE of the Docker service), or ask for fewer clients",
					need, f.PID, n*forwardFiles, f.Files, f.PID, n*forwardFiles)
			}
		}
	}
	return nil
}

// mostSessions returns the largest number of sessions that each address can get.
//
// Note: clients that roam do not return. When their server fails, all of them try the other servers in the same order, so that
// after a few faults one server may have all clients.
func mostSessions(at pool.Config, background int) map[string]int {
	sessions := map[string]int{}
	for i := range at.Clients {
		sessions[at.Home(i).Addr]++
	}
	if at.Roam {
		for _, s := range at.Servers {
			sessions[s.Addr] = at.Clients
		}
	}
	for i := range background {
		sessions[at.Servers[i%len(at.Servers)].Addr]++
	}
	return sessions
}

// CheckDrivers returns an error unless all variants of a scenario can run here. The error says what to install.
func CheckDrivers(s scenarios.Scenario, recipes []variants.Recipe) error {
	errs := list.Map(s.SelectedAmong(recipes), func(v variants.Variant) error { return drivers.CheckRunnable(s.Recipe, v) })
	return errors.Join(errs...)
}

// LeftOut names the scenarios that cannot run for one reason.
type LeftOut struct {
	Why       string // a clause, such as "libraries are not installed"
	Scenarios []string
}

// Possible returns the scenarios of a group that can run here on an engine with an ability, and the others by reason.
func Possible(
	group []scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine, ability faults.Ability,
) (can []scenarios.Scenario, refused []LeftOut) {
	refused = []LeftOut{
		{Why: "libraries are not installed (`zkbench list variants` says which packages have them)"},
		{Why: fmt.Sprintf("the servers of engine %s cannot fail as they ask", engine)},
		{Why: "they need more files or memory than zkbench may use"},
	}
	for _, s := range group {
		reasons := []bool{CheckDrivers(s, recipes) != nil, s.Unable(ability) != nil, CheckResources(s, recipes, engine) != nil}
		if i := slices.Index(reasons, true); i >= 0 {
			refused[i].Scenarios = append(refused[i].Scenarios, s.Name)
		} else {
			can = append(can, s)
		}
	}
	return can, list.Where(refused, func(l LeftOut) bool { return len(l.Scenarios) > 0 })
}
