package results

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// ServerReport is what one server says of itself, by its `mntr` command, over the span from the rest before a measurement
// to the rest after it. What a server does not export is absent, not zero. On servers that zkbench has not started, the
// numbers include what other sessions caused.
type ServerReport struct {
	Server int    `json:"server"` // its id
	Name   string `json:"name"`
	Role   string `json:"role,omitempty"`   // at the end
	Unread string `json:"unread,omitempty"` // why there are no numbers
	// Restarted says that the server began anew meanwhile: its numbers are those since then.
	Restarted bool `json:"restarted,omitempty"`

	Fsync     *Timing `json:"fsync,omitempty"`      // of the transaction log
	JVMPauses *Timing `json:"jvm_pauses,omitempty"` // how much too long each short sleep of the server's pause monitor took
	Reads     *Timing `json:"read_latency,omitempty"`
	Updates   *Timing `json:"update_latency,omitempty"` // of this server's clients
	// The three begin when the leader makes a transaction of a request.
	Proposals  *Timing `json:"proposal_latency,omitempty"`   // until this follower has it
	QuorumAcks *Timing `json:"quorum_ack_latency,omitempty"` // until this leader has a quorum for it
	Commits    *Timing `json:"commit_latency,omitempty"`     // until this follower knows that it is committed
	// Outstanding requests when the measurement was over.
	Outstanding *int64 `json:"outstanding_requests,omitempty"`

	// SlowestRead is the longest time that a bystander's read took in the window, from when it was sent.
	SlowestRead *time.Duration `json:"slowest_read_ns,omitempty"`
}

// Timing sums up the times of one kind of event. Servers count whole milliseconds.
type Timing struct {
	Count int64         `json:"count"`
	Sum   time.Duration `json:"sum_ns"`
	// Max is absent where it is unknown: a server keeps the maximum since its start, which says something about this span
	// only if it has grown meanwhile. MaxSinceStart bounds it in any case.
	Max           *time.Duration `json:"max_ns,omitempty"`
	MaxSinceStart time.Duration  `json:"max_since_start_ns"`
}

// Mean is zero without any event.
func (t Timing) Mean() time.Duration { return t.Sum / time.Duration(max(t.Count, 1)) }

// longest returns the maximum, or zero where it is unknown.
func (t *Timing) longest() time.Duration {
	if t == nil || t.Max == nil {
		return 0
	}
	return *t.Max
}

// The marks beyond which a server is named as a cause. What takes this long delays every operation that meets it by more
// than an ordinary operation takes in all, and rarely happens to a healthy server even on a busy machine.
const (
	slowPause = 100 * time.Millisecond // of a JVM
	slowFsync = 100 * time.Millisecond // a single one, if it is also fsyncFactor times the mean
	slowDisk  = 50 * time.Millisecond  // the mean fsync
	slowRead  = 100 * time.Millisecond // of a bystander, if it is also readFactor times the slowest on each other server

	fsyncFactor = 10
	pauseFactor = 5 // times the pauses of each other server, in all
	readFactor  = 5
)

// External is the engine of servers that zkbench has not started.
const External = "external"

// observeServers adds to the servers' reports how long bystanders waited for each.
func (d *Document) observeServers(raw Raw) {
	if d.Servers == nil {
		d.Servers = []ServerReport{} // none, which is not the same as unknown
	}
	reads := slices.DeleteFunc(slices.Clone(raw.Bystander), func(r BystanderRead) bool { return !raw.Window.Contains(r.At) })
	for _, slowest := range slowestReads(reads, Stretch{raw.Window.Start, max(raw.Window.End, latest(reads))}) {
		for i := range d.Servers {
			if d.Servers[i].Server == slowest.Server {
				d.Servers[i].SlowestRead = &slowest.Longest
			}
		}
	}
}

// latest returns when the last of the reads was back.
func latest(reads []BystanderRead) time.Duration {
	var at time.Duration
	for _, r := range reads {
		at = max(at, r.At+r.Response)
	}
	return at
}

func (d *Document) serverName(id int) string {
	for _, s := range d.Servers {
		if s.Server == id {
			return s.Name
		}
	}
	return fmt.Sprintf("server %d", id)
}

// away reports a server that restarted, or did not answer at the end, even to say its role. It comes before all others:
// how long the server was away is unknown.
func (s ServerReport) away() []finding {
	const forLong = time.Duration(math.MaxInt64)
	switch {
	case s.Restarted:
		return []finding{{s.title() + " restarted during the measurement", forLong}}
	case s.Unread != "" && s.Role == "":
		return []finding{{fmt.Sprintf("%s did not answer after the measurement: %s", s.Name, s.Unread), forLong}}
	default:
		return nil
	}
}

// stoodStill reports a server that did nothing for a while, by the account of its own JVM or of a bystander. JVMs also
// pause while heaps are measured, because zkbench makes them. Where CPUs are short, a JVM that did not pause is not to
// blame for slow reads.
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

// oftenPaused reports whether a JVM paused for far longer in all than those of the other servers. It shows pauses that are
// shorter than one before the measurement, such as at the server's start.
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

// slowReads returns the slowest read on a server if it is far slower than on all others, else zero. A load that slows
// down reads does so on all servers.
func (d *Document) slowReads(i int) time.Duration {
	slowest := d.Servers[i].SlowestRead
	others := d.slowestOfOthers(i)
	if slowest == nil || others == 0 || *slowest < slowRead || *slowest < readFactor*others {
		return 0
	}
	return *slowest
}

// slowestOfOthers returns the slowest read on all servers but one; zero without any.
func (d *Document) slowestOfOthers(i int) time.Duration {
	var others time.Duration
	for j, s := range d.Servers {
		if j != i && s.SlowestRead != nil {
			others = max(others, *s.SlowestRead)
		}
	}
	return others
}

// diskOf reports a disk that was slow, once or all the time. An fsync that met a pause of the JVM is not the disk's fault.
func (d *Document) diskOf(s ServerReport) []finding {
	if s.Fsync == nil {
		return nil
	}
	longest, paused := s.Fsync.longest(), s.JVMPauses.longest()
	mean, usual := s.Fsync.Mean(), s.Fsync.Mean()
	if paused >= slowPause {
		usual = Timing{Count: s.Fsync.Count, Sum: max(s.Fsync.Sum-s.JVMPauses.Sum, 0)}.Mean()
	}
	shared := ""
	if d.Environment.Engine == External {
		shared = ", other sessions' writes included"
	}
	switch {
	case usual >= slowDisk:
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

// title is the server's name with its role, as a stalled leader holds up all writes and a stalled follower few.
func (s ServerReport) title() string {
	if s.Role == "" || s.Role == "standalone" {
		return s.Name
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.Role)
}
