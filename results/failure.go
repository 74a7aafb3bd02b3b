package results

import (
	"strings"
	"time"
)

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
