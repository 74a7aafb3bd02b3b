package results

import "time"

// ServerReport holds a server's own numbers, from its `mntr` command, for the time between the snapshots at rest before and after a
// measurement. Values that a server does not export are absent. On external servers, the numbers include the load of other sessions.
type ServerReport struct {
	Server int    `json:"server"` // its id
	Name   string `json:"name"`
	Role   string `json:"role,omitempty"`   // at the end
	Unread string `json:"unread,omitempty"` // the reason if there are no numbers
	// Restarted means that the server's numbers began anew between the snapshots: its process restarted, or it lost its quorum and
	// joined the others again.
	Restarted bool `json:"restarted,omitempty"`

	Fsync     *Timing `json:"fsync,omitempty"`      // of the transaction log
	JVMPauses *Timing `json:"jvm_pauses,omitempty"` // by how much each short sleep of the JVM pause monitor was too long
	Reads     *Timing `json:"read_latency,omitempty"`
	Updates   *Timing `json:"update_latency,omitempty"` // of this server's clients
	// The next three begin when the leader turns a request into a transaction.
	Proposals   *Timing `json:"proposal_latency,omitempty"`     // until this follower receives it
	QuorumAcks  *Timing `json:"quorum_ack_latency,omitempty"`   // until this leader has a quorum for it
	Commits     *Timing `json:"commit_latency,omitempty"`       // until this follower learns that it is committed
	Outstanding *int64  `json:"outstanding_requests,omitempty"` // requests after the measurement

	// SlowestRead is the longest service time of a bystander's read in the window.
	SlowestRead *time.Duration `json:"slowest_read_ns,omitempty"`
}

// Timing summarizes the durations of one kind of event. Servers count whole milliseconds.
type Timing struct {
	Count int64         `json:"count"`
	Sum   time.Duration `json:"sum_ns"`
	// Max is absent if it is unknown. A server keeps the maximum since its start, which is the maximum of the measurement only
	// if it has grown meanwhile. MaxSinceStart is always an upper bound.
	Max           *time.Duration `json:"max_ns,omitempty"`
	MaxSinceStart time.Duration  `json:"max_since_start_ns"`
}

// Mean returns zero if there are no events.
func (t Timing) Mean() time.Duration { return t.Sum / time.Duration(max(t.Count, 1)) }

// Stall is a stretch of the window in which no operation was completed although the load has no break there.
type Stall struct {
	Start  time.Duration `json:"start_ns"` // since the window's start
	Length time.Duration `json:"length_ns"`
	// SlowestReads has the slowest bystander read of each server that overlaps the stretch. It shows which server stopped, even
	// if zkbench cannot read that server's counters.
	SlowestReads []ServerRead `json:"slowest_reads"`
	// AfterFault means that a fault was in effect then, or up to a session timeout before. Such a stall is a cost of the fault.
	AfterFault bool `json:"after_fault,omitempty"`
}

// ServerRead is the longest service time of a bystander's reads on one server.
type ServerRead struct {
	Server  int           `json:"server"`
	Longest time.Duration `json:"longest_ns"`
}
