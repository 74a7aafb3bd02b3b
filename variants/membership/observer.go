package membership

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), &roll{out: out, members: map[int64]*membership{}, clients: map[int]*client{}})
}

// roll checks every view against the possible states of the group, and times how long changes take to reach all views.
//
// A view may lag behind as far as its server does: it may have a member that has left. But a listing is the group at
// one moment, after every member in it began to join, and a session never reads a state older than one that it has read
// before. So a view has no member that had left before a member of this or an earlier view began to join. And it has
// every member that had joined by then, unless that has begun to leave or its session is lost. As its client may learn
// of the loss later, a missing member is a breach only once the view has it after all, or it leaves without a loss, or
// at the end.
type roll struct {
	out     variants.Findings
	place   int // of the event in the history
	size    int // of the group
	members map[int64]*membership
	clients map[int]*client
}

// client is the state of a client, in all its lives.
type client struct {
	view    *clientView // nil while it does not live
	born    int         // the place in the history at which its present life began; 0 for its first
	current *membership // the membership that it began last; nil before the first
	former  *membership // the last one that it has lost: until its session ends at the servers, a late write may bring it back
	begun   int64       // how many rounds it has begun to join
	settled int64       // the last round that it has completed
}

// membership is the record of a membership, until every client has completed a later round.
type membership struct {
	joining, joined, left int  // places in the history, 0 for none
	present               bool // it has joined, has not begun to leave, and is not known to be lost
	lost                  *variants.Event
	overlooked            map[int]oversight // by client: its first view without the membership

	entering, ending spreading
}

// oversight is a view without a membership that should be in it.
type oversight struct {
	view   variants.Event
	newest int64 // the membership that began later, and that the client has seen
}

// spreading is a change that some clients have not seen yet.
type spreading struct {
	start, end variants.Moment // end is when the last of the clients that have seen it did
	left       int             // how many clients are still to see it
}

type clientView struct {
	now       map[int64]bool
	gone      map[int64]bool // memberships that it has seen, and sees no more, of the settled round and later
	newest    int64          // of all memberships that it has ever seen, the one that began last
	horizon   int            // when newest began
	settled   int64          // the last round that it has completed
	settling  int            // the place in the history at which it completed that round
	following bool
}

func (r *roll) Observe(e variants.Event) {
	r.place++
	switch e.Kind {
	case variants.SessionLost, variants.Died, variants.Rejoined:
		r.fail(e)
		return
	case variants.Deafened, variants.Hearing:
		return
	}
	c := variants.StateOf(r.clients, e.Client)
	if c.view == nil || e.Kind == enrolled { // a new session may read an older state
		c.view = &clientView{now: map[int64]bool{}, gone: map[int64]bool{}}
	}
	v := c.view
	switch e.Kind {
	case enrolled:
		r.size = max(r.size, int(e.Value))
	case joining, joined, leaving, left, lost:
		r.change(c, e)
	case following:
		v.following = true
	case gained:
		r.gain(c, e)
	case dropped:
		r.drop(v, e)
	case viewed:
		v.following = false
		r.look(v, e)
	case settled:
		r.settle(c, e)
	}
}

func (r *roll) change(c *client, e variants.Event) {
	m := variants.StateOr(r.members, e.Value, func() *membership { return &membership{overlooked: map[int]oversight{}} })
	switch e.Kind {
	case joining:
		m.joining, m.entering = r.place, spreading{start: e.Moment(), left: r.size}
		round, _ := unstamp(e.Value)
		c.current, c.begun = m, max(c.begun, round+1)
	case joined:
		m.joined, m.present = r.place, m.lost == nil
	case leaving:
		m.present, m.ending = false, spreading{start: e.Moment(), left: r.size - 1} // a client that leaves need not see that
	case left:
		m.left = r.place
		for _, client := range slices.Sorted(maps.Keys(m.overlooked)) {
			r.reportOversight(e.Value, client)
		}
	case lost:
		if m.lost == nil {
			m.lose(e)
		}
	}
}

// known reports whether a client has begun to join in the round: it joins in all rounds, one after another.
func (r *roll) known(member int64) bool {
	round, client := unstamp(member)
	return round < variants.StateOf(r.clients, client).begun
}

func (r *roll) gain(c *client, e variants.Event) {
	v, m := c.view, r.members[e.Value]
	round, _ := unstamp(e.Value)
	switch {
	case !r.known(e.Value):
		r.out.Breach(e, "client %d sees %s, who has never joined", e.Client, describe(e.Value))
	case v.gone[e.Value], round < v.settled && !r.late(e.Value) && (m == nil || m.joining < v.settling):
		r.out.Breach(e, "client %d sees %s again, whom it had seen leave", e.Client, describe(e.Value))
	}
	v.now[e.Value] = true
	if m == nil {
		return
	}
	if m.joining > v.horizon {
		v.newest, v.horizon = e.Value, m.joining
	}
	r.reportOversight(e.Value, e.Client)
	if m.joining > c.born { // the client has seen earlier ones in a former life, or never will
		r.spread(&m.entering, e)
	}
}

func (r *roll) drop(v *clientView, e variants.Event) {
	delete(v.now, e.Value)
	v.gone[e.Value] = true
	m := r.members[e.Value]
	_, client := unstamp(e.Value)
	switch {
	case client == e.Client || m == nil:
	case m.lost == nil:
		r.spread(&m.ending, e)
	case m.lost.Kind == variants.Died && !r.seen(e.Value):
		r.out.Span(variants.SpanOf(phaseNotice, client, m.lost.Moment(), e.Moment()))
	}
}

