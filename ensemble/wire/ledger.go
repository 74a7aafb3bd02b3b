package wire

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/list"
)

// Counts holds the numbers of frames and bytes that sessions sent and received. Housekeeping, which the package comment
// defines, is in its own fields and in Answers only.
type Counts struct {
	Requests      [OpCloseSession + 1]int64 // by opcode, counted when they are sent
	Failed        [OpCloseSession + 1]int64 // by opcode; requests that were answered with an error
	Watches       [OpCloseSession + 1]int64 // by opcode; requests whose reply says that a watch is set, also one that was set before
	Notifications [5]int64                  // by event type; [0] counts types that this package does not know
	BytesOut      int64                     // of requests, with their length prefixes
	BytesIn       int64                     // of replies and notifications, with their length prefixes
	Housekeeping  int64                     // frames in both directions that no recipe causes

	HousekeepingSent int64 // the part of Housekeeping that was sent
	Answers          int64 // to requests and housekeeping, including those that arrived after the end of a connection

	// Of connections that ended. None of these is in the counts above, except LostReplies in Answers, and ResentNotifications.
	LostReplies          int64 // that arrived after the end
	LostNotifications    int64 // that arrived after the end; the servers' counters include them
	ResentNotifications  int64 // for watches that were set again; the servers' counters leave them out
	UnknownTransactions  int64 // at most so many of the writes and sessions were not made: the reply is missing
	UnknownNotifications int64 // at most so many more were sent: watches that may have been set when a connection ended at the server

	// Of sessions, each of which is opened and ended by a transaction.
	SessionsOpened int64
	SessionsClosed int64 // that the client knows to have ended; the servers end an abandoned one later
}

// Add adds each number of o to c.
func (c *Counts) Add(o Counts) { c.accumulate(o, 1) }

// Sub subtracts o from c. If o is an earlier reading of the same ledgers, c then holds the counts since that reading.
func (c *Counts) Sub(o Counts) { c.accumulate(o, -1) }

func (c *Counts) accumulate(o Counts, sign int64) {
	for i := range c.Requests {
		c.Requests[i] += sign * o.Requests[i]
		c.Failed[i] += sign * o.Failed[i]
		c.Watches[i] += sign * o.Watches[i]
	}
	for i := range c.Notifications {
		c.Notifications[i] += sign * o.Notifications[i]
	}
	theirs := o.scalars()
	for i, field := range c.scalars() {
		*field += sign * *theirs[i]
	}
}

func (c *Counts) scalars() []*int64 {
	return []*int64{
		&c.BytesOut, &c.BytesIn, &c.Housekeeping, &c.HousekeepingSent, &c.Answers,
		&c.LostReplies, &c.LostNotifications, &c.ResentNotifications, &c.UnknownTransactions, &c.UnknownNotifications,
		&c.SessionsOpened, &c.SessionsClosed,
	}
}

// Traffic counts requests and bytes of sessions, without housekeeping.
type Traffic struct {
	Requests int64
	BytesIn  int64 // of replies and notifications, with their length prefixes

	FailedRequests int64 // that were answered with an error
}

// Add adds o to t.
func (t *Traffic) Add(o Traffic) {
	t.Requests += o.Requests
	t.BytesIn += o.BytesIn
	t.FailedRequests += o.FailedRequests
}

// Traffic returns the traffic of the counts.
func (c *Counts) Traffic() Traffic {
	return Traffic{Requests: c.TotalRequests(), BytesIn: c.BytesIn, FailedRequests: list.Sum(c.Failed[:])}
}

// TotalRequests returns the number of requests of any kind, without housekeeping.
func (c *Counts) TotalRequests() int64 { return list.Sum(c.Requests[:]) }

// CountNotification counts a notification. It counts types that this package does not know as type 0.
func (c *Counts) CountNotification(t EventType) {
	if t < 0 || int(t) >= len(c.Notifications) {
		t = 0
	}
	c.Notifications[t]++
}

// Sent returns the number of frames that were sent, with housekeeping.
func (c *Counts) Sent() int64 { return c.TotalRequests() + c.HousekeepingSent }

