package wire

import (
	"net"
	"sync"
	"time"
)

// Counts is what one or more sessions sent and received, upkeep excluded. The zero value counts nothing.
type Counts struct {
	Requests      [maxOpcode + 1]int64 // by opcode, counted as they leave
	Failed        [maxOpcode + 1]int64 // by opcode: answered with an error
	Notifications [5]int64             // by event type; [0] holds types unknown to this package
	BytesOut      int64                // requests, with their length prefix
	BytesIn       int64                // replies and notifications, with their length prefix
	Upkeep        int64                // frames of the session's own upkeep, both directions
}

// Add adds o to c.
func (c *Counts) Add(o Counts) { c.accumulate(o, 1) }

// Sub subtracts o from c; with o an earlier reading of the same ledgers, what is left happened in between.
func (c *Counts) Sub(o Counts) { c.accumulate(o, -1) }

func (c *Counts) accumulate(o Counts, sign int64) {
	for i := range c.Requests {
		c.Requests[i] += sign * o.Requests[i]
		c.Failed[i] += sign * o.Failed[i]
	}
	for i := range c.Notifications {
		c.Notifications[i] += sign * o.Notifications[i]
	}
	c.BytesOut += sign * o.BytesOut
	c.BytesIn += sign * o.BytesIn
	c.Upkeep += sign * o.Upkeep
}

// TotalRequests returns the number of requests of any kind.
func (c *Counts) TotalRequests() int64 { return sum(c.Requests[:]) }

// TotalNotifications returns the number of notifications of any type.
func (c *Counts) TotalNotifications() int64 { return sum(c.Notifications[:]) }

// Writes returns the number of write requests, and how many of them were answered with an error.
func (c *Counts) Writes() (total, failed int64) {
	for op := range c.Requests {
		if Opcode(op).IsWrite() {
			total += c.Requests[op]
			failed += c.Failed[op]
		}
	}
	return total, failed
}

func sum(values []int64) int64 {
	var total int64
	for _, v := range values {
		total += v
	}
	return total
}

// Notification is one watch event as it arrived on the wire.
type Notification struct {
	At   time.Duration // since the ledger's epoch
	Zxid int64         // the transaction that caused it; -1 from servers before 3.9, and from all if sent again after a reconnect
	Type EventType
	Path string
}

// Ledger is the account of one session over all its connections. Its methods may be called concurrently.
type Ledger struct {
	epoch time.Time

	mu             sync.Mutex
	counts         Counts
	entries        []entry
	paths          []byte // the paths of entries, one after another
	armed          int
	inFlight       int
	dials          int
	sessionTimeout time.Duration
	unmatched      int64
	caughtUp       int64
}

// entry is a Notification without pointers: a run holds hundreds of thousands, and the garbage collector skips them.
type entry struct {
	at      time.Duration
	zxid    int64
	typ     EventType
	pathEnd int
}

// NewLedger returns an empty ledger. Ledgers whose notifications are to be compared share one epoch.
func NewLedger(epoch time.Time) *Ledger { return &Ledger{epoch: epoch} }

// Dial opens a counted TCP connection; it is the dialer to give to zk.WithDialer.
func (l *Ledger) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return l.Wrap(conn), nil
}

// Wrap counts a connection that is already open and on which nothing has been sent.
func (l *Ledger) Wrap(conn net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	l.inFlight = 0
	c := &countingConn{Conn: conn, ledger: l}
	c.onRequest, c.onReply = c.request, c.reply
	return c
}

// Counts returns the totals so far.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Notifications returns a copy of all notifications, in the order of their arrival.
func (l *Ledger) Notifications() []Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths := string(l.paths)
	out := make([]Notification, len(l.entries))
	start := 0
	for i, e := range l.entries {
		out[i] = Notification{At: e.at, Zxid: e.zxid, Type: e.typ, Path: paths[start:e.pathEnd]}
		start = e.pathEnd
	}
	return out
}

// Settled tells that every request has been answered and at least one watch is armed: the session waits for a
// notification and for nothing else. Watches that one session sets twice on one path count twice, so that a session
// with such a watch may look settled too early; no recipe here sets one while it waits.
func (l *Ledger) Settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && l.armed > 0
}

// Notified returns how many notifications have arrived.
func (l *Ledger) Notified() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// CaughtUp returns the largest zxid in the header of any reply. All notifications of transactions up to that one have
// arrived: a server sends a session what happened in order, and tells in each reply how far it had come.
func (l *Ledger) CaughtUp() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.caughtUp
}

// Reconnects returns how often the session was re-attached over a new connection.
func (l *Ledger) Reconnects() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.dials-1, 0)
}

// SessionTimeout returns the timeout that the server granted, which may differ from what was asked for; zero before
// the session exists.
func (l *Ledger) SessionTimeout() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessionTimeout
}

// Unmatched returns the number of replies that answered no request the ledger saw leave. Anything but zero means that
// the ledger misread the connection and its counts are void.
func (l *Ledger) Unmatched() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unmatched
}
