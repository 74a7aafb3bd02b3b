package variants

// updatesKept is how many of the latest updates a Lag remembers at least.
const updatesKept = 1024

// Lag remembers which update of a value a client must have seen, by zxids. A client that lags behind by more updates
// than are kept is not checked.
type Lag struct{ recent []Event }

// Acknowledged takes an update whose number is the event's value. Updates are acknowledged in the order of their numbers.
func (l *Lag) Acknowledged(e Event) {
	if e.Shown == 0 {
		return
	}
	if len(l.recent) == 2*updatesKept {
		l.recent = append(l.recent[:0], l.recent[updatesKept:]...)
	}
	l.recent = append(l.recent, e)
}

// MustSee returns the update that a client must see, or a later one, which next reads after an event; zero for none.
func (l *Lag) MustSee(e Event) int64 {
	for i := len(l.recent) - 1; i >= 0; i-- {
		if l.recent[i].Shown <= e.Shown {
			return l.recent[i].Value
		}
	}
	return 0
}