// TotalNotifications returns the number of notifications of any type.
func (c *Counts) TotalNotifications() int64 { return list.Sum(c.Notifications[:]) }

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

// Notification is one watch event that a server sent to a session.
type Notification struct {
	At   time.Duration // since the ledger's epoch
	Zxid int64         // the transaction that caused it; -1 if the server does not name it, and for events sent again after a reconnect
	Type EventType
	Path string
}

// Ledger counts the frames that one session sends and receives over all its connections. Its methods may be called concurrently.
type Ledger struct {
	*tally
	epoch   time.Time
	further bool // see Further
	tap     Tap  // nil unless the session is another program's

	watches        watchSet // that the client holds
	resumed        bool     // the watches are set on the current connection
	inFlight       int      // requests without a reply on the current connection; housekeeping is left out
	notified       bool     // since the last request was sent
	conn           *Conn    // the latest one; nil before the first
	sessionTimeout time.Duration
	lastZxid       int64   // the largest zxid in the header of a reply
	shown          int64   // like lastZxid, without housekeeping: the client library does not report that to its next server
	session        Session // of the last handshake
	alive          bool    // the session exists, as far as is known
	over           bool    // the client knows that the session has ended

	sends map[string]chan struct{} // by path; closed when the next request for it is about to be sent
}

// tally is the joint counts of a client's session and its further sessions. Its mutex guards all of their ledgers.
type tally struct {
	mu          sync.Mutex
	counts      Counts
	entries     []entry  // the notifications since the last call of TakeNotifications
	paths       []byte   // the paths of entries, one after another
	keepsWrites bool     // paths are appended to writes
	writes      []string // the paths of the writes since the last call of TakeWrites
	reconnects  int      // connections after the first one of each session
	unmatched   int64    // frames that are malformed or answer no known request
	latest      int64    // the largest zxid in the header of a reply to any of the sessions
	seen        int64    // the largest zxid of a reply or a notification to any of them
	blind       bool     // since seen, a notification has not named its transaction
	next        *Write   // marks the next write; nil unless Sight was called since the last one
	traps       []*Trap
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
func NewLedger(epoch time.Time) *Ledger {
	return &Ledger{tally: &tally{}, epoch: epoch, sends: map[string]chan struct{}{}}
}

// Further returns the ledger of a further session, which the client opens as a part of its work. Everything that it counts is included
// in l: counts, notifications, writes, reconnects and frames that match nothing. The further session is opened and closed by the
// recipe, so both count as requests of the recipe: see [OpCreateSession].
func (l *Ledger) Further() *Ledger {
	return &Ledger{tally: l.tally, epoch: l.epoch, further: true, sends: map[string]chan struct{}{}}
}

// Wrap returns conn with its frames counted. Nothing may have been sent on conn before.
func (l *Ledger) Wrap(conn net.Conn) *Conn {
	c := &Conn{Conn: conn, reading: dial.NewMutex(), writing: dial.NewMutex()}
	l.attach(c)
	return c
}

// attach makes a connection the session's.
func (l *Ledger) attach(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.reconnects++
	}
	l.conn, l.inFlight = c, 0
	c.ledger, c.out.frame, c.in.frame = l, c.request, c.reply
}

// Session identifies a session to the servers.
type Session struct {
	ID       int64 // zero if there is no session
	Password []byte
}

// begin records the session of a handshake; its ID is zero if the servers say that the session has ended.
func (l *Ledger) begin(s Session) {
	if s.ID == l.session.ID && l.alive { // moved to this connection
		l.resumed = len(l.watches) == 0
		return
	}
	l.closed(true)
	l.over = l.over || l.session.ID != 0 && s.ID == 0
	l.session, l.alive, l.resumed, l.shown = s, s.ID != 0, true, 0
	clear(l.watches)
	if l.alive {
		l.counts.SessionsOpened++
	}
}

func (l *Ledger) closed(expired bool) {
	if !l.alive {
		return
	}
	l.alive = false
	l.counts.SessionsClosed++
	if l.tap != nil {
		l.tap.Over(l.session.ID, expired)
	}
}

