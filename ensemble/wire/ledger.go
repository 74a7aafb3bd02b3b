package wire

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Counts holds the numbers of frames and bytes that sessions sent and received. Housekeeping, which the package comment
// defines, is in its own field only.
type Counts struct {
	Requests      [maxOpcode + 1]int64 // by opcode, counted as they leave
	Failed        [maxOpcode + 1]int64 // by opcode; requests that were answered with an error
	Notifications [5]int64             // by event type; [0] counts types that this package does not know
	BytesOut      int64                // of requests, with their length prefixes
	BytesIn       int64                // of replies and notifications, with their length prefixes
	Housekeeping  int64                // frames in both directions that no recipe causes
}

// Add adds o to c.
func (c *Counts) Add(o Counts) { c.accumulate(o, 1) }

// Sub subtracts o from c. If o is an earlier reading of the same ledgers, c then holds the counts since that reading.
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
	c.Housekeeping += sign * o.Housekeeping
}

// TotalRequests returns the number of requests of any kind.
func (c *Counts) TotalRequests() int64 { return sum(c.Requests[:]) }

// TotalNotifications returns the number of notifications of any type.
func (c *Counts) TotalNotifications() int64 { return sum(c.Notifications[:]) }

// Writes returns the number of write requests, and the number of those that were answered with an error.
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

// Notification is one watch event that a server sent to a session.
type Notification struct {
	At   time.Duration // since the ledger's epoch
	Zxid int64         // the transaction that caused it; -1 before ZooKeeper 3.9, and for events sent again after a reconnect
	Type EventType
	Path string
}

// Ledger counts the frames that one session sends and receives over all its connections. Its methods may be called
// concurrently.
type Ledger struct {
	epoch time.Time

	mu             sync.Mutex
	counts         Counts
	entries        []entry // the notifications since the last call of TakeNotifications
	paths          []byte  // the paths of entries, one after another
	armed          int     // watches that are set and have not fired
	inFlight       int     // requests without a reply on the current connection; housekeeping is left out
	dials          int     // connections so far
	sessionTimeout time.Duration
	unmatched      int64 // frames that are malformed or answer no known request
	lastZxid       int64 // the largest zxid in the header of a reply
	session        Session
}

// entry is a Notification whose path ends at pathEnd in the ledger's paths. Recording an entry allocates only when
// entries or paths must grow; they keep their capacity.
type entry struct {
	at      time.Duration
	zxid    int64
	typ     EventType
	pathEnd int
}

// NewLedger returns an empty ledger. Times of different ledgers can be compared if the ledgers have the same epoch.
func NewLedger(epoch time.Time) *Ledger { return &Ledger{epoch: epoch} }

// Dial opens a TCP connection whose frames the ledger counts. It is an argument for zk.WithDialer.
func (l *Ledger) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return l.Wrap(conn), nil
}

// Wrap returns conn with its frames counted. Nothing may have been sent on conn before.
func (l *Ledger) Wrap(conn net.Conn) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	l.inFlight = 0
	c := &Conn{Conn: conn, ledger: l}
	c.onRequest, c.onReply = c.request, c.reply
	return c
}

// read returns the value of one of the ledger's fields.
func read[T any](l *Ledger, field *T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *field
}

// Counts returns the totals so far.
func (l *Ledger) Counts() Counts { return read(l, &l.counts) }

// Requested returns the number of requests so far, without housekeeping. It is cheaper than Counts.
func (l *Ledger) Requested() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts.TotalRequests()
}

// Notified returns the number of notifications so far, including those that TakeNotifications has returned.
func (l *Ledger) Notified() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.counts.TotalNotifications())
}

// TakeNotifications appends to dst the notifications that have arrived since its last call, in the order of their
// arrival, and removes them from the ledger. After a call that begins at time T, no later call returns a notification
// whose At is before T, because time stamp and recording take place under one lock.
func (l *Ledger) TakeNotifications(dst []Notification) []Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths, start := string(l.paths), 0 // one allocation for all paths
	dst = slices.Grow(dst, len(l.entries))
	for _, e := range l.entries {
		dst = append(dst, Notification{At: e.at, Zxid: e.zxid, Type: e.typ, Path: paths[start:e.pathEnd]})
		start = e.pathEnd
	}
	l.entries, l.paths = l.entries[:0], l.paths[:0]
	return dst
}

// Idle reports whether every request has been answered and at least one watch is set, so that the session waits only
// for a notification. If a session sets a watch twice on one path, the watch counts twice and fires once, and Idle may
// then return true too early. No recipe does this while it waits.
func (l *Ledger) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && l.armed > 0
}

// LastZxid returns the largest zxid in the header of any reply, including replies to pings, or zero before the first
// reply. All notifications of transactions up to that zxid have arrived, because a server sends a session its replies
// and notifications in the order of the transactions. On an idle session, only pings move it forward. They are sent
// every third of the session timeout.
func (l *Ledger) LastZxid() int64 { return read(l, &l.lastZxid) }

// Reconnects returns the number of connections after the first one, including those on which the session was not
// resumed.
func (l *Ledger) Reconnects() int { return max(read(l, &l.dials)-1, 0) }

// SessionTimeout returns the timeout that the server granted, or zero before the session exists.
func (l *Ledger) SessionTimeout() time.Duration { return read(l, &l.sessionTimeout) }

// Session returns the session that the last handshake opened or resumed. It is zero if there is none.
func (l *Ledger) Session() Session { return read(l, &l.session) }

// Unmatched returns the number of frames that are malformed or answer no request that the ledger saw. If it is not
// zero, the counts are not reliable.
func (l *Ledger) Unmatched() int64 { return read(l, &l.unmatched) }
