package revocable

import (
	"time"

	"github.com/zkbench/zkbench/variants"
)

// patience is within how many graces a waiter has taken the lock away: up to one passes before it begins to wait for the
// second, and the third is for what it takes to do so.
const patience = 3

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation {
	r := judged(h)
	if len(h) > 0 {
		r.end(h[len(h)-1])
	}
	return r.violations
}

// checkPrefix leaves out who holds and who waits at the end: a holder may yet turn out to have been forced out.
func checkPrefix(h variants.History) []variants.Violation { return judged(h).violations }

// judged returns a referee that has seen a history. Times are taken just after an acquire returned and just before a
// release was sent, on one clock, so that an overlap in the history was one in reality.
func judged(h variants.History) *referee {
	r := &referee{holders: map[int]*holder{}, waiting: waiters{}}
	for _, e := range h {
		if e.Kind == acquired {
			r.grant(e) // before the client is taken from those who wait
		}
		r.waiting.observe(e)
		r.observe(e)
	}
	return r
}

// referee is what is known of a lock at some moment of its history.
type referee struct {
	terms      Terms
	holders    map[int]*holder
	waiting    waiters
	granted    bool
	lastToken  int64
	freed      time.Duration // before that, whoever is granted the lock next cannot have had it
	violations []variants.Violation
}

// holder is one who has not released yet, or just has.
type holder struct {
	since     time.Duration // when it said that it held
	earliest  time.Duration // when it can have begun to, as seen by the others
	forced    bool          // somebody else was granted the lock meanwhile
	forcedAt  time.Duration
	releasing bool
	asked     time.Duration // once it releases: since when it may have been wanted
	wanted    bool
}

func (r *referee) breach(e variants.Event, format string, args ...any) {
	r.violations = append(r.violations, e.Violation(format, args...))
}

// asked returns since when somebody who holds from some moment on has been wanted.
func (r *referee) asked(held time.Duration) (time.Duration, bool) {
	since, waiting := r.waiting.longest()
	return max(since, held), waiting
}

// grant looks at who else holds. Where force may be used, it may be used after the grace.
func (r *referee) grant(e variants.Event) {
	for other, h := range r.holders {
		asked, _ := r.asked(h.earliest)
		switch {
		case h.releasing:
		case !r.terms.Forced:
			r.breach(e, "client %d acquired the lock while client %d held it", e.Client, other)
		case e.At-asked < r.terms.Grace:
			r.breach(e, "client %d acquired the lock while client %d held it, which was asked %s before; the grace is %s", e.Client, other, e.At-asked, r.terms.Grace)
		case !h.forced:
			h.forced, h.forcedAt = true, e.At
			r.freed = asked + r.terms.Grace
		}
	}
	if r.granted && e.Value <= r.lastToken {
		r.breach(e, "client %d was granted fencing token %d after token %d", e.Client, e.Value, r.lastToken)
	}
	r.granted, r.lastToken = true, e.Value
	r.holders[e.Client] = &holder{since: e.At, earliest: r.earliest(e)}
}

// earliest returns when a client that says that it holds can have begun to: it says so after the reply has come, and those
// who wait may have seen it in the line before that, and have begun to count.
func (r *referee) earliest(e variants.Event) time.Duration {
	wanted, known := r.waiting[e.Client]
	if !known {
		return e.At
	}
	return max(wanted, r.freed)
}

func (r *referee) observe(e variants.Event) {
	h := r.holders[e.Client]
	switch e.Kind {
	case agreed, agreedForced:
		r.terms = Terms{Grace: time.Duration(e.Value), Forced: e.Kind == agreedForced}
	case releasing:
		if h != nil {
			r.overdue(e, e.Client, h)
			h.asked, h.wanted = r.asked(h.earliest)
			h.releasing = true
			r.freed = e.At
		}
	case ousted:
		if h != nil && !h.forced && h.wanted && e.At-h.asked < r.terms.Grace {
			r.breach(e, "client %d lost the lock to force %s after it was asked; the grace is %s", e.Client, e.At-h.asked, r.terms.Grace)
		}
	case released:
		delete(r.holders, e.Client)
	}
}

// overdue looks at whether a holder has held on for longer than it may.
func (r *referee) overdue(e variants.Event, client int, h *holder) {
	asked, waiting := r.asked(h.since)
	limit := r.terms.Grace
	if r.terms.Forced {
		limit *= patience
	}
	switch {
	case h.forced && e.At-h.forcedAt > r.terms.Grace:
		r.breach(e, "client %d held on for %s after the lock had been taken away; the grace is %s", client, e.At-h.forcedAt, r.terms.Grace)
	case !h.forced && waiting && e.At-asked > limit:
		r.breach(e, "client %d held on for %s after it was asked; the grace is %s", client, e.At-asked, r.terms.Grace)
	}
}

// end looks at who still holds and who still waits.
func (r *referee) end(e variants.Event) {
	held := false
	for client, h := range r.holders {
		if !h.releasing {
			held = true
			r.overdue(e, client, h)
		}
	}
	if _, waiting := r.waiting.longest(); waiting && !held {
		r.breach(e, "nobody holds the lock in the end, although %d clients wait", len(r.waiting))
	}
}
