package results

import (
	"fmt"
	"reflect"
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
	return notation(f.Kind, f.Whom, "before", f.Before, "after", f.After,
		"at", ShortDuration(f.At), "every", ShortDuration(f.Every), "for", ShortDuration(f.For))
}

// notation returns fields, given as names and values, in the notation of flags. It leaves out those that are not set.
func notation(namesAndValues ...any) string {
	var parts []string
	for field := range slices.Chunk(namesAndValues, 2) {
		if !reflect.ValueOf(field[1]).IsZero() {
			parts = append(parts, fmt.Sprintf("%s: %v", field...))
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

// MaxExcerpt is the largest length of the excerpt around the first fault.
const MaxExcerpt = 10 * time.Second

// Failure describes the faults of a measurement and their cost. Faults outside of the window are left out.
type Failure struct {
	Faults     []Fault `json:"faults"` // in order of time, the first recorder.MaxFaults
	MoreFaults int64   `json:"more_faults,omitempty"`
	Missed     int64   `json:"missed"` // times at which a fault was due and met no victim, such as no holder
	// Recovery has the time from each fault to the next operation that a client other than a victim completes, or any client if
	// all are victims. The operation's last phase must begin after the fault, except where that phase waits for other clients
	// and not every client is a victim. A recovery may end after the window.
	Recovery Histogram `json:"recovery"`
	// Unrecovered is the number of faults without such an operation before the load ended, and LongestUnrecovered the time from
	// the first of these faults to the end of the load.
	Unrecovered        int64         `json:"unrecovered"`
	LongestUnrecovered time.Duration `json:"longest_unrecovered_ns"`
	Unavailable        time.Duration `json:"unavailable_ns"`    // longest stretch of the window in which no operation was completed
	FailedOperations   int64         `json:"failed_operations"` // steps of clients that ended in an error, in the window
	// PeakRequests is the largest number of requests that the clients' sessions sent in any one second of the window, and
	// PeakBytesIn the largest number of bytes of replies and notifications that they received. Housekeeping, such as watches that
	// are set again, is left out. The traffic is known every 100 ms and counts as even in between, so that both are exact up to
	// the traffic of 100 ms. In a window of up to a second, they are the totals of the window.
	PeakRequests int64            `json:"peak_requests"`
	PeakBytesIn  int64            `json:"peak_bytes_in"`
	Losses       map[string]int64 `json:"losses"`           // of the whole load; zero for losses that did not happen
	Rejoins      int64            `json:"rejoins"`          // times in the window that a client joined again after its session was lost
	Around       *FaultExcerpt    `json:"around,omitempty"` // of the first fault; nil without faults
}

// Fault is one thing that went wrong on purpose.
type Fault struct {
	At      time.Duration `json:"at_ns"`     // since the measurement's epoch
	Length  time.Duration `json:"length_ns"` // until it was undone; 0 if it has no duration, or was never undone
	Kind    string        `json:"kind"`      // such as "kill"
	Target  string        `json:"target"`    // such as "zoo2" or "holder"
	Victims []int         `json:"victims"`   // clients; see Failure.Recovery
	// Recovery is a sample of Failure.Recovery. It is -1 for a fault that is counted in Failure.Unrecovered.
	Recovery time.Duration `json:"recovery_ns"`
}

// Recovered reports whether another client completed an operation after the fault.
func (f Fault) Recovered() bool { return f.Recovery >= 0 }

// Label names a fault in figures: "kill zoo2".
func (f Fault) Label() string { return strings.TrimSpace(f.Kind + " " + f.Target) }

// FaultExcerpt has the events around the first fault, for the failure plot: from up to a second before the fault to a second
// after its recovery, within the window, and at most MaxExcerpt long.
type FaultExcerpt struct {
	Timeline   Timeline      `json:"timeline"`
	Operations []TimelineDot `json:"operations"` // the ends of completed operations, since the timeline's start
}
