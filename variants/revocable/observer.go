package revocable

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
)

func newObserver(out variants.Findings) variants.Observer {
	words := exclusion.LockWords()
	r := &referee{Growth: exclusion.Growth{Words: words}, out: out, holders: map[int]*holder{},
		waiting: exclusion.Waiting{}, deaf: revocation.Deafness{}}
	r.fencing = exclusion.NewFencing(out, words, r)
	return variants.Observers{
		out.Timed(exclusion.Phases()),
		exclusion.Handoffs(out),
		revocation.Revocations(out, exclusion.Waiting{}),
		r,
		exclusion.Vacancy(out, words),
	}
}

// patience is the number of graces within which a waiter has taken the lock away: up to one passes before it begins to
// wait for the second, and the third leaves time for its requests.
const patience = 3

// referee reports force before the grace is over, and holders that hold on for longer than they may. It provides the
// rules by which two holders at a time are checked.
type referee struct {
	exclusion.Growth
	out      variants.Findings
	fencing  *exclusion.Fencing
	grace    time.Duration // within which a holder that was asked gives up
	forcible bool          // after it, the lock may be taken away
	holders  map[int]*holder
	waiting  exclusion.Waiting
	deaf     revocation.Deafness
	freed    time.Duration // the next client that is granted the lock cannot have had it before
	last     variants.Event
}

// holder is the state of a client that has not released yet, or whose release is under way.
type holder struct {
	since     time.Duration // when it recorded that it held
	earliest  time.Duration // when its hold can have begun, as seen by the others
	forced    bool          // another client was granted the lock meanwhile
	forcedAt  time.Duration
	pressed   time.Duration // since when a client wanted it that gives up after the grace, perhaps by force; zero for none
	deaf      bool          // a fault has made it ignore requests for some of the time
	releasing bool
	asked     time.Duration // once it releases: since when it may have been wanted
	wanted    bool
}

func (r *referee) Observe(e variants.Event) {
	r.deaf.Observe(e)
	r.fencing.Observe(e) // it looks for overlaps before the client is taken from the waiting ones
	if e.Kind == exclusion.Acquired {
		r.holders[e.Client] = &holder{since: e.At, earliest: r.earliest(e), deaf: r.deaf[e.Client]}
	}
	if wanted, waits := r.waiting[e.Client]; waits {
		r.press(e, wanted.At)
	}
	r.waiting.Observe(e)
	r.last = e
	switch e.Kind {
	case agreed, agreedForced:
		r.grace, r.forcible = time.Duration(e.Value), e.Kind == agreedForced
	case exclusion.Released, exclusion.Deposed, variants.Died, variants.Rejoined:
		delete(r.holders, e.Client)
	}
	if h := r.holders[e.Client]; h != nil {
		r.follow(e, h)
	}
}

// press records which holders a client that gives up has waited for.
func (r *referee) press(e variants.Event, wanted time.Duration) {
	if e.Kind != exclusion.Withdrew && e.Kind != variants.SessionLost && !e.EndsLife() {
		return
	}
	for _, h := range r.holders {
		if asked := max(wanted, h.earliest); e.At-asked >= r.grace {
			h.pressed = asked
		}
	}
}

func (r *referee) follow(e variants.Event, h *holder) {
	switch e.Kind {
	case variants.Deafened:
		h.deaf = true
	case exclusion.Releasing:
		r.overdue(e, e.Client, h)
		h.asked, h.wanted = r.asked(h.earliest)
		h.releasing = true
		r.freed = e.At
	case ousted:
		if !h.forced && h.wanted && e.At-h.asked < r.grace {
			r.out.Breach(e, "client %d lost the lock to force %s after it was asked; the grace is %s", e.Client, e.At-h.asked, r.grace)
		}
	}
}

// A client that holds until the end was not forced out later.
func (r *referee) Complete() {
	r.fencing.Complete()
	for _, client := range slices.Sorted(maps.Keys(r.holders)) {
		if h := r.holders[client]; !h.releasing {
			r.overdue(r.last, client, h)
		}
	}
}

// asked returns since when a holder has been wanted; false if it is not wanted.
func (r *referee) asked(held time.Duration) (time.Duration, bool) {
	since, waiting := r.waiting.Longest()
	return max(since.At, held), waiting
}

// Order allows the late grant: a client that learns so late of its grant that force may have been used meanwhile breaks
// nothing, because its token stops it.
func (r *referee) Order(granted variants.Event) (exceed int64, breach string) {
	exceed, breach = r.Growth.Order(granted)
	if r.late(granted) && r.Token(granted) < exceed {
		breach = ""
	}
	return exceed, breach
}

// late reports whether a client that is granted the lock has waited for so long that it may have been forced out again.
func (r *referee) late(granted variants.Event) bool {
	wanted, known := r.waiting[granted.Client]
	return r.forcible && known && granted.At-wanted.At >= r.grace
}

// Overlap allows force after the grace. The token then stops the old holder.
func (r *referee) Overlap(granted, held variants.Event) string {
	client, other, h := granted.Client, held.Client, r.holders[held.Client]
	if !r.forcible || h == nil {
		return fmt.Sprintf("client %d acquired the lock while client %d held it", client, other)
	}
	if h.forced && client != other || r.late(granted) && r.Token(granted) < r.Token(held) { // one of them holds nothing any more
		return ""
	}
	asked, _ := r.asked(h.earliest)
	if h.pressed > 0 {
		asked = min(asked, h.pressed)
	}
	if waited := granted.At - asked; waited < r.grace {
		return fmt.Sprintf("client %d acquired the lock while client %d held it, which was asked %s before; the grace is %s",
			client, other, waited, r.grace)
	}
	r.fencing.Fence(granted, other)
	if !h.forced {
		h.forced, h.forcedAt = true, granted.At
		r.freed = asked + r.grace
	}
	return ""
}

// earliest returns when a hold can have begun. The client records it after the reply has come. Waiters may have seen it
// in the line before that, and have begun to count.
func (r *referee) earliest(e variants.Event) time.Duration {
	wanted, known := r.waiting[e.Client]
	if !known {
		return e.At
	}
	return max(wanted.At, r.freed)
}

// overdue reports a holder that has held on for longer than it may. Where force is not used in time, a deaf holder blocks the others.
func (r *referee) overdue(e variants.Event, client int, h *holder) {
	asked, waiting := r.asked(h.since)
	limit := r.grace
	if r.forcible {
		limit *= patience
	}
	switch over := e.At - asked; {
	case h.forced && !h.deaf && e.At-h.forcedAt > r.grace:
		r.out.Breach(e, "client %d held on for %s after the lock had been taken away; the grace is %s", client, e.At-h.forcedAt, r.grace)
	case !h.forced && waiting && over > limit:
		revocation.Overdue(r.out, e, client, h.deaf, over, r.grace)
	}
}
