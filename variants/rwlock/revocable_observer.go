package rwlock

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
)

func newRevocableObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		newObserver(out),
		revocation.Revocations(out, &askers{Waiting: exclusion.Waiting{}}),
		urgency(out),
		&consent{out: out, askers: askers{Waiting: exclusion.Waiting{}}, deaf: revocation.Deafness{},
			holders: map[int]*consenting{}, requests: map[int]*request{}},
	}
}

// askers are the clients that wait and may ask holders to give up.
type askers struct {
	exclusion.Waiting
	urgentOnly bool
}

func (a *askers) Observe(e variants.Event) {
	if e.Kind == agreedUrgent {
		a.urgentOnly = true
	}
	if e.Kind == exclusion.Requested && a.urgentOnly && !isUrgentRequest(e.Value) {
		return
	}
	a.Waiting.Observe(e)
}

// urgency returns an observer of the waits of urgent clients, and of the times for which holders that are not urgent keep them waiting.
//
// Note: an urgent reader waits for a reader only if a writer stands between them. Where no writer waits, it is about to have the lock.
func urgency(out variants.Findings) variants.Observer {
	pressing := &askers{Waiting: exclusion.Waiting{}, urgentOnly: true}
	writers, since, urgent := exclusion.Waiting{}, map[int]variants.Moment{}, map[int]bool{}
	return variants.ObserverFunc(func(e variants.Event) {
		mode, _ := unstamp(e.Value)
		switch e.Kind {
		case exclusion.Requested:
			urgent[e.Client] = isUrgentRequest(e.Value)
		case exclusion.Acquired:
			since[e.Client] = e.Moment()
			if asked, pressed := pressing.Waiting[e.Client]; pressed {
				out.Span(variants.SpanOf(phaseUrgent, e.Client, asked, e.Moment()))
			}
		case exclusion.Releasing:
			from, pressed := pressing.Longest()
			span := variants.SpanOf(phaseInversion, e.Client, from.Latest(since[e.Client]), e.Moment())
			if pressed && (span.Across || from.At < e.At) && !urgent[e.Client] && (mode == Write || len(writers) > 0) {
				out.Span(span)
			}
		}
		pressing.Observe(e)
		if e.Kind != exclusion.Requested || mode == Write {
			writers.Observe(e)
		}
	})
}

// consent reports holders that hold on for longer than they may after they were asked, and holders that were asked by a client that
// must not ask them.
type consent struct {
	out      variants.Findings
	grace    time.Duration
	askers   askers
	deaf     revocation.Deafness
	requests map[int]*request // by client, the last one
	holders  map[int]*consenting
	leftover bool // a client that might ask has ended its life, and its znode may have outlived it
	last     variants.Event
}

type request struct {
	urgent bool
	wanted bool // another client that might ask waited at some time since
}

// consenting is the state of a client that has not released yet.
type consenting struct {
	since     time.Duration
	deaf      bool // a fault has made it ignore requests for some of the time
	causeless bool // it was asked although no client was allowed to ask it
	releasing bool
}

func (c *consent) Observe(e variants.Event) {
	c.last = e
	c.deaf.Observe(e)
	c.settle(e)
	c.askers.Observe(e)
	h := c.holders[e.Client]
	switch e.Kind {
	case agreed, agreedUrgent:
		c.grace = time.Duration(e.Value)
	case exclusion.Requested:
		c.requests[e.Client] = &request{urgent: isUrgentRequest(e.Value)}
	case exclusion.Acquired:
		c.holders[e.Client] = &consenting{since: e.At, deaf: c.deaf[e.Client]}
	case exclusion.Deposed, variants.Died, variants.Rejoined:
		delete(c.holders, e.Client)
	}
	if h != nil {
		c.follow(e, h)
	}
}

func (c *consent) Complete() {
	for _, client := range slices.Sorted(maps.Keys(c.holders)) {
		c.overdue(c.last, client, c.holders[client])
	}
}

func (c *consent) settle(e variants.Event) {
	if _, asks := c.askers.Waiting[e.Client]; !asks {
		return
	}
	switch e.Kind {
	case exclusion.Acquired, exclusion.Withdrew:
		for client, r := range c.requests {
			r.wanted = r.wanted || client != e.Client
		}
	case variants.SessionLost, variants.Died, variants.Rejoined:
		c.leftover = true
	}
}

func (c *consent) follow(e variants.Event, h *consenting) {
	switch e.Kind {
	case variants.Deafened:
		h.deaf = true
	case exclusion.Heeded:
		_, waiting := c.askers.Longest()
		mine := c.requests[e.Client]
		h.causeless = mine != nil && (c.mustNotBeAsked(mine) || !waiting && !c.leftover && !mine.wanted)
	case exclusion.Releasing:
		c.overdue(e, e.Client, h)
		h.releasing = true
	case exclusion.Released: // its session had not ended, which would have ended its hold, too
		if h.causeless {
			c.out.Breach(e, "client %d was asked to give up although no client that may ask it wanted the lock", e.Client)
		}
		delete(c.holders, e.Client)
	}
}

// mustNotBeAsked reports whether no other request takes precedence over the holder's.
func (c *consent) mustNotBeAsked(mine *request) bool {
	return c.askers.urgentOnly && mine != nil && mine.urgent
}

// overdue reports a holder that has held on for longer than it may.
func (c *consent) overdue(e variants.Event, client int, h *consenting) {
	since, waiting := c.askers.Longest()
	over := e.At - max(since.At, h.since)
	if !h.releasing && waiting && over > c.grace && !c.mustNotBeAsked(c.requests[client]) {
		revocation.Overdue(c.out, e, client, h.deaf, over, c.grace)
	}
}
