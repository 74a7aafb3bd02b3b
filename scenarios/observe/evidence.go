package observe

import "slices"

// role is something that a session does to a znode. In the evidence about a directory, the znodes are those in it.
type role int

const (
	creates role = iota
	sequential
	ephemeral
	persistent
	joins   // creates an ephemeral znode beside one that exists
	claims  // see isClaim
	refused // to create it, because it exists
	lists   // the directory, without a watch
	waits   // watches the list while its own ephemeral znode is in it
	relists // watches the list again although its znode was the first at the last look
	follows // watches the list otherwise
	reads   // without a watch
	watchesOwn
	watchesOther
	watchesLater // with a higher number than that of its own
	readersWait  // the znode of a reader, as a reader
	awaits       // watches one that is not there, and whose name has no number
	writesOwn
	writesOther
	deletesOwn
	deletesFirst // its own, when no other znode has a lower number
	deletesLast  // its own ephemeral one, when no other exists
	deletesOther // also one of a session that is not known
	consumes     // deletes another's znode that it has claimed
	misses       // deletes a znode that is gone
	leaves       // ends its session while its ephemeral znode exists
	roles
)

// mostWorkers bounds how many sessions are known by their roles: the first ones.
const mostWorkers = 1 << 10

// ended marks sessions that are over among their roles.
const ended = 1 << 31

// evidence counts what sessions do to a znode, or in a directory.
type evidence struct {
	n          [roles]int64
	sessions   map[int64]uint32 // a bit for each role
	live, most int              // of the sessions, those that are not over, and the most so far
	wakes      wakes            // by watches on one znode
}

// wakes sums up herds.
type wakes struct{ herds, notifications, most int }

func (w *wakes) add(herd int) { w.plus(wakes{1, herd, herd}) }

func (w *wakes) plus(o wakes) {
	*w = wakes{w.herds + o.herds, w.notifications + o.notifications, max(w.most, o.most)}
}

// several reports whether a change wakes at least two sessions on average.
func (w wakes) several() bool { return w.herds > 0 && w.notifications >= 2*w.herds }

// add counts an operation, which may have several roles.
func (e *evidence) add(session int64, does ...role) {
	var mask uint32
	for _, r := range does {
		e.n[r]++
		mask |= 1 << r
	}
	e.know(session, mask)
}

func (e *evidence) know(session int64, roles uint32) {
	known, ok := e.sessions[session]
	switch {
	case ok:
	case len(e.sessions) == mostWorkers:
		return
	case roles&ended == 0:
		e.live++
	}
	e.most = max(e.most, e.live)
	e.sessions[session] = known | roles
}

func (e *evidence) over(session int64) {
	if known, ok := e.sessions[session]; ok && known&ended == 0 {
		e.live--
		e.sessions[session] |= ended
	}
}

func (e *evidence) plus(other evidence) {
	for r, n := range other.n {
		e.n[r] += n
	}
	for session, roles := range other.sessions {
		e.know(session, roles)
	}
	e.most = max(e.most, other.most)
	e.wakes.plus(other.wakes)
}

// who returns the number of sessions that have all of some roles.
func (e *evidence) who(all ...role) (n int) {
	for _, known := range e.sessions {
		if !slices.ContainsFunc(all, func(r role) bool { return known&(1<<r) == 0 }) {
			n++
		}
	}
	return n
}

// often reports whether each role has been seen as often as a rule needs.
func (e *evidence) often(all ...role) bool {
	return !slices.ContainsFunc(all, func(r role) bool { return e.n[r] < leastEvidence })
}
