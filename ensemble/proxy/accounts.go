package proxy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	// leastKept is the least time for which a session without a connection is kept, so that a client that comes back finds its account.
	leastKept = time.Minute
	// sweepEvery is how often the accounts are searched for sessions that have had no connection for too long.
	sweepEvery = time.Second
	// ticks is how much longer than its timeout a server may keep a session: it checks once per tick.
	ticks = 3 * time.Second
)

// accounts holds a ledger for each session that a server has opened. A session without a connection for longer than its timeout is
// reported as over. It is forgotten after twice its timeout, and at least a minute. A ledger that is locked may lock the accounts, and not
// the other way round.
type accounts struct {
	epoch    time.Time
	observer wire.Tap

	mu   sync.Mutex
	byID map[int64]*account
}

// account is one session. It is the tap of its ledger, and passes everything on to the observer.
type account struct {
	wire.Tap
	all    *accounts
	ledger *wire.Ledger
	id     atomic.Int64 // zero before the server has opened the session
	over   atomic.Bool  // its client has closed it, or knows that it has ended

	// What follows is guarded by the lock of all accounts.
	timeout   time.Duration
	links     int
	left      time.Time // when the last connection ended
	unmatched int64     // frames that were reported
	silent    bool      // reported as over, because it had no connection
}

// join returns the account of the session that a client wants to resume, or a new one for id 0.
func (as *accounts) join(id int64) *account {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.byID[id]
	if a == nil || a.over.Load() {
		a = &account{Tap: as.observer, all: as}
		a.ledger = wire.NewTapped(as.epoch, a)
	}
	a.links++
	a.silent = false
	return a
}

// leave ends a connection's part in an account. It returns the number of frames that matched nothing since the last call.
func (as *accounts) leave(a *account) (unmatched int64) {
	total := a.ledger.Unmatched()
	as.mu.Lock()
	defer as.mu.Unlock()
	unmatched = max(total-a.unmatched, 0)
	a.unmatched += unmatched
	a.links--
	a.left = time.Now()
	if a.links == 0 && a.over.Load() {
		as.forget(a)
	}
	return unmatched
}

// forget removes an account without connections. The accounts are locked.
func (as *accounts) forget(a *account) {
	if id := a.id.Load(); as.byID[id] == a {
		delete(as.byID, id)
	}
}

// silent returns the sessions that have had no connection for too long since the last call. It forgets those that servers must have ended.
func (as *accounts) silent(now time.Time) (out []*account) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, a := range as.byID {
		alone := now.Sub(a.left)
		if a.links > 0 {
			continue
		}
		if alone > a.timeout+ticks && !a.silent {
			a.silent = true
			out = append(out, a)
		}
		if alone > max(2*a.timeout, leastKept) {
			as.forget(a)
		}
	}
	return out
}

// Connected implements [wire.Tap].
func (a *account) Connected(session int64, resumed bool, timeout time.Duration) {
	a.all.mu.Lock()
	a.id.Store(session)
	a.timeout = timeout
	a.all.byID[session] = a
	a.all.mu.Unlock()
	a.Tap.Connected(session, resumed, timeout)
}

// Over implements [wire.Tap].
func (a *account) Over(session int64, expired bool) {
	a.over.Store(true)
	a.Tap.Over(session, expired)
}
