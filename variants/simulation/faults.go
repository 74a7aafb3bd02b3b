package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// sent counts a request that the client is about to send, and starts the faults that are due then.
func (c *client) sent(op wire.Opcode) {
	c.run.mu.Lock()
	c.run.asked++
	joined := c.run.joined.missing == 0
	c.run.mu.Unlock()
	if !joined {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announce(nameOf(op))
	c.requests++
	c.due = slices.DeleteFunc(c.due, func(i int) bool {
		f := c.run.plan.Faults[i]
		if f.Then {
			f.After += c.since
		}
		due := c.requests >= f.After
		if due {
			go c.meet(i)
		}
		return due
	})
}

func (c *client) meet(i int) {
	f := c.run.plan.Faults[i]
	time.Sleep(time.Duration(f.Delay))
	switch {
	case f.At == Waiting:
		for begun := time.Now(); time.Since(begun) < aim && c.activity() != Waiting; {
			time.Sleep(371 * time.Microsecond)
		}
	case f.At != "" && !traits()[f.Kind].request:
		c.awaitNext(f.At)
	}
	c.run.strike(c, i)
}

// happened is called after a fault. The next one of the plan may wait for that.
func (c *client) happened(i int) {
	faults := c.run.plan.Faults
	if i++; i == len(faults) || !faults[i].Then || faults[i].Client != c.index {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.requests
	c.due = append(c.due, i)
}

// aim is how long a fault waits for the state of a client in which it should happen. After that it happens in any
// state.
const aim = 2 * time.Second

// awaitNext returns when the client next begins to hold, or next sends a request of a kind.
func (c *client) awaitNext(what string) {
	c.mu.Lock()
	if c.awaited[what] == nil {
		c.awaited[what] = make(chan struct{})
	}
	next := c.awaited[what]
	c.mu.Unlock()
	select {
	case <-next:
	case <-time.After(aim):
	}
}

func (c *client) announce(what string) {
	if next := c.awaited[what]; next != nil {
		close(next)
		delete(c.awaited, what)
	}
}

func (c *client) activity() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.life.Load()
	switch {
	case l == nil:
		return "away"
	case c.doing != "working":
		return c.doing
	}
	if wait, _ := l.session.Waiting(); wait != nil {
		return Waiting
	}
	return "working"
}

func (r *run) strike(c *client, i int) {
	f := r.plan.Faults[i]
	victims := []*client{c}
	if f.Also {
		victims = r.clients
	}
	r.say(c.index, "** %s", f)
	r.mark(string(f.Kind), c.activity())
	random := rand.New(rand.NewPCG(r.plan.Seed, uint64(f.Delay))) //nolint:gosec // to be repeated
	for _, victim := range victims {
		own := f
		if victim != c {
			own.For = Duration(random.Int64N(int64(f.For) + 1))
			time.Sleep(time.Duration(1 + random.Int64N(int64(tick/1000))))
		}
		if l := victim.life.Load(); l != nil && !l.over() {
			r.hit(victim, l, own, func() { c.happened(i) })
		}
	}
}

func (r *run) hit(c *client, l *life, f Fault, happened func()) {
	d := time.Duration(f.For)
	if !traits()[f.Kind].request {
		happened()
	}
	if traits()[f.Kind].deafens && !traits()[f.Kind].server {
		c.deafen(l, d)
	}
	switch f.Kind {
	case DropBefore, DropAfter, ExpireAt:
		c.arm(l, f, happened)
	case Cut:
		l.link.cut(d)
	case Silence:
		l.link.up.withheld.extend(d)
		l.link.down.withheld.extend(d)
	case Mute:
		l.link.up.withheld.extend(d)
	case Deaf:
		l.link.down.withheld.extend(d)
	case Expire:
		r.server.Expire(l.conn.SessionID())
	case Die:
		c.die(l, d)
	case Pause:
		c.pause(l, d)
	case Ignore:
		c.ignoring.extend(d)
	case Stall, Crash, Part, Forward:
		r.fail(r.victim(l, f), f)
	case Late:
		r.server.DelayNotifications(d)
		time.AfterFunc(d, func() { r.server.DelayNotifications(0) })
	}
}

func (r *run) victim(l *life, f Fault) *embedded.Server {
	if leader := r.server.Leader(); f.Leader && leader != nil {
		return leader
	}
	return l.link.server()
}

// fail makes a server fail for a while. Clients may need a session timeout more until they hear from a server again.
func (r *run) fail(s *embedded.Server, f Fault) {
	if session.IsClosed(r.over) {
		return
	}
	d, end := time.Duration(f.For), s.Recover
	fault := map[Kind]ensemble.ServerFault{Stall: ensemble.Pause, Crash: ensemble.Kill, Part: ensemble.Partition}[f.Kind]
	if f.Kind == Forward {
		s.Late(d)
		end = func() { s.Late(0) }
	} else if !s.Fail(fault) {
		return // another fault came first
	}
	time.AfterFunc(d, end)
	for _, c := range r.clients {
		if l := c.life.Load(); l != nil && !l.over() {
			c.deafen(l, d+time.Duration(r.plan.Session))
		}
	}
}

func (r *run) recover() {
	for _, s := range r.server.Members() {
		s.Recover()
		s.Late(0)
		s.Lag(0)
	}
	time.Sleep(settling)
}

// settling is how long servers need to agree when no server fails any more.
const settling = 10 * tick

// lastReplies is how much longer than the client the client library runs when both come to stand still.
const lastReplies = time.Millisecond

// pause makes the client and its library stand still for d. The client comes to run again later than its library, as in a process that has
// been swapped out.
func (c *client) pause(l *life, d time.Duration) {
	c.still.extend(d + d/4)
	c.frozen.extend(d)
	l.monitor.StandStill(d)
	time.Sleep(lastReplies)
	l.link.up.withheld.extend(d)
	l.link.down.withheld.extend(d)
}

// arm lets a fault happen at the next request of its kind, in this life of the client or in the next.
func (c *client) arm(l *life, f Fault, happened func()) {
	action := map[Kind]embedded.Action{DropBefore: embedded.DropBefore, DropAfter: embedded.DropAfter, ExpireAt: embedded.ExpireAfter}[f.Kind]
	trap := c.run.server.Inject(embedded.Fault{Session: l.conn.SessionID(), Op: Requests()[f.At], Do: action})
	go func() {
		select {
		case <-trap.Fired():
			happened()
			c.run.mark(string(f.Kind)+" "+f.At, c.activity())
			c.run.say(c.index, "-- the fault %s %s happens", f.Kind, f.At)
		case <-l.session.Lost():
			c.mu.Lock()
			defer c.mu.Unlock()
			c.armed = append(c.armed, func(next *life) { c.arm(next, f, happened) })
		case <-c.run.over:
		}
	}()
}

// die stops the client dead for d. What it has sent still arrives.
func (c *client) die(l *life, d time.Duration) {
	l.link.sever()
	if !c.run.record(c.index, l, nil, variants.Died, variants.Died, l.number) {
		return // another fault came first
	}
	session := l.conn.SessionID()
	time.AfterFunc(d, func() {
		for !c.run.server.Ended(session) { // observers rely on the end of the former session of a client that joins again
			c.run.server.Expire(session)
			time.Sleep(tick)
		}
		close(l.dead)
	})
	l.cancel()
	l.monitor.Lose()
}

// deafen records that the client does not act on requests of others for d, or cannot.
func (c *client) deafen(l *life, d time.Duration) {
	c.deaf.extend(d)
	c.record(l, variants.Deafened, l.number)
	time.AfterFunc(d, func() {
		if now := c.life.Load(); now != nil && c.deaf.left() <= 0 {
			c.record(now, variants.Hearing, now.number)
		}
	})
}

func (r *run) mark(kind, state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Met[kind+"/"+state]++
}
