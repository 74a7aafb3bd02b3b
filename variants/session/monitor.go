package session

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Monitor watches the events of a session and reports whether the session, and with it all its ephemeral znodes, may be gone.
//
// The server cannot inform a client that is cut off. So the monitor considers a session lost not only when the server said
// that it expired, but also when the connection has been down for so long that it may have expired: the client notices a
// silent server after two thirds of the session timeout, which leaves one third.
type Monitor struct {
	mu       sync.Mutex
	patience time.Duration // how long the connection may be down
	timer    *time.Timer
	lost     chan struct{}
	over     bool
	session  interface{ Close() }
	tell     func() // see WhenLost; may be nil
	down     bool
	made     time.Time     // when the connection was last made again; zero before
	again    chan struct{} // closed when it is made again the next time
	events   []*Events
}

// NewMonitor returns a monitor for a session that will be granted the given timeout.
func NewMonitor(timeout time.Duration) *Monitor {
	return &Monitor{patience: timeout / 3, lost: make(chan struct{}), again: make(chan struct{})}
}

// Lost returns a channel that is closed when the session is lost. It stays closed even if the client library opens a new one.
func (m *Monitor) Lost() <-chan struct{} { return m.lost }

// RewatchPause is how long the client library may take, after the connection is made again, to look up the zxid that it
// sends with its watches: the server notifies of all changes since then.
const RewatchPause = 50 * time.Millisecond

// connection returns a channel that is closed when the connection has been lost and made again, and reports whether that last
// happened less than a RewatchPause ago. It may be called on nil, which observes no connection.
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

// Lose makes the session count as lost, as when its client has stopped dead.
func (m *Monitor) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
}

// Guard makes the monitor close the session as soon as it is lost. Then the server, too, gives up what the session held, at the latest
// after the session timeout. Without Guard, a session that comes back after its holder was told to stop would hold on for ever.
func (m *Monitor) Guard(session interface{ Close() }) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = session
	if m.over {
		go session.Close()
	}
}

// SetTimeout corrects the timeout to the one that the server granted.
func (m *Monitor) SetTimeout(granted time.Duration) { m.SetPatience(granted / 3) }

// SetPatience sets how long the connection may be down before the session counts as lost, in place of a third of its timeout.
// It is for an owner whose znodes no other client takes over: such an owner may continue while its session may be gone.
func (m *Monitor) SetPatience(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.patience = d
}

// StandStill makes an outage that has begun count from d after now. It simulates a client that stands still for d, together
// with its timers.
func (m *Monitor) StandStill(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Reset(m.patience + d)
	}
}

// Dismiss ends the monitoring of a session that its owner is about to close. Otherwise the monitor would consider the end of
// the connection the beginning of a loss, and keep the session in memory until a timeout has passed.
func (m *Monitor) Dismiss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopTimer()
	m.over = true
}

// Observe handles the session's next event; pass it to zk.WithEventCallback. It does not block.
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
