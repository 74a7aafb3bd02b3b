package treecache

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), byNumber(out.FirstSights(phaseRefresh, changing, shown)),
		&copies{out: out, clients: map[int]*clientCopy{}, storm: map[int]bool{}})
}

// byNumber gives an observer the number of a change as the value of the change's events.
func byNumber(o variants.Observer) variants.Observer {
	return variants.ObserverFunc(func(e variants.Event) {
		e.Value, _ = unstamp(e.Value)
		o.Observe(e)
	})
}

// copies compares every copy with the changes that were made, and times how long it takes to have everything again
// after a reconnect.
//
// A change is recorded before it is made and again when it is acknowledged. That a copy shows a change is recorded when
// the change has been read. A session never reads a state older than one that it has read before. A copy may lag behind
// as far as its server does. While its client is cut off, and until it has everything again, it may lag behind further.
type copies struct {
	out    variants.Findings
	newest int64 // the last change that was begun
	acked  variants.Event
	lag    variants.Lag

	clients map[int]*clientCopy
	storm   map[int]bool // the clients whose copies lack something since their connection was lost
	begun   variants.Moment
	ended   variants.Moment // when a copy had everything again last
}

type clientCopy struct {
	leaves  int64           // how many leaves the tree has
	shown   map[int64]int64 // by slot, the number of the change
	through int64           // it shows all changes up to this one, or later ones in their place
	has     int64           // how many leaves it has
	target  int64           // the last change that it has waited for
	floor   int64           // the last change that it must show; see [variants.Lag]
	loading bool            // it has not read the tree for the first time
	gone    bool
	lacking bool            // it is cut off, or does not have everything again since
	since   variants.Moment // when it was reconnected or lost its session; none while it is cut off
}

func (c *copies) Observe(e variants.Event) {
	switch e.Kind {
	case changing:
		number, _ := unstamp(e.Value)
		c.newest = max(c.newest, number)
	case changed:
		e.Value, _ = unstamp(e.Value)
		c.acked = e
		c.lag.Acknowledged(e)
	case enrolled:
		c.enroll(e)
	default:
		if v := c.clients[e.Client]; v != nil {
			c.observe(v, e)
		}
	}
}

// enroll begins a new copy, which is independent of the copy of an earlier session.
func (c *copies) enroll(e variants.Event) {
	v := &clientCopy{leaves: e.Value, shown: map[int64]int64{}, loading: true}
	if before := c.clients[e.Client]; before != nil {
		v.lacking, v.since = before.lacking, before.since
	}
	c.clients[e.Client] = v
}

func (c *copies) observe(v *clientCopy, e variants.Event) {
	switch e.Kind {
	case variants.SessionLost, variants.Died:
		v.gone = true
		c.lacks(v, e, e.Moment())
	case cutOff:
		c.lacks(v, e, variants.Moment{})
	case reconnected:
		c.lacks(v, e, e.Moment())
	}
	if v.gone {
		return // events that it still records do not count
	}
	switch e.Kind {
	case shown:
		c.show(v, e)
	case following:
		v.target = e.Value
	case refreshed:
		c.refresh(v, e)
	case restored:
		c.restore(v, e)
	}
	v.floor = c.lag.MustSee(e)
}

// lacks marks a copy that misses changes while its client is cut off. since is when the client began to bring it up to
// date. A first load that is interrupted ends with restored, not with the next refreshed.
func (c *copies) lacks(v *clientCopy, e variants.Event, since variants.Moment) {
	v.lacking, v.since, v.loading = true, since, false
	if len(c.storm) == 0 {
		c.begun = variants.Moment{}
	}
	c.begun = c.begun.Earliest(e.Moment())
	c.storm[e.Client] = true
}

func (c *copies) restore(v *clientCopy, e variants.Event) {
	if !v.lacking {
		return
	}
	if !v.since.IsNone() {
		c.out.Span(variants.SpanOf(phaseReload, e.Client, v.since, e.Moment()))
	}
	v.lacking, v.since = false, variants.Moment{}
	c.ended = c.ended.Latest(e.Moment())
	if delete(c.storm, e.Client); len(c.storm) == 0 {
		c.out.Span(variants.SpanOf(phaseStorm, e.Client, c.begun, c.ended))
	}
}

func (c *copies) show(v *clientCopy, e variants.Event) {
	number, slot := unstamp(e.Value)
	if number > c.newest {
		c.out.Breach(e, "client %d shows change %d, when the last was %d", e.Client, number, c.newest)
	}
	if number < v.shown[slot] {
		c.out.Breach(e, "client %d shows change %d of a znode after change %d of it", e.Client, number, v.shown[slot])
	}
	v.shown[slot] = max(v.shown[slot], number)
	for v.through < c.newest && v.shown[slotOf(v.through+1, v.leaves)] > v.through {
		v.through++
	}
}

func (c *copies) refresh(v *clientCopy, e variants.Event) {
	v.has = e.Value
	if v.loading {
		v.loading = false
		c.restore(v, e)
	}
	if v.through < v.floor && !v.lacking {
		c.out.Breach(e, "client %d does not show change %d, although its server had shown a state with it before", e.Client, v.floor)
	}
}

// longestLag is longer than a server continues to serve reads without the leader's transactions, and longer than a
// session lives without its server. By default, the leader gives up a follower that is 10 s behind, and that follower
// then closes its connections.
const longestLag = 20 * time.Second

// When the load has come to rest, a copy shows the changes that its client has waited for. If these are all, the copy is
// the tree.
func (c *copies) Complete() {
	for _, client := range slices.Sorted(maps.Keys(c.clients)) {
		v := c.clients[client]
		switch {
		case v.gone, v.lacking && v.since.IsNone():
		case v.lacking && c.acked.At-v.since.At > longestLag:
			c.out.Breach(c.acked, "client %d has not everything again, more than %s after its connection was made again", client, longestLag)
		case v.lacking:
		case v.through < v.target:
			c.out.Breach(c.acked, "client %d never showed change %d", client, v.through+1)
		case v.through >= c.newest && v.has != v.leaves:
			c.out.Breach(c.acked, "client %d shows %d leaves of a tree of %d", client, v.has, v.leaves)
		}
	}
}
