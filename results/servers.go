package results

import (
	"fmt"
	"math"
	"time"
)

// ServerReport holds what one server reports by its `mntr` command about the time between the snapshots at rest before and
// after a measurement. Values that a server does not export are absent. On external servers, the numbers include the load
// of other sessions.
type ServerReport struct {
	Server int    `json:"server"` // its id
	Name   string `json:"name"`
	Role   string `json:"role,omitempty"`   // at the end
	Unread string `json:"unread,omitempty"` // the reason if there are no numbers
	// Restarted means that the server began anew between the snapshots, and its numbers with it: its process restarted, or it lost
	// its quorum and joined the others again.
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

// longest returns the maximum, or zero if it is unknown.
func (t *Timing) longest() time.Duration {
	if t == nil || t.Max == nil {
		return 0
	}
	return *t.Max
}

// Beyond these marks, a server is named as a cause of delays. Such an event takes longer than a whole operation usually does,
// and is rare on a healthy server even if the machine is busy.
const (
	slowPause = 100 * time.Millisecond // pause of a JVM
	slowFsync = 100 * time.Millisecond // single fsync that also takes fsyncFactor times the mean
	slowDisk  = 50 * time.Millisecond  // mean fsync
	slowRead  = 100 * time.Millisecond // bystander's read that also takes readFactor times the slowest on each other server

	fsyncFactor = 10
	pauseFactor = 5 // ratio of a server's pauses to those of each other server
	readFactor  = 5
)

// External is the engine of servers that zkbench did not start.
const External = "external"

func (d *Document) serverName(id int) string {
	for _, s := range d.Servers {
		if s.Server == id {
			return s.Name
		}
	}
	return fmt.Sprintf("server %d", id)
}

// restarted says that a server began anew. Its numbers do not show whether its process did, too.
func (s ServerReport) restarted() string {
	return s.title() + " restarted or joined the others again during the measurement"
}

// away reports a server that restarted, or that did not answer after the measurement. The duration is unknown, and is taken
// to be longer than that of all other disturbances.
func (s ServerReport) away() []finding {
	const longest = time.Duration(math.MaxInt64)
	switch {
	case s.Restarted:
		return []finding{{s.restarted(), longest}}
	case s.Unread != "" && s.Role == "":
		return []finding{{fmt.Sprintf("%s did not answer after the measurement: %s", s.Name, s.Unread), longest}}
	default:
		return nil
	}
}

// stoodStill reports a server that stopped for a while, according to its JVM's pause monitor or to a bystander. It ignores
// pauses if heaps were measured, which pauses the JVMs. If the machine was short of CPU, it ignores slow reads on a server
// whose JVM did not pause.
func (d *Document) stoodStill(i int) []finding {
	s, pauses, read := d.Servers[i], d.Servers[i].JVMPauses, d.slowReads(i)
	longest := pauses.longest()
	text, took := s.title(), max(longest, read)
	switch {
	case longest >= slowPause && d.Heap == nil:
		text += " stood still: its JVM paused for up to " + show(longest)
		if pauses.Sum >= 2*longest {
			text += fmt.Sprintf(", %s in all", show(pauses.Sum))
		}
	case d.oftenPaused(i) && d.Heap == nil:
		text += fmt.Sprintf(" stood still: its JVM paused for %s in all", show(pauses.Sum))
		took = pauses.Sum
	case read > 0 && pauses == nil:
		text += " stood still or was cut off"
	case read > 0 && !d.shortOfCPU():
		text += " answered slowly"
	default:
		return nil
	}
	if read > 0 {
		text += fmt.Sprintf(", reads on it took up to %s, on other servers up to %s", show(read), show(d.slowestOfOthers(i)))
	}
	return []finding{{text, took}}
}

// oftenPaused reports whether a JVM paused for far longer in total than those of the other servers. This finds pauses that
// are shorter than an earlier one, such as at the server's start, so that their maximum is unknown.
func (d *Document) oftenPaused(i int) bool {
	pauses := d.Servers[i].JVMPauses
	if pauses == nil || pauses.MaxSinceStart < slowPause || pauses.Sum < 2*slowPause {
		return false
	}
	for j, s := range d.Servers {
		if j != i && s.JVMPauses != nil && pauses.Sum < pauseFactor*s.JVMPauses.Sum {
			return false
		}
	}
	return len(d.Servers) > 1
}

// slowReads returns the slowest read on a server if it is far slower than on all other servers, else zero. A load that
// slows down reads does so on all servers.
func (d *Document) slowReads(i int) time.Duration {
	slowest := d.Servers[i].SlowestRead
	others := d.slowestOfOthers(i)
	if slowest == nil || others == 0 || *slowest < slowRead || *slowest < readFactor*others {
		return 0
	}
	return *slowest
}

// slowestOfOthers returns the slowest read on all servers but one; zero without reads.
func (d *Document) slowestOfOthers(i int) time.Duration {
	var others time.Duration
	for j, s := range d.Servers {
		if j != i && s.SlowestRead != nil {
			others = max(others, *s.SlowestRead)
		}
	}
	return others
}

// diskOf reports a disk that stalled or was slow on average. It does not blame the disk for fsyncs during pauses of the JVM.
func (d *Document) diskOf(s ServerReport) []finding {
	if s.Fsync == nil {
		return nil
	}
	longest, paused := s.Fsync.longest(), s.JVMPauses.longest()
	mean, unpaused := s.Fsync.Mean(), s.Fsync.Mean()
	if paused >= slowPause {
		unpaused = Timing{Count: s.Fsync.Count, Sum: max(s.Fsync.Sum-s.JVMPauses.Sum, 0)}.Mean()
	}
	shared := ""
	if d.Environment.Engine == External {
		shared = ", other sessions' writes included"
	}
	switch {
	case unpaused >= slowDisk:
		text := fmt.Sprintf("%s's disk is slow: fsync took %s on average", s.Name, show(mean))
		if longest > 0 {
			text += ", up to " + show(longest)
		}
		return []finding{{text + shared, max(longest, mean)}}
	case longest >= slowFsync && longest >= fsyncFactor*mean && longest >= 2*paused:
		return []finding{{fmt.Sprintf("%s's disk stalled: fsync up to %s (%s on average%s)", s.Name, show(longest), show(mean), shared), longest}}
	default:
		return nil
	}
}

// title returns the server's name and its role, because a stalled leader delays all writes, and a stalled follower few.
func (s ServerReport) title() string {
	if s.Role == "" || s.Role == "standalone" {
		return s.Name
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.Role)
}
