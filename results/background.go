package results

import "time"

// MaxBackgroundRate is the most reads, or writes, that a background sends per second: several times what a small ensemble can answer.
const MaxBackgroundRate = 50_000

// BackgroundLoad is the load of the background: plain reads and writes by sessions that take no part in the recipe. Each request
// is sent when it is due, even if earlier ones are unanswered.
type BackgroundLoad struct {
	Reads    int `json:"reads"`    // per second, over all servers
	Writes   int `json:"writes"`   // per second, over all servers
	Bytes    int `json:"bytes"`    // size of the data of each znode
	Znodes   int `json:"znodes"`   // that are read and written, in turn
	Sessions int `json:"sessions"` // assigned to the servers in turn; in a scenario 0 means one for each server
}

// String returns the load in the notation of the flag --background; empty without one.
func (l *BackgroundLoad) String() string {
	if l == nil {
		return ""
	}
	return notation("reads", l.Reads, "writes", l.Writes, "bytes", l.Bytes, "znodes", l.Znodes, "sessions", l.Sessions)
}

// Background holds the background's requests: before the load of the recipe began, and in the window.
type Background struct {
	Alone BackgroundStretch `json:"alone"`
	// During is the window. It is nil if the background alone saturated the ensemble, so that no load was applied.
	During *BackgroundStretch `json:"during,omitempty"`
}

// BackgroundStretch is a part of a measurement in which the background was on.
type BackgroundStretch struct {
	Start      time.Duration      `json:"start_ns"` // since the measurement's epoch
	End        time.Duration      `json:"end_ns"`
	BacklogMax int64              `json:"backlog_max"` // the most requests at a time that were due and not answered
	Read       BackgroundRequests `json:"read"`
	Write      BackgroundRequests `json:"write"`
}

// BackgroundRequests are the reads or the writes of a stretch.
type BackgroundRequests struct {
	Due      int64     `json:"due"`      // in the stretch
	Answered int64     `json:"answered"` // in the stretch, also those that were due before it; without failed ones
	Failed   int64     `json:"failed"`   // of those due in the stretch
	Response Histogram `json:"response"` // of those due in the stretch, from when they were due
	Service  Histogram `json:"service"`  // of the same, from when they were sent
}

// Length returns the duration of the stretch.
func (s BackgroundStretch) Length() time.Duration { return s.End - s.Start }

// Rate returns how many requests of a kind were answered per second.
func (s BackgroundStretch) Rate(r BackgroundRequests) float64 {
	return float64(r.Answered) / s.Length().Seconds()
}
