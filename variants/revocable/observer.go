package revocable

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/holding"
)

// newObserver returns an observer of the lock's phases and promise.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		holding.Spans(out, holding.PhaseAcquire, holding.PhaseHold, holding.PhaseRelease),
		holding.Handoffs(out),
		revocations(out),
		&referee{out: out, holders: map[int]*holder{}, waiting: holding.Waiting{}},
		holding.Growth(out, holding.LockWords()),
		holding.Vacancy(out, holding.LockWords()),
	}
}

// revocations are the times from when a client wants a lock that is held until its holder heeds that.
func revocations(out variants.Findings) variants.Observer {
	waiting, since := holding.Waiting{}, map[int]time.Duration{}
	return variants.ObserverFunc(func(e variants.Event) {
		waiting.Observe(e)
		switch e.Kind {
		case holding.Acquired:
			since[e.Client] = e.At
		case holding.Heeded:
			if asked, ok := waiting.Longest(); ok {
				out.Span(variants.Span{Phase: phaseRevoke, Client: e.Client, Start: max(asked, since[e.Client]), End: e.At})
			}
		}
	})
}

// patience is within how many graces a waiter has taken the lock away: up to one passes before it begins to wait for the
// second, and the third is for what it takes to do so.
const patience = 3

// referee reports two holders at a time, force before the grace is over, and holders that hold on for longer than they may.
type referee struct {
	out     variants.Findings
	terms   Terms
	holders map[int]*holder
	waiting holding.Waiting
	freed   time.Duration // the next client to be granted the lock cannot have had it before
	last    variants.Event
}

// holder is a client that has not released yet, or whose release is under way.
type holder struct {
	since     time.Duration // when it recorded that it held
	earliest  time.Duration // when it can have begun to, as seen by the others
	forced    bool          // another client was granted the lock meanwhile
	forcedAt  time.Duration
	releasing bool
	asked     time.Duration // once it releases: since when it may have been wanted
	wanted    bool
}

// Observe implements [variants.Observer].
func (r *referee) Observe(e variants.Event) {
	if e.Kind == holding.Acquired {
		r.grant(e) // before the client is taken from those that wait
	}
	r.waiting.Observe(e)
	r.last = e
	h := r.holders[e.Client]
	switch e.Kind {
	case agreed, agreedForced:
		r.terms = Terms{Grace: time.Duration(e.Value), Forced: e.Kind == agreedForced}
	case holding.Releasing:
		if h != nil {
			r.overdue(e, e.Client, h)
			h.asked, h.wanted = r.asked(h.earliest)
			h.releasing = true
			r.freed = e.At
		}
	case ousted:
		if h != nil && !h.forced && h.wanted && e.At-h.asked < r.terms.Grace {
			r.out.Breach(e, "client %d lost the lock to force %s after it was asked; the grace is %s", e.Client, e.At-h.asked, r.terms.Grace)
		}
	case holding.Released:
		delete(r.holders, e.Client)
	}
}

// Complete implements [variants.Observer]. A client that holds until then was not forced out later.
func (r *referee) Complete() {
	for _, client := range slices.Sorted(maps.Keys(r.holders)) {
		if h := r.holders[client]; !h.releasing {
			r.overdue(r.last, client, h)
		}
	}
}

// asked returns since when a client that holds from some moment on has been wanted, and whether it is.
func (r *referee) asked(held time.Duration) (time.Duration, bool) {
	since, waiting := r.waiting.Longest()
	return max(since, held), waiting
}

// grant compares a grant with the other holders. Where force may be used, it may be used after the grace.
func (r *referee) grant(e variants.Event) {
	for _, other := range slices.Sorted(maps.Keys(r.holders)) {
		h := r.holders[other]
		asked, _ := r.asked(h.earliest)
		switch {
		case h.releasing:
		case !r.terms.Forced:
			r.out.Breach(e, "client %d acquired the lock while client %d held it", e.Client, other)
		case e.At-asked < r.terms.Grace:
			r.out.Breach(e, "client %d acquired the lock while client %d held it, which was asked %s before; the grace is %s", e.Client, other, e.At-asked, r.terms.Grace)
		case !h.forced:
			h.forced, h.forcedAt = true, e.At
			r.freed = asked + r.terms.Grace
		}
	}
	r.holders[e.Client] = &holder{since: e.At, earliest: r.earliest(e)}
}

// earliest returns when a client that records that it holds can have begun to. It does so after the reply has come. Those
// that wait may have seen it in the line before that, and have begun to count.
func (r *referee) earliest(e variants.Event) time.Duration {
	wanted, known := r.waiting[e.Client]
	if !known {
		return e.At
	}
	return max(wanted, r.freed)
}

// overdue reports a holder that has held on for longer than it may.
func (r *referee) overdue(e variants.Event, client int, h *holder) {
	asked, waiting := r.asked(h.since)
	limit := r.terms.Grace
	if r.terms.Forced {
		limit *= patience
	}
	switch {
	case h.forced && e.At-h.forcedAt > r.terms.Grace:
		r.out.Breach(e, "client %d held on for %s after the lock had been taken away; the grace is %s", client, e.At-h.forcedAt, r.terms.Grace)
	case !h.forced && waiting && e.At-asked > limit:
		r.out.Breach(e, "client %d held on for %s after it was asked; the grace is %s", client, e.At-asked, r.terms.Grace)
	}
}
