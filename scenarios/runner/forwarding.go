package runner

import (
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
)

// How many connections one address can have.
const (
	forwardFiles = 6  // open files of Docker's forwarding process for each connection: two sockets, and a pipe in each direction
	spareSession = 16 // connections besides those of the clients: bystanders, floors, four-letter commands
)

// CheckConnections returns an error if a measurement of a scenario needs more connections to one address than this machine has
// outgoing ports for, or than Docker's process that forwards the address may open. That process would end, and with it all its
// connections.
func CheckConnections(s scenarios.Scenario, servers []ensemble.Server) error {
	return checkScenario(s, servers, outgoingPorts(), forwarders())
}

// checkScenario checks each number of clients. The largest may need fewer connections to one address than another one, as it uses
// the servers' second addresses.
func checkScenario(s scenarios.Scenario, servers []ensemble.Server, ports int, forwarders map[string]forwarder) error {
	at := setting{servers: servers, faults: len(s.Faults) > 0, roam: s.Roam && faults.OfServers(s.Faults)}
	if s.Background != nil {
		at.background = s.Background.Sessions
	}
	for _, at.clients = range s.Clients {
		if err := at.checkConnections(ports, forwarders); err != nil {
			return err
		}
	}
	return nil
}

func (at setting) checkConnections(ports int, forwarders map[string]forwarder) error {
	sessions := at.mostSessions()
	for _, server := range at.servers {
		for _, addr := range []string{server.Addr, server.Second} {
			n := sessions[addr] + spareSession
			need := fmt.Sprintf("%d clients need %d connections to %s", at.clients, n, addr)
			if at.roam {
				need += " (if its server fails, a client connects to another one, and all may meet at the same)"
			}
			if n > ports {
				return fmt.Errorf("%s, and this machine has %d outgoing ports: widen net.ipv4.ip_local_port_range, or ask for fewer clients", need, ports)
			}
			_, port, _ := net.SplitHostPort(addr)
			if f, ok := forwarders[port]; ok && uint64(n*forwardFiles) > f.files {
				return fmt.Errorf("%s, for which docker-proxy (process %d) needs %d open files and may have %d: "+
					"raise its limit (sudo prlimit --pid %d --nofile=%d, or LimitNOFILE of the Docker service), or ask for fewer clients",
					need, f.pid, n*forwardFiles, f.files, f.pid, n*forwardFiles)
			}
		}
	}
	return nil
}

// mostSessions returns the largest number of sessions that each address can get.
//
// Note: clients that roam do not return. When their server fails, all of them try the other ones in the same order, so that after a
// few faults one server may have all.
func (at setting) mostSessions() map[string]int {
	sessions := map[string]int{}
	for i := range at.clients {
		sessions[at.home(i).Addr]++
	}
	if at.roam {
		for _, s := range at.servers {
			sessions[s.Addr] = at.clients
		}
	}
	for i := range at.background {
		sessions[at.servers[i%len(at.servers)].Addr]++
	}
	return sessions
}

// outgoingPorts returns how many connections this machine can have to one address.
func outgoingPorts() int {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // empty on other systems than Linux
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return math.MaxInt
	}
	return last - first + 1
}

// forwarder is a process that forwards a published port of a container.
type forwarder struct {
	pid   int32
	files uint64 // that it may open
}

// forwarders returns Docker's forwarding processes by port. It leaves out those whose limit cannot be read.
func forwarders() map[string]forwarder {
	out := map[string]forwarder{}
	all, err := process.Processes()
	if err != nil {
		return out
	}
	for _, p := range all {
		if name, err := p.Name(); err != nil || name != "docker-proxy" {
			continue
		}
		args, _ := p.CmdlineSlice()
		i := slices.Index(args, "-host-port")
		if i < 0 || i+1 >= len(args) {
			continue
		}
		limits, _ := p.Rlimit()
		for _, l := range limits {
			if l.Resource == syscall.RLIMIT_NOFILE {
				out[args[i+1]] = forwarder{p.Pid, l.Soft}
			}
		}
	}
	return out
}
