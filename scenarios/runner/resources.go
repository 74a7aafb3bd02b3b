package runner

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// spareFiles is how many file descriptors zkbench needs besides those of the clients: bystanders, administration, results.
const spareFiles = 64

// CheckFileLimit returns an error if the scenario needs more connections than the process may open. On the embedded
// engine both ends of a connection are in this process.
func CheckFileLimit(s scenarios.Scenario, engine ensemble.Engine) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // a system without this limit has nothing to check
	}
	clients := slices.Max(s.Clients)
	files, why := clients+spareFiles, ""
	if engine == ensemble.Embedded {
		files, why = files+clients, " (both ends of a connection are in this process)"
	}
	if uint64(files) > limit.Cur {
		return fmt.Errorf("%d clients need %d file descriptors%s, but this process may open %d: raise the limit (ulimit -n %d) or ask for fewer clients",
			clients, files, why, limit.Cur, files)
	}
	return nil
}

// What a measurement keeps in memory, in bytes, as measured on Linux with lock-contention, watch-delivery and watch-memory
// at 10 to 4,000 clients. VmHWM of the process was 217 MB with 1,000 clients on the embedded server and 605 MB with 4,000,
// and 208 and 573 MB against a server in another process.
const (
	baseMemory     = 20<<20 + minGarbage
	clientMemory   = 60 << 10 // a session, its participant and its records
	embeddedMemory = 10 << 10 // the embedded server's part of a session
	// listingMemory is for each pair of clients: where all list all others, a fifth of the listings are in memory at once.
	listingMemory = 12
	// watchMemory is for each of a client's things to work on, such as a watch and its znode, both ends included.
	watchMemory        = 1500
	operationMemory    = 1300 // the events and latencies of an operation; variants that herd keep up to ten times as much
	notificationMemory = 300  // two copies, while the document is made
)

// operationsPerSecond is an assumption about a load of a duration: what a lock without a hold does on an idle machine.
func operationsPerSecond(engine ensemble.Engine) float64 {
	if engine == ensemble.Embedded {
		return 4000
	}
	return 600
}

// CheckMemory returns an error if a scenario clearly needs more memory than the machine has to give. What it needs is an
// estimate: it depends on the variants, on the servers' speed and on how much of a herd coalesces.
func CheckMemory(s scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine) error {
	return checkMemory(s, recipes, engine, availableMemory())
}

func checkMemory(s scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine, available uint64) error {
	need := memoryNeeded(s, recipes, engine)
	if need <= float64(available) {
		return nil
	}
	load := fmt.Sprintf("%d clients", slices.Max(s.Clients))
	if s.Mode == scenarios.Closed && s.Operations == 0 {
		load += " for " + time.Duration(s.Duration).String()
	}
	return fmt.Errorf("%s: %s need about %s of memory (an estimate), and this machine has %s available: ask for fewer clients, a shorter load or fewer operations",
		s.Name, load, gigabytes(need), gigabytes(float64(available)))
}

// memoryNeeded estimates the peak of the largest measurement of a scenario. Memory is returned after each of them.
func memoryNeeded(s scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine) float64 {
	n := float64(slices.Max(s.Clients))
	need := baseMemory + n*clientMemory + n*n*listingMemory + n*float64(s.Size)*watchMemory
	if engine == ensemble.Embedded {
		need += n * embeddedMemory
	}
	if s.Mode == scenarios.Closed && s.Operations == 0 {
		seconds := (time.Duration(s.Duration) + time.Duration(s.WarmUp)).Seconds()
		return need + seconds*operationsPerSecond(engine)*operationMemory
	}
	operations := n * float64(max(s.Operations, 1))
	return need + operations*(operationMemory+notificationsPerOperation(s, recipes)*notificationMemory)
}

// notificationsPerOperation returns what the costliest variant of a scenario declares for the largest number of clients.
// In a free load that is an upper bound that herds stay far below, and counts only for whole operations.
func notificationsPerOperation(s scenarios.Scenario, recipes []variants.Recipe) float64 {
	most := 0.0
	for _, recipe := range recipes {
		if recipe.Name != s.Recipe {
			continue
		}
		for _, v := range s.Selected(recipe) {
			f := v.Free.Notifications
			if s.Mode == scenarios.Lockstep {
				f = v.Lockstep.Notifications
			}
			if each := f.At(slices.Max(s.Clients)); !math.IsInf(each, 1) {
				most = max(most, each)
			}
		}
	}
	return most
}

func gigabytes(bytes float64) string { return fmt.Sprintf("%.1f GB", bytes/1e9) }
