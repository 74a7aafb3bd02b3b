package results

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// FaultKind names the failure that a fault causes. Failures of servers are the values of ensemble.ServerFault.
type FaultKind string

// The kinds of faults of clients.
const (
	ExpireFault FaultKind = "expire" // a client's session ends, while the client is alive
	CutFault    FaultKind = "cut"    // a client's connection ends, and the client connects again
	StopFault   FaultKind = "stop"   // a client stops dead: its session runs out, and then it joins again
	DeafFault   FaultKind = "deaf"   // a client ignores requests of other clients, such as to give up a lock
)

// OfServer reports whether the fault hits a server. Other faults hit a client.
func (k FaultKind) OfServer() bool {
	return !slices.Contains([]FaultKind{ExpireFault, CutFault, StopFault, DeafFault}, k)
}

// FaultLoad is one line of a schedule of faults.
type FaultLoad struct {
	Kind  FaultKind     `json:"kind"`
	Whom  string        `json:"whom"`
	At    time.Duration `json:"at_ns,omitempty"`    // of the first occurrence, since the beginning of the measured window; 0 means after Every
	Every time.Duration `json:"every_ns,omitempty"` // from one occurrence to the next; 0 means that there is one
	For   time.Duration `json:"for_ns,omitempty"`   // until it is undone; 0 means at the end of the measurement

	// For a cut and a stop: the operation, such as "create", at which the connection ends: before the client's next request of
	// that kind, or after it and before its reply. Both are empty for a fault at once.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// AtOperation reports whether the fault waits for an operation of the client that it hits.
func (f FaultLoad) AtOperation() bool { return f.Before != "" || f.After != "" }

// Client returns the number of the only client that a fault hits, counted from 0, and whether the fault names one.
func (f FaultLoad) Client() (number int, ok bool) {
	digits, ok := strings.CutPrefix(f.Whom, "client ")
	if !ok || f.Kind.OfServer() {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}

// String returns the fault in the notation of the flag --fault.
func (f FaultLoad) String() string {
	parts := []string{string(f.Kind) + ": " + f.Whom}
	for _, part := range []struct{ name, value string }{
		{"before", f.Before}, {"after", f.After}, {"at", ShortDuration(f.At)}, {"every", ShortDuration(f.Every)}, {"for", ShortDuration(f.For)},
	} {
		if part.value != "" {
			parts = append(parts, part.name+": "+part.value)
		}
	}
	return strings.Join(parts, ", ")
}

// ShortDuration returns a duration in text, such as 1m30s or 2m; an empty text for 0.
func ShortDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	if d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// FaultsText returns a schedule of faults, separated by semicolons; empty without any.
func FaultsText(schedule []FaultLoad) string {
	return strings.Join(list.Map(schedule, FaultLoad.String), "; ")
}

// Faulty reports whether the scenario asks for faults.
func (s Scenario) Faulty() bool { return len(s.Faults) > 0 }
