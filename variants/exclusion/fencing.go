package exclusion

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// Rules are a recipe's promise about its holders. The events are of kind Acquired.
type Rules interface {
	// Token returns the fencing token of a grant.
	Token(granted variants.Event) int64
	// Overlap returns, in words, why a grant breaks the rules while another client, or the same one, still holds. It is
	// empty if both may hold.
	Overlap(granted, held variants.Event) string
	// Order takes the next grant. If its token is not larger than all that it must exceed, Order returns the largest one of these,
	// and the breach in words.
	Order(granted variants.Event) (exceed int64, breach string)
}

// Fencing is an observer that checks rules as far as clients could know of a breach. A session that has ended at the
// servers may have a successor before its client can know. A resource that checks fencing tokens then refuses the old
// holder. So when two grants break the rules, the breach of the one with the smaller token is pending:
//
//   - It is dismissed, and the hold counted as fenced, if the client's session turns out to be lost before its release
//     has succeeded, or if the client dies.
//   - It is confirmed when the release has succeeded or when all has ended.
//
// A client that holds to the end although it could know that its session is lost breaks the promise in any case.
type Fencing struct {
	out   variants.Findings
	words Words
	rules Rules
	holds map[int]*hold // by client
	lost  map[int]bool  // the clients that can know that their session is lost
}

type hold struct {
	granted   variants.Event
	releasing bool
	unseen    bool
	fenced    bool
	rival     int // the last other client that held it, too, or none
	pending   []variants.Violation
}

// none is the rival of a client that holds alone.
const none = -1

// pendingKept bounds how many breaches of a client that holds on for long are reported.
const pendingKept = 4

// NewFencing returns an observer of one measurement.
func NewFencing(out variants.Findings, w Words, rules Rules) *Fencing {
	return &Fencing{out: out, words: w, rules: rules, holds: map[int]*hold{}, lost: map[int]bool{}}
}

// Observe implements [variants.Observer].
func (f *Fencing) Observe(e variants.Event) {
	switch e.Kind {
	case Acquired:
		f.grant(e)
	case Releasing:
		f.release(e)
	case Unseen:
		if h := f.holds[e.Client]; h != nil {
			h.unseen = true
		}
	case Released, Requested:
		if h := f.holds[e.Client]; h != nil && h.unseen && e.Kind == Released { // its session had not ended by then
			f.out.Breach(e, "client %d %s, and other clients could not see it", e.Client, f.words.Held)
		}
		f.confirm(e.Client)
	case Deposed:
		f.dismiss(e)
		delete(f.holds, e.Client)
	case variants.SessionLost:
		f.dismiss(e)
		f.lost[e.Client] = true
	case variants.Died, variants.Rejoined:
		f.dismiss(e)
		delete(f.holds, e.Client)
		delete(f.lost, e.Client)
	}
}

// Complete implements [variants.Observer].
func (f *Fencing) Complete() {
	for _, client := range slices.Sorted(maps.Keys(f.holds)) {
		f.confirm(client)
	}
}

// Fence counts a client's hold as fenced, once: another client was granted the same.
func (f *Fencing) Fence(e variants.Event, client int) {
	if h := f.holds[client]; h != nil && !h.fenced {
		h.fenced = true
		f.out.Lose(e, variants.Fenced, 1, "client %d had fencing token %d when another client was granted a larger one",
			client, f.rules.Token(h.granted))
	}
}

func (f *Fencing) grant(e variants.Event) {
	h := &hold{granted: e, rival: none}
	for _, client := range slices.Sorted(maps.Keys(f.holds)) {
		other := f.holds[client]
		if other.releasing {
			continue
		}
		if breach := f.rules.Overlap(e, other.granted); breach != "" {
			f.overlap(e, h, other, breach)
		}
	}
	f.confirm(e.Client)
	f.holds[e.Client] = h
	switch exceed, breach := f.rules.Order(e); {
	case breach == "":
	case f.rules.Token(e) == exceed:
		f.out.Breach(e, "%s", breach)
	default:
		f.await(h, e.Violation("%s", breach))
	}
	if f.lost[e.Client] {
		f.dismiss(e)
	}
}

// overlap finds one of two holds in breach. The breach is certain if both are of one client, or have one token.
func (f *Fencing) overlap(e variants.Event, h, other *hold, breach string) {
	newer, older := f.rules.Token(e), f.rules.Token(other.granted)
	h.rival, other.rival = other.granted.Client, e.Client
	switch {
	case e.Client == other.granted.Client, newer == older:
		f.out.Breach(e, "%s", breach)
	case newer < older:
		f.await(h, e.Violation("%s", breach))
	default:
		f.await(other, e.Violation("%s", breach))
		if f.lost[other.granted.Client] {
			f.dismiss(variants.Event{At: e.At, Client: other.granted.Client})
		}
	}
}

func (f *Fencing) await(h *hold, v variants.Violation) {
	if len(h.pending) < pendingKept {
		h.pending = append(h.pending, v)
	}
}

// dismiss requires that the client's session has ended.
func (f *Fencing) dismiss(e variants.Event) {
	if h := f.holds[e.Client]; h != nil && len(h.pending) > 0 {
		h.pending = nil
		f.Fence(e, e.Client)
	}
}

// confirm requires that the client's session had not ended.
func (f *Fencing) confirm(client int) {
	h := f.holds[client]
	if h == nil {
		return
	}
	for _, v := range h.pending {
		f.out.Violation(v)
	}
	delete(f.holds, client)
}

func (f *Fencing) release(e variants.Event) {
	h := f.holds[e.Client]
	if h == nil {
		return
	}
	h.releasing = true
	switch {
	case !f.lost[e.Client]:
	case h.rival == none:
		f.out.Breach(e, "client %d %s after it could know that its session was lost", e.Client, f.words.HeldOn)
	default:
		f.out.Breach(e, "client %d %s after it could know that its session was lost, while client %d %s", e.Client,
			f.words.HeldOn, h.rival, f.words.Held)
	}
}
