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

// accounts holds a ledger for each session. A session without a connection for longer than its timeout is reported as over. It is
// forgotten after twice its timeout, and at least a minute.
type accounts struct {
	epoch    time.Time
	observer wire.Tap

	mu   sync.Mutex
	all  map[*account]struct{}
	byID map[int64]*account
}

// account is one session. It is the tap of its ledger, and passes everything on to the observer.
type account struct {
	wire.Tap
	ledger *wire.Ledger
	id     atomic.Int64 // zero before the server has opened the session
	over   atomic.Bool  // its client has closed it, or knows that it has ended

	// What follows is guarded by the lock of all accounts.
	links     int
	left      time.Time // when the last connection ended
	unmatched int64     // frames that were reported
	silent    bool      // reported as over, because it had no connection
}

func newAccounts(epoch time.Time, observer wire.Tap) *accounts {
	return &accounts{epoch: epoch, observer: observer, all: map[*account]struct{}{}, byID: map[int64]*account{}}
}

// join returns the account of the session that a client wants to resume, or a new one for id 0.
func (as *accounts) join(id int64) *account {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.byID[id]
	if a == nil || a.over.Load() {
		a = &account{Tap: as.observer}
		a.ledger = wire.NewTapped(as.epoch, a)
		as.all[a] = struct{}{}
	}
	a.links++
	a.silent = false
	return a
}

func (as *accounts) register(a *account) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.byID[a.id.Load()] = a
}

// leave ends a connection's part in an account. It returns the number of frames that matched nothing since the last call.
func (as *accounts) leave(a *account) (unmatched int64) {
	as.mu.Lock()
	defer as.mu.Unlock()
	total := a.ledger.Unmatched()
	unmatched, a.unmatched = total-a.unmatched, total
	a.links--
	a.left = time.Now()
	if a.links == 0 && (a.over.Load() || a.id.Load() == 0) {
		as.forget(a)
	}
	return unmatched
}

// forget removes an account without connections. The accounts are locked.
func (as *accounts) forget(a *account) {
	delete(as.all, a)
	if id := a.id.Load(); as.byID[id] == a {
		delete(as.byID, id)
	}
}

// sweep reports the sessions that have had no connection for too long, and forgets those that servers must have ended.
func (as *accounts) sweep(now time.Time) {
	for _, a := range as.silent(now) {
		as.observer.Over(a.id.Load(), true)
	}
}

// silent returns the sessions that have had no connection for too long since the last call. It forgets those that servers must have
// ended.
func (as *accounts) silent(now time.Time) (out []*account) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for a := range as.all {
		timeout, alone := a.ledger.SessionTimeout(), now.Sub(a.left)
		if a.links > 0 {
			continue
		}
		if alone > timeout+ticks && !a.silent {
			a.silent = true
			out = append(out, a)
		}
		if alone > max(2*timeout, leastKept) {
			as.forget(a)
		}
	}
	return out
}

// Connected implements [wire.Tap]. The ledger is locked, so the accounts must not be locked here.
func (a *account) Connected(session int64, resumed bool, timeout time.Duration) {
	a.id.Store(session)
	a.Tap.Connected(session, resumed, timeout)
}

// Over implements [wire.Tap]. The ledger is locked, so the accounts must not be locked here.
func (a *account) Over(session int64, expired bool) {
	a.over.Store(true)
	a.Tap.Over(session, expired)
}