func (l *Ledger) record(n Notification, path []byte, length int) {
	if l.tap != nil {
		n.Path = known(path)
		l.tap.Notified(l.session.ID, n)
	} else {
		l.paths = append(l.paths, path...)
		l.entries = append(l.entries, entry{at: n.At, zxid: n.Zxid, typ: n.Type, pathEnd: len(l.paths)})
	}
	l.seen = max(l.seen, n.Zxid)
	l.blind = l.blind || n.Zxid <= 0
	l.counts.CountNotification(n.Type)
	l.counts.BytesIn += int64(length) + 4
	l.notified = true
}

// Closed records that the session has been closed by another connection.
func (l *Ledger) Closed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed(false)
}

func read[T any](l *Ledger, field *T) T { return locked(l, func() T { return *field }) }

func locked[T any](l *Ledger, get func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return get()
}

// Counts returns the totals so far.
func (l *Ledger) Counts() Counts { return read(l, &l.counts) }

// Traffic returns the traffic so far. It is cheaper than Counts.
func (l *Ledger) Traffic() Traffic { return locked(l, l.counts.Traffic) }

// Notified returns the number of notifications so far, including those that TakeNotifications has returned.
func (l *Ledger) Notified() int { return int(locked(l, l.counts.TotalNotifications)) }

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
// for a notification. It returns false from the end of a connection until the client's watches are set on the next one.
func (l *Ledger) Idle() bool { return locked(l, l.idle) }

func (l *Ledger) idle() bool { return l.inFlight == 0 && len(l.watches) > 0 && l.resumed }

// Undisturbed reports whether the session is idle, see [Ledger.Idle], and not disturbed, see [Ledger.Disturbed]. It is for clients of
// which only the frames are known: a client that has been notified may be about to act on it.
func (l *Ledger) Undisturbed() bool { return locked(l, func() bool { return l.idle() && !l.notified }) }

// Disturbed reports whether a notification has come since the session's last request. The client library may not have passed it on
// yet. That is certain only when it returns from a later request.
func (l *Ledger) Disturbed() bool { return read(l, &l.notified) }

// Outstanding reports whether a request has been sent and neither answered nor lost.
func (l *Ledger) Outstanding() bool { return locked(l, func() bool { return l.inFlight > 0 }) }

// LastZxid returns the largest zxid in the header of any reply, including replies to pings, or zero before the first reply. All
// notifications of transactions up to that zxid have arrived, because a server sends a session its replies and notifications in the order
// of the transactions. On an idle session, only pings move it forward. They are sent every third of the session timeout.
func (l *Ledger) LastZxid() int64 { return read(l, &l.lastZxid) }

// LatestZxid returns the largest LastZxid of the session and its further sessions, including those that have been closed.
func (l *Ledger) LatestZxid() int64 { return read(l, &l.latest) }

// Reconnects returns the number of connections after the first one, including those on which the session was not resumed.
func (l *Ledger) Reconnects() int { return read(l, &l.reconnects) }

// SessionTimeout returns the timeout that the server granted, or zero before the session exists.
func (l *Ledger) SessionTimeout() time.Duration { return read(l, &l.sessionTimeout) }

// Patience returns how long the client waits for the answer to a connect request by which its session moves to another of some servers.
// Like ZooKeeper's own client, it divides the session timeout by the number of servers. It is zero for a new session, because each
// further request would open another one, and for a session with a single server.
func (l *Ledger) Patience(servers int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if servers < 2 || l.session.ID == 0 {
		return 0
	}
	return l.sessionTimeout / time.Duration(servers)
}

// Session returns the session that the last handshake opened or resumed. It is zero if there is none.
func (l *Ledger) Session() Session { return read(l, &l.session) }

// Over reports whether the client has learned from a handshake that its session has ended.
func (l *Ledger) Over() bool { return read(l, &l.over) }

// Unmatched returns the number of frames that are malformed or answer no request that the ledger saw. If it is not
// zero, the counts are not reliable.
func (l *Ledger) Unmatched() int64 { return read(l, &l.unmatched) }
