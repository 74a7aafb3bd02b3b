package variants

import "time"

// LongestLag is longer than a server goes on to serve reads without the leader's transactions, and longer than a session
// lives without its server. By default, the leader gives up a follower that is 10 s behind, and that follower then closes
// its connections.
const LongestLag = 20 * time.Second

// Lag remembers which update of a value no client can have missed, because it was acknowledged more than LongestLag ago.
// Its memory is bounded: of the updates within a tenth of a second it remembers the first.
type Lag struct {
	recent []Event
	old    int64
}

// Acknowledged takes an update whose number is the event's value. Updates are acknowledged in the order of their numbers.
func (l *Lag) Acknowledged(e Event) {
	l.At(e.At)
	if n := len(l.recent); n == 0 || e.At-l.recent[n-1].At > time.Second/10 {
		l.recent = append(l.recent, e)
	}
}

// At returns an update that every read which begins at this time or later must see, zero for none. The time never goes
// back.
func (l *Lag) At(now time.Duration) int64 {
	for len(l.recent) > 0 && l.recent[0].At < now-LongestLag {
		l.old, l.recent = l.recent[0].Value, l.recent[1:]
	}
	return l.old
}
