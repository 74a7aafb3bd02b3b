package variants

// updatesKept is the smallest number of latest updates that a full Lag remembers.
const updatesKept = 1024

// Lag remembers which update of a value a client must have seen, by zxids. A client that lags behind further than the kept
// updates is not checked.
type Lag struct{ recent []Event }

// Acknowledged adds an update. Its number is the event's value. Updates are acknowledged in the order of their numbers.
func (l *Lag) Acknowledged(e Event) {
	if e.Shown == 0 {
		return
	}
	if len(l.recent) == 2*updatesKept {
		l.recent = append(l.recent[:0], l.recent[updatesKept:]...)
	}
	l.recent = append(l.recent, e)
}

// MustSee returns the number of the update that a client must see, or a later one, when it reads after an event; 0 for none.
func (l *Lag) MustSee(e Event) int64 {
	for i := len(l.recent) - 1; i >= 0; i-- {
		if l.recent[i].Shown <= e.Shown {
			return l.recent[i].Value
		}
	}
	return 0
}
