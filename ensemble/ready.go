package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

const pollInterval = 100 * time.Millisecond

// AwaitQuorum returns when CheckQuorum returns nil. If ctx ends before, it returns the last error of CheckQuorum that the end of ctx
// has not caused. If a server of e, which may be nil, has a fault such as to have ended, it returns a [FaultyError] at once.
func AwaitQuorum(ctx context.Context, servers []Server, e Ensemble) error {
	var err error
	for {
		now := CheckQuorum(ctx, servers)
		if now == nil {
			return nil
		}
		if err == nil || ctx.Err() == nil {
			err = now
		}
		if faulty := new(FaultyError); errors.As(CheckFaults(ctx, e), &faulty) {
			return faulty
		}
		if Sleep(ctx, pollInterval) != nil {
			return fmt.Errorf("no quorum: %w", err)
		}
	}
}

// Sleep waits for d. If ctx ends before, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// CheckQuorum returns nil if one server leads (or stands alone) and all others follow or observe.
func CheckQuorum(ctx context.Context, servers []Server) error {
	var problems []error
	leaders := 0
	for _, s := range servers {
		status, err := Srvr(ctx, s)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", s.Name, err))
		case status.Role == Leader, status.Role == Standalone && len(servers) == 1:
			leaders++
		case status.Role == Standalone:
			problems = append(problems, fmt.Errorf("%s stands alone instead of joining the others", s.Name))
		}
	}
	if len(problems) == 0 && leaders != 1 {
		problems = append(problems, fmt.Errorf("%d of %d servers lead", leaders, len(servers)))
	}
	return errors.Join(problems...)
}

// FreePorts returns n TCP ports of 127.0.0.1 that are not in use and not in except.
//
// Note: where possible, they are not among the ports that the kernel gives to outgoing connections. Otherwise, a connection could get
// the port of a killed server before it starts again, or the one on which a follower listens once it leads.
func FreePorts(n int, except ...int) ([]int, error) {
	limit, _ := OutgoingPorts()
	ports := make([]int, 0, n)
	for len(ports) < n {
		// The deferred calls keep all listeners open until the last port is found, so that all ports differ.
		listener, err := listenBelow(limit)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		if port := listener.Addr().(*net.TCPAddr).Port; !slices.Contains(except, port) {
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// The ports to try. Lower ones are often used by installed services.
const (
	firstPort   = 20000
	fewestPorts = 1000 // to choose from
	attempts    = 100
)

func listenBelow(limit int) (net.Listener, error) {
	if limit >= firstPort+fewestPorts {
		for range attempts {
			port := firstPort + rand.IntN(limit-firstPort)
			if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
				return listener, nil
			}
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// OutgoingPorts returns the first port for outgoing connections, and how many one address can have; the largest number if it is unknown.
func OutgoingPorts() (first, number int) {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // empty on other systems than Linux
	var last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return 32768, math.MaxInt // the default of Linux, below that of other systems
	}
	return first, last - first + 1
}

// CheckPorts returns an error that names the ports that are not free.
func CheckPorts(ports []int) error {
	var errs []error
	for _, port := range ports {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			errs = append(errs, fmt.Errorf("port %d is in use: choose another with --ports, or omit the flag to use free ports", port))
		case err != nil:
			errs = append(errs, fmt.Errorf("port %d cannot be used: %w", port, err))
		default:
			listener.Close()
		}
	}
	return errors.Join(errs...)
}

// ClientPorts returns the client ports of the servers: any free ones, or those in the options, with an error unless all are free.
func (o Options) ClientPorts() ([]int, error) {
	if len(o.Ports) == 0 {
		return FreePorts(Size)
	}
	if len(o.Ports) != Size {
		return nil, fmt.Errorf("%d ports given for %d servers", len(o.Ports), Size)
	}
	return o.Ports, CheckPorts(o.Ports)
}
