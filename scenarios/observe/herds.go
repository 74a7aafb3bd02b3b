package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/recorder"
)

const (
	// herdSilence is the silence after which a herd is complete. Later notifications are counted as another herd.
	herdSilence = 2 * time.Second
	// causeKept is how long a transaction is kept for the herd that it may cause.
	causeKept = 3 * herdSilence
	// mostCauses bounds how many transactions are kept.
	mostCauses = 1 << 16

	never = time.Duration(math.MaxInt64)
)

type cause struct {
	at      time.Duration
	session int64
	op      wire.Opcode
	path    string
	parts   []wire.Part // of a multi
	more    bool        // it has further parts
}

// of returns the operation that fires a watch on a path. For a multi, it is the part that changes the znode or one of its
// children.
func (c cause) of(path string) (op wire.Opcode, changed string) {
	for _, p := range c.parts {
		if p.Op != wire.OpCheck && (p.Path == path || parentOf(p.Path) == path) {
			return p.Op, p.Path
		}
	}
	if c.more {
		return c.op, ""
	}
	return c.op, c.path
}

// describe returns the request as the cause of a notification of a path, such as "delete /q/lock in a multi of 2".
func (c cause) describe(path string) string {
	op, changed := c.of(path)
	text := op.String()
	if changed != "" {
		text += " " + changed
	}
	if c.more {
		return text + fmt.Sprintf(" in a multi of at least %d", len(c.parts))
	}
	if len(c.parts) > 0 {
		text += fmt.Sprintf(" in a multi of %d", len(c.parts))
	}
	return text
}

// herd has the notifications of one transaction, and the next requests of their receivers.
type herd struct {
	Herd              // without its cause
	zxid        int64 // 0 if it is not known
	typ         wire.EventType
	first, last time.Duration
	window      *window
	members     map[int64]bool // the sessions; nil once it is complete
}

func (h *herd) report(c *cause) Herd {
	out := h.Herd
	out.Event, out.Spread, out.Effects = h.typ.String(), h.last-h.first, slices.Clone(h.Effects)
	if h.zxid > 0 {
		out.Zxid = fmt.Sprintf("%#x", h.zxid)
	}
	if c != nil {
		out.Cause, out.By = c.describe(h.Path), sessionName(c.session)
	}
	slices.SortFunc(out.Effects, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

type openHerds struct {
	named bool // every notification that is not sent again after a reconnect names its transaction
	open  map[recorder.HerdKey]*herd

	detached int64 // guessed herds so far that a later notification of their path did not belong to
}

// add puts a notification into its herd. It returns nil for a notification that a server has sent again after a reconnect.
func (hs *openHerds) add(now time.Duration, s *session, n wire.Notification) *herd {
	isGuess := n.Zxid <= 0
	if isGuess && hs.named {
		return nil
	}
	key := recorder.HerdKeyOf(n.Zxid, n.Path, isGuess)
	h := hs.open[key]
	if h != nil && isGuess && (now-h.last > recorder.GuessGap || h.members[s.id]) {
		hs.detached++ // the notification does not belong to this herd, which gets a key of its own
		hs.open[recorder.HerdKey{Path: key.Path, Zxid: -hs.detached}] = h
		h = nil
	}
	if h == nil {
		h = &herd{Herd: Herd{Path: n.Path, Effects: []Effect{}}, zxid: max(n.Zxid, 0), typ: n.Type, first: now, members: map[int64]bool{}}
		hs.open[key] = h
	}
	h.Notifications++
	h.last = now
	h.members[s.id] = true
	h.Sessions = len(h.members)
	return h
}

func (hs *openHerds) oldest() int64 {
	first := int64(math.MaxInt64)
	for _, h := range hs.open {
		if h.zxid > 0 {
			first = min(first, h.zxid)
		}
	}
	return first
}

// closeUntil completes the herds whose last notification arrived by a time.
func (hs *openHerds) closeUntil(until time.Duration, closed func(*herd)) {
	for key, h := range hs.open {
		if h.last <= until {
			delete(hs.open, key)
			h.members = nil
			closed(h)
		}
	}
}
