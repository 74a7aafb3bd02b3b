package session

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Monitor turns the events of a session into the one fact that a holder of something must know: whether the session,
// and with it every ephemeral znode, may be gone.
//
// The server does not tell a client that is cut off. So the monitor takes a session for lost not only when the server
// said that it expired, but also once the connection has been down for so long that it may have: the client notices a
// silent server after two thirds of the session timeout, which leaves one third.
type Monitor struct {
	mu       sync.Mutex
	patience time.Duration // how long the connection may be down
	timer    *time.Timer
	lost     chan struct{}
	over     bool
	session  interface{ Close() }
	tell     func()
	down     bool
	made     time.Time     // when the connection was made again last; zero before
	again    chan struct{} // closed when it is made again the next time
	events   []*Events
}

// NewMonitor returns a monitor for a session that will be granted the given timeout.
func NewMonitor(timeout time.Duration) *Monitor {
	return &Monitor{patience: timeout / 3, lost: make(chan struct{}), again: make(chan struct{})}
}

// Lost is closed when the session is lost; it never opens again, even if the client goes on with a new session.
func (m *Monitor) Lost() <-chan struct{} { return m.lost }

// RewatchPause is how long the client library may take, after the connection is made again, to look up the zxid that it
// sends with its watches: the server notifies of all changes since then.
const RewatchPause = 50 * time.Millisecond

// connection returns a channel that is closed when the connection has been lost and made again, and reports whether that happened less than
// a RewatchPause ago. A nil monitor observes no connection.
func (m *Monitor) connection() (again <-chan struct{}, recent bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.again, !m.made.IsZero() && time.Since(m.made) < RewatchPause
}

// WhenLost sets a function that is called when the session is lost, just after Lost is closed. It must not block. Set it before
// the session is opened.
func (m *Monitor) WhenLost(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell = f
}

// Lose takes the session for lost, as when its client has stopped dead.
func (m *Monitor) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
}

// Guard makes the monitor close the session as soon as it is lost, as NewMonitoredSession does for a client library's session. What the
// session held is then given up by the server, too, at the latest when the session timeout has passed there. Without it, a session that
// comes back after its holder was told to stop would hold on for ever.
func (m *Monitor) Guard(session interface{ Close() }) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = session
	if m.over {
		go session.Close()
	}
}

func (m *Monitor) guards() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session != nil
}

// SetTimeout corrects the timeout to the one that the server granted.
func (m *Monitor) SetTimeout(granted time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.patience = granted / 3
}

// SetPatience sets how long the connection may be down before the session is taken for lost, in place of a third of its timeout. It is
// for an owner whose znodes no other client takes over: such an owner may go on while its session may be gone.
func (m *Monitor) SetPatience(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.patience = d
}

// StandStill makes an outage that has begun count from d after now, as for a client that stands still meanwhile, together
// with its timers.
func (m *Monitor) StandStill(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Reset(m.patience + d)
	}
}

// Dismiss ends the monitoring of a session that its owner is about to close. The monitor would otherwise take the end of
// the connection for the beginning of a loss, and keep the session in memory until a timeout has passed.
func (m *Monitor) Dismiss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopTimer()
	m.over = true
}

// Observe takes the session's next event; give it to zk.WithEventCallback. It does not block.
func (m *Monitor) Observe(e zk.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forward(e)
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateExpired, zk.StateAuthFailed:
		m.end()
	case zk.StateDisconnected:
		if m.timer == nil && !m.over {
			m.timer = time.AfterFunc(m.patience, m.giveUp)
		}
	case zk.StateHasSession:
		m.stopTimer()
	}
}

// The caller of forward holds the mutex.
func (m *Monitor) forward(e zk.Event) {
	lost, made := e.State == zk.StateDisconnected && !m.down, e.State == zk.StateHasSession && m.down
	switch {
	case e.Type == zk.EventNotWatching:
		return // the client library gave the watch up with the session
	case e.Type != zk.EventSession:
	case lost:
		m.down = true
	case made:
		m.down, m.made = false, time.Now()
		close(m.again)
		m.again = make(chan struct{})
	default:
		return
	}
	for _, events := range m.events {
		events.add(e)
	}
}

func (m *Monitor) subscribe() *Events {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := &Events{more: make(chan struct{}, 1)}
	m.events = append(m.events, events)
	return events
}

func (m *Monitor) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil { // not reconnected in the very last moment
		m.end()
	}
}

func (m *Monitor) end() {
	m.stopTimer()
	if !m.over {
		m.over = true
		close(m.lost)
		if m.tell != nil {
			m.tell()
		}
		if m.session != nil {
			go m.session.Close() // it may take a second, and the client calls Observe from its own loop
		}
	}
}

func (m *Monitor) stopTimer() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}
