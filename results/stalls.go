package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stall is a stretch of the window in which no operation was completed although the load has no break there.
type Stall struct {
	Start  time.Duration `json:"start_ns"` // since the window's start
	Length time.Duration `json:"length_ns"`
	// SlowestReads has the slowest bystander read of each server that overlaps the stretch. It shows which server stopped, even
	// if zkbench cannot read that server's counters.
	SlowestReads []ServerRead `json:"slowest_reads"`
	// AfterFault means that a fault was in effect during the stretch, or up to a session timeout before it. Such a stall is what
	// the fault costs, and no disturbance.
	AfterFault bool `json:"after_fault,omitempty"`
}

// ServerRead is the longest service time of a bystander's reads on one server.
type ServerRead struct {
	Server  int           `json:"server"`
	Longest time.Duration `json:"longest_ns"`
}

// stalled returns a sentence about the longest stall and the number of the others; none without stalls. It leaves out those
// that follow a fault.
func (d *Document) stalled() []finding {
	stalls := slices.DeleteFunc(slices.Clone(d.Stalls), func(s Stall) bool { return s.AfterFault })
	if len(stalls) == 0 {
		return nil
	}
	longest := slices.MaxFunc(stalls, func(a, b Stall) int { return cmp.Compare(a.Length, b.Length) })
	text := fmt.Sprintf("no operation completed for %s, from %s into the window", show(longest.Length), show(longest.Start))
	if meanwhile := d.meanwhile(longest); meanwhile != "" {
		text += " (" + meanwhile + ")"
	}
	if others := len(stalls) - 1; others > 0 {
		total := Sum(Map(stalls, func(s Stall) time.Duration { return s.Length }))
		text += fmt.Sprintf(", nor in %d other %s: %s in all", others, Plural(others, "stall"), show(total))
	}
	return []finding{{text, longest.Length}}
}

// meanwhile names the servers on which reads were slow during a stall, the slowest first, or says that there are none.
func (d *Document) meanwhile(s Stall) string {
	if len(s.SlowestReads) == 0 {
		return ""
	}
	reads := slices.SortedStableFunc(slices.Values(s.SlowestReads), func(a, b ServerRead) int { return cmp.Compare(b.Longest, a.Longest) })
	slowest := reads[0].Longest
	if slowest < slowRead {
		return fmt.Sprintf("meanwhile no read took longer than %s on any server", show(slowest))
	}
	var slow []string
	for _, r := range reads {
		if 2*r.Longest >= slowest {
			slow = append(slow, fmt.Sprintf("%s on %s", show(r.Longest), d.serverName(r.Server)))
		}
	}
	return "meanwhile reads took up to " + strings.Join(slow, ", ")
}

// show formats a time for a sentence, with a sensible number of digits.
func show(t time.Duration) string {
	switch {
	case t >= time.Second:
		return t.Round(10 * time.Millisecond).String()
	case t >= 10*time.Millisecond:
		return t.Round(time.Millisecond).String()
	default:
		return t.Round(10 * time.Microsecond).String()
	}
}
