package proxy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// leastKept is the shortest time for which a session without a connection is kept, so that one that comes back joins its account.
const leastKept = time.Minute

// accounts holds a ledger for each session. A session without a connection is forgotten after twice its timeout, when no server knows
// it any more; its counts stay in the total.
type accounts struct {
	epoch    time.Time
	observer wire.Tap

	mu      sync.Mutex
	all     map[*account]struct{}
	byID    map[int64]*account
	retired wire.Counts
	swept   time.Time
}

// account is one session.
type account struct {
	accounts *accounts
	ledger   *wire.Ledger
	id       atomic.Int64 // zero before the server has opened the session
	over     atomic.Bool  // as far as its client knows

	// What follows is guarded by the lock of all accounts.
	links     int
	left      time.Time // when the last connection ended
	unmatched int64     // that were reported
}

func newAccounts(epoch time.Time, observer wire.Tap) *accounts {
	return &accounts{epoch: epoch, observer: observer, all: map[*account]struct{}{}, byID: map[int64]*account{}}
}

// join returns the account of the session that a client wants to resume, and a new one for id 0.
func (as *accounts) join(id int64) *account {
	as.sweep(time.Now())
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.byID[id]
	if a == nil || a.over.Load() {
		a = &account{accounts: as}
		a.ledger = wire.NewTapped(as.epoch, a)
		as.all[a] = struct{}{}
	}
	a.links++
	return a
}

// register makes an account known by its session, once the server has opened that. It is called before the client learns of the session.
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
		as.retire(a)
	}
	return unmatched
}

// retire moves the counts of an account without connections to the total. The accounts are locked.
func (as *accounts) retire(a *account) {
	as.retired.Add(a.ledger.Counts())
	delete(as.all, a)
	if id := a.id.Load(); as.byID[id] == a {
		delete(as.byID, id)
	}
}

// sweep retires the sessions that have had no connection for too long, at most once a second.
func (as *accounts) sweep(now time.Time) {
	for _, a := range as.forgotten(now) {
		as.observer.Over(a.id.Load(), true)
	}
}

// forgotten retires and returns the sessions that have had no connection for too long.
func (as *accounts) forgotten(now time.Time) (out []*account) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if now.Sub(as.swept) < time.Second {
		return nil
	}
	as.swept = now
	for a := range as.all {
		if a.links == 0 && now.Sub(a.left) > max(2*a.ledger.SessionTimeout(), leastKept) {
			as.retire(a)
			out = append(out, a)
		}
	}
	return out
}

// counts returns the totals of all accounts.
func (as *accounts) counts() wire.Counts {
	as.mu.Lock()
	defer as.mu.Unlock()
	total := as.retired
	for a := range as.all {
		total.Add(a.ledger.Counts())
	}
	return total
}

// alive returns the number of sessions that are not over.
func (as *accounts) alive() int {
	as.sweep(time.Now())
	as.mu.Lock()
	defer as.mu.Unlock()
	n := 0
	for a := range as.all {
		if a.id.Load() != 0 && !a.over.Load() {
			n++
		}
	}
	return n
}

// Connected implements [wire.Tap]. The ledger is locked, so that the accounts must not be.
func (a *account) Connected(session int64, resumed bool, timeout time.Duration) {
	a.id.Store(session)
	a.accounts.observer.Connected(session, resumed, timeout)
}

// Exchanged implements [wire.Tap].
func (a *account) Exchanged(session int64, e wire.Exchange) {
	a.accounts.observer.Exchanged(session, e)
}

// Notified implements [wire.Tap].
func (a *account) Notified(session int64, n wire.Notification) {
	a.accounts.observer.Notified(session, n)
}

// Over implements [wire.Tap]. The ledger is locked, so that the accounts must not be.
func (a *account) Over(session int64, expired bool) {
	a.over.Store(true)
	a.accounts.observer.Over(session, expired)
}
