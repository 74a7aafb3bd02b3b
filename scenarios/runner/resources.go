package runner

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios"
)

// spareFiles is how many file descriptors zkbench needs besides those of the clients: bystanders, administration, results.
const spareFiles = 64

// CheckResources returns an error if a scenario clearly needs more files or memory than the process may use.
func CheckResources(s scenarios.Scenario, engine ensemble.Engine) error {
	return errors.Join(checkFileLimit(s, engine), checkMemory(s, engine, availableMemory()))
}

// checkFileLimit returns an error if the scenario needs more connections than the process may open. On the embedded
// engine both ends of a connection are in this process. The Go runtime has already raised the soft limit to the hard one.
func checkFileLimit(s scenarios.Scenario, engine ensemble.Engine) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // a system without this limit has nothing to check
	}
	clients := slices.Max(s.Clients)
	sessions := clients
	if s.Background != nil {
		sessions += s.Background.Sessions
	}
	files, why := sessions+spareFiles, ""
	if engine == ensemble.Embedded {
		files, why = files+sessions, " (both ends of a connection are in this process)"
	}
	if uint64(files) > limit.Cur {
		return fmt.Errorf("%d clients need %d file descriptors%s, but this process may open %d (its hard limit): "+
			"raise that (as root: ulimit -n %d, or LimitNOFILE of the service) or ask for fewer clients",
			clients, files, why, limit.Cur, files)
	}
	return nil
}

// The memory of a measurement in bytes, as measured on Linux with lock-contention, watch-delivery and watch-memory at 10 to
// 10,000 clients. It does not depend on how long the load lasts.
const (
	baseMemory     = 40<<20 + minGarbage
	clientMemory   = 60 << 10 // a session, its participant and its records
	embeddedMemory = 10 << 10 // the embedded server's part of a session
	// listingMemory is the part of each pair of clients: if all clients list all others, a fifth of the listings are in memory
	// at the same time. 10,000 clients that enter a lock's line at once took 2.2 GB, which
	// this predicts. Paced (see paceStart) they take half of it, but the herds of naive variants are not paced. 10,000 clients that
	// do not list each other take 0.5 GB.
	listingMemory = 12
	// watchMemory is the part of each unit of a scenario's size, such as a watch, in the client, and embeddedWatchMemory that in the
	// embedded server, the watch's znode included. One million watches with a znode each took 2.4 GB.
	watchMemory         = 1500
	embeddedWatchMemory = 900
	// znodeMemory is what a znode of a background takes in the embedded server besides its data.
	znodeMemory = 1000
	// outstandingMemory is what the outstanding requests of a background take.
	outstandingMemory = maxOutstanding * 10 << 10
)

// checkMemory returns an error if a scenario clearly needs more memory than the machine has available. The need is an estimate, as it
// depends on the variants.
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
