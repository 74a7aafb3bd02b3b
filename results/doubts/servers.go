package doubts

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/results"
)

func longest(t *results.Timing) time.Duration {
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
	pauseFactor = 5 // ratio of a server's pauses to the pauses of each other server
	readFactor  = 5
)

// restarted says that a server's counters began anew. The server's numbers do not show whether its process restarted, too.
func restarted(s results.ServerReport) string {
	return title(s) + " restarted or joined the others again during the measurement"
}

// away reports a server that restarted, or did not answer after the measurement. It ranks as longer than all other disturbances.
func away(s results.ServerReport) []Finding {
	const longest = time.Duration(math.MaxInt64)
	switch {
	case s.Restarted:
		return []Finding{{restarted(s), longest}}
	case s.Unread != "" && s.Role == "":
		return []Finding{{fmt.Sprintf("%s did not answer after the measurement: %s", s.Name, s.Unread), longest}}
	default:
		return nil
	}
}

// stoodStill reports a server that stopped for a while, according to its JVM's pause monitor or to a bystander. It ignores pauses if heaps
// were measured, which causes pauses, and, if the machine was short of CPU, slow reads on a server whose JVM did not pause.
func stoodStill(d *results.Document, i int) []Finding {
	s, pauses := d.Servers[i], d.Servers[i].JVMPauses
	read, others := slowReads(d, i)
	longest := longest(pauses)
	text, took := title(s), max(longest, read)
	switch {
	case longest >= slowPause && d.Heap == nil:
		text += " stood still: its JVM paused for up to " + show(longest)
		if pauses.Sum >= 2*longest {
			text += fmt.Sprintf(", %s in all", show(pauses.Sum))
		}
	case oftenPaused(d, i) && d.Heap == nil:
		text += fmt.Sprintf(" stood still: its JVM paused for %s in all", show(pauses.Sum))
		took = pauses.Sum
	case read > 0 && pauses == nil:
		text += " stood still or was cut off"
	case read > 0 && !shortOfCPU(d):
		text += " answered slowly"
	default:
		return nil
	}
	if read > 0 {
		text += fmt.Sprintf(", reads on it took up to %s, on other servers up to %s", show(read), show(others))
	}
	return []Finding{{text, took}}
}

// oftenPaused reports whether a JVM paused for far longer in total than the JVMs of the other servers. This finds pauses that
// are shorter than one before the measurement, such as at the server's start, which hides their maximum.
func oftenPaused(d *results.Document, i int) bool {
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

// slowReads returns the slowest read on a server if it is far slower than on all other servers, else zero, and the slowest
// read on the others. A load that slows down reads does so on all servers.
func slowReads(d *results.Document, i int) (slowest, others time.Duration) {
	for j, s := range d.Servers {
		if j != i && s.SlowestRead != nil {
			others = max(others, *s.SlowestRead)
		}
	}
	if own := d.Servers[i].SlowestRead; own != nil && others > 0 && *own >= max(slowRead, readFactor*others) {
		slowest = *own
	}
	return slowest, others
}

// diskOf reports a disk that stalled or was slow on average. It ignores fsyncs during pauses of the JVM.
func diskOf(d *results.Document, s results.ServerReport) []Finding {
	if s.Fsync == nil {
		return nil
	}
	longest, paused := longest(s.Fsync), longest(s.JVMPauses)
	mean, unpaused := s.Fsync.Mean(), s.Fsync.Mean()
	if paused >= slowPause {
		unpaused = results.Timing{Count: s.Fsync.Count, Sum: max(s.Fsync.Sum-s.JVMPauses.Sum, 0)}.Mean()
	}
	shared := ""
	if d.Environment.Engine == results.External {
		shared = ", other sessions' writes included"
	}
	switch {
	case unpaused >= slowDisk:
		text := fmt.Sprintf("%s's disk is slow: fsync took %s on average", s.Name, show(mean))
		if longest > 0 {
			text += ", up to " + show(longest)
		}
		return []Finding{{text + shared, max(longest, mean)}}
	case longest >= slowFsync && longest >= fsyncFactor*mean && longest >= 2*paused:
		return []Finding{{fmt.Sprintf("%s's disk stalled: fsync up to %s (%s on average%s)", s.Name, show(longest), show(mean), shared), longest}}
	default:
		return nil
	}
}

// title returns the server's name and its role, because a stalled leader delays all writes, and a stalled follower few.
func title(s results.ServerReport) string {
	if s.Role == "" || s.Role == "standalone" {
		return s.Name
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.Role)
}