// seen reports whether a membership is in the view of any client that lives.
func (r *roll) seen(member int64) bool {
	for _, c := range r.clients {
		if c.view != nil && c.view.now[member] {
			return true
		}
	}
	return false
}

// fail handles the end of a session or of a life, with which the client's membership ends. The client knows, while the
// servers may still have its znode. A client that is dead has no view.
func (r *roll) fail(e variants.Event) {
	c := variants.StateOf(r.clients, e.Client)
	if m := c.current; m != nil && m.left == 0 && m.lost == nil {
		m.lose(e)
		c.former = m
	}
	if e.EndsLife() {
		c.view, c.born = nil, r.place
	}
}

// lose records the loss of a membership. A view without it is not a breach then.
func (m *membership) lose(e variants.Event) {
	m.present, m.lost = false, &e
	clear(m.overlooked)
}

// spread counts a client that has seen a change; the last one ends the span.
func (r *roll) spread(s *spreading, e variants.Event) {
	s.end = s.end.Latest(e.Moment())
	if s.left--; s.left == 0 {
		_, client := unstamp(e.Value)
		r.out.Span(variants.SpanOf(phaseConverge, client, s.start, s.end))
	}
}

func (r *roll) look(v *clientView, e variants.Event) {
	for _, member := range variants.KeysWhere(v.now, func(member int64, _ bool) bool { return r.over(member, v.horizon) }) {
		r.out.Breach(e, "client %d sees %s, who had left before %s joined", e.Client, describe(member), describe(v.newest))
	}
	for _, member := range variants.KeysWhere(r.members, func(member int64, m *membership) bool { return m.present && !v.now[member] }) {
		m := r.members[member]
		_, client := unstamp(member)
		_, before := m.overlooked[e.Client]
		if (client == e.Client || m.joined < v.horizon) && !before {
			m.overlooked[e.Client] = oversight{e, v.newest}
		}
	}
}

// over reports whether a membership had ended by some place in the history, as one that is forgotten had.
func (r *roll) over(member int64, by int) bool {
	if m := r.members[member]; m != nil {
		return m.left > 0 && m.left < by
	}
	return r.known(member)
}

func (r *roll) reportOversight(member int64, client int) {
	overlooked := r.members[member].overlooked
	o, found := overlooked[client]
	delete(overlooked, client)
	switch _, own := unstamp(member); {
	case found && own == client:
		r.out.Breach(o.view, "client %d does not see itself", client)
	case found:
		r.out.Breach(o.view, "client %d does not see %s, who had joined before %s", client, describe(member), describe(o.newest))
	}
}

// settle checks a client's event that it has completed a round: its view has no member of the rounds before, and every
// member of this one, except those that have left since.
func (r *roll) settle(c *client, e variants.Event) {
	v := c.view
	met := v.met(e.Value)
	for client := range r.size {
		if !met[client] {
			r.out.Breach(e, "client %d has not seen %s when the round ends", e.Client, describe(stamp(e.Value, client, 0)))
		}
	}
	before := func(member int64) bool { round, _ := unstamp(member); return round < e.Value }
	for _, member := range variants.KeysWhere(v.now, func(member int64, _ bool) bool { return before(member) && !r.late(member) }) {
		r.out.Breach(e, "client %d still sees %s when round %d ends", e.Client, describe(member), e.Value)
	}
	v.settled, v.settling, c.settled = e.Value, r.place, e.Value
	maps.DeleteFunc(v.gone, func(member int64, _ bool) bool { return before(member) && !r.late(member) })
	r.forget()
}

// forget deletes the memberships of rounds before the last one that all clients have completed: all of them have ended.
func (r *roll) forget() {
	through, living := int64(math.MaxInt64), 0
	for _, c := range r.clients {
		if c.view != nil {
			through, living = min(through, c.settled), living+1
		}
	}
	if living < r.size {
		return
	}
	maps.DeleteFunc(r.members, func(member int64, m *membership) bool {
		round, client := unstamp(member)
		lost := m.lost != nil && !r.seen(member) && r.clients[client].former != m
		return round < through && (m.left > 0 || lost)
	})
}

// late reports whether a membership may be in a view after its round: its client has joined again since it was lost, or
// joins in a round that others have completed.
func (r *roll) late(member int64) bool {
	m := r.members[member]
	_, client := unstamp(member)
	if m == nil {
		return false
	}
	born := variants.StateOf(r.clients, client).born
	return m.lost != nil || born > 0 && m.joining > born
}

// met returns the clients whose membership of the round, or of a later one, is or was in the view.
func (v *clientView) met(round int64) map[int]bool {
	met := map[int]bool{}
	for _, members := range []map[int64]bool{v.now, v.gone} {
		for member := range members {
			if r, client := unstamp(member); r >= round {
				met[client] = true
			}
		}
	}
	return met
}

// A client that waits for a change now waits for ever.
func (r *roll) Complete() {
	for _, member := range slices.Sorted(maps.Keys(r.members)) {
		m := r.members[member]
		for _, client := range variants.KeysWhere(r.clients, func(_ int, c *client) bool { return c.view != nil }) {
			r.reportOversight(member, client)
			if v := r.clients[client].view; m.lost != nil && m.lost.Client != client && v.following && v.now[member] {
				r.out.Breach(*m.lost, "client %d never noticed the loss of %s", client, describe(member))
			}
		}
	}
}

func describe(member int64) string {
	round, client := unstamp(member)
	return fmt.Sprintf("client %d of round %d", client, round)
}
