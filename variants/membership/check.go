package membership

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// roll is what is known of the memberships, and of each client's view of them. Times are places in the history.
type roll struct {
	clients int
	joining map[int64]int
	left    map[int64]int
	present map[int64]int // when it had joined, of those who have not begun to leave
	views   map[int]*clientView
}

// clientView is what one client sees.
type clientView struct {
	now  map[int64]bool
	gone map[int64]bool // what it has seen, and sees no more
}

// check holds a history to the promise.
//
// A view may lag behind, by as much as the server does that it comes from: that it has a member who has left proves
// nothing. But a listing is what the group was at one moment. That moment came after everybody in it began to join: so
// nobody may be in it who had left by the time that another one in it began to join, and nobody may be missing who had
// joined by then and has not begun to leave since. And a session never reads what is older than its own writes, nor
// older than what it has read before.
func check(h variants.History) []variants.Violation {
	var out []variants.Violation
	r := roll{joining: map[int64]int{}, left: map[int64]int{}, present: map[int64]int{}, views: map[int]*clientView{}}
	for at, e := range h {
		v := r.views[e.Client]
		if v == nil {
			v = &clientView{now: map[int64]bool{}, gone: map[int64]bool{}}
			r.views[e.Client] = v
		}
		switch e.Kind {
		case enrolled:
			r.clients = max(r.clients, int(e.Value))
		case joining:
			r.joining[e.Value] = at
		case joined:
			r.present[e.Value] = at
		case leaving:
			delete(r.present, e.Value)
		case left:
			r.left[e.Value] = at
		case gained:
			out = append(out, r.gain(v, e)...)
		case dropped:
			delete(v.now, e.Value)
			v.gone[e.Value] = true
		case viewed:
			out = append(out, r.look(v, e)...)
		case settled:
			out = append(out, r.settle(v, e)...)
		}
	}
	return out
}

// gain adds a membership to a client's view.
func (r *roll) gain(v *clientView, e variants.Event) []variants.Violation {
	var out []variants.Violation
	if _, known := r.joining[e.Value]; !known {
		out = append(out, e.Violation("client %d sees %s, who has never joined", e.Client, describe(e.Value)))
	}
	if v.gone[e.Value] {
		out = append(out, e.Violation("client %d sees %s again, whom it had seen leave", e.Client, describe(e.Value)))
	}
	v.now[e.Value] = true
	return out
}

// look holds a whole view to what can have been the group at one moment.
func (r *roll) look(v *clientView, e variants.Event) []variants.Violation {
	var out []variants.Violation
	newest, after := int64(-1), -1
	for member := range v.now {
		if at, known := r.joining[member]; known && at > after {
			newest, after = member, at
		}
	}
	for _, member := range slices.Sorted(maps.Keys(v.now)) {
		if at, over := r.left[member]; over && at < after {
			out = append(out, e.Violation("client %d sees %s, who had left before %s joined", e.Client, describe(member), describe(newest)))
		}
	}
	for _, member := range slices.Sorted(maps.Keys(r.present)) {
		_, client := unstamp(member)
		switch {
		case v.now[member]:
		case client == e.Client:
			out = append(out, e.Violation("client %d does not see itself", e.Client))
		case r.present[member] < after:
			out = append(out, e.Violation("client %d does not see %s, who had joined before %s", e.Client, describe(member), describe(newest)))
		}
	}
	return out
}

// settle holds a client to its own word that it has seen a round through: its view has nobody of the rounds before, and
// everybody of this one, except those who have left since.
func (r *roll) settle(v *clientView, e variants.Event) []variants.Violation {
	var out []variants.Violation
	for client := range r.clients {
		member := stamp(e.Value, client)
		if !v.now[member] && !v.gone[member] {
			out = append(out, e.Violation("client %d has not seen %s when the round ends", e.Client, describe(member)))
		}
	}
	for _, member := range slices.Sorted(maps.Keys(v.now)) {
		if round, _ := unstamp(member); round < e.Value {
			out = append(out, e.Violation("client %d still sees %s when round %d ends", e.Client, describe(member), e.Value))
		}
	}
	return out
}

func describe(member int64) string {
	round, client := unstamp(member)
	return fmt.Sprintf("client %d of round %d", client, round)
}
