package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results/recorder"
)

const (
	reportedPaths   = 20
	reportedWaiters = 20
)

// Report has the results of an observer's window. Times in JSON are nanoseconds.
type Report struct {
	Length       time.Duration `json:"length_ns"`
	Open         bool          `json:"open"`     // the window has not ended
	Sessions     int           `json:"sessions"` // that exist now
	MostSessions int           `json:"most_sessions"`
	Expired      int64         `json:"expired_sessions"`
	// Learned is the number of sessions since zkbench listens whose clients have read the servers' own addresses, and may connect to them.
	Learned int64 `json:"learned_sessions"`

	Requests      int64 `json:"requests"`
	Failed        int64 `json:"failed"`
	Writes        int64 `json:"writes"` // failed ones included
	FailedWrites  int64 `json:"failed_writes"`
	Notifications int64 `json:"notifications"`
	BytesIn       int64 `json:"bytes_in"`
	BytesOut      int64 `json:"bytes_out"`

	HerdP50     int        `json:"herd_p50"` // notifications of one transaction
	HerdMax     int        `json:"herd_max"`
	HerdGuessed bool       `json:"herd_guessed"` // the servers may not name transactions: herds are grouped by path and time
	Herds       []HerdKind `json:"herds"`        // those with the largest herds first
	OtherHerds  int64      `json:"other_herds"`  // of kinds that are not listed

	Paths      []PathReport `json:"paths"`       // the busiest first
	OtherPaths *PathReport  `json:"other_paths"` // the sum of the paths that are not listed; nil if there are none

	Stuck       []Waiter `json:"stuck"`        // watches that cannot fire, and whose sessions have done nothing since
	MoreStuck   int      `json:"more_stuck"`   // that are not listed
	Cycles      []Cycle  `json:"cycles"`       // sessions that wait for each other
	CyclesFound int64    `json:"cycles_found"` // also those of earlier reports of the window
	StuckEnded  int64    `json:"stuck_ended"`  // sessions that ended while they were stuck
	LeftWatches int      `json:"left_watches"` // watches that cannot fire, of sessions that continued
	Looks       []Look   `json:"looks"`

	// Recent describes an open window. Its operations are successful writes, and its failed requests are of any kind.
	Recent recorder.LastSeconds `json:"-"`

	Incidents      []proxy.Incident             `json:"incidents"` // the latest ones
	IncidentCounts map[proxy.IncidentKind]int64 `json:"incident_counts"`
}

// HerdKind sums up herds with the same cause, up to sequence numbers and ids.
type HerdKind struct {
	Count         int64 `json:"count"`
	Notifications int64 `json:"notifications"`
	P50           int   `json:"p50"`
	Largest       Herd  `json:"largest"`
}

// Herd has the notifications that one transaction caused.
type Herd struct {
	Zxid          string        `json:"zxid"`  // in hexadecimal; empty if it is not known
	Cause         string        `json:"cause"` // such as "delete /q/lock"; empty if it is not known, or not a request through the proxy
	By            string        `json:"by"`    // the session of the cause, in hexadecimal; empty if it is not known
	Event         string        `json:"event"`
	Path          string        `json:"path"` // of the notifications
	Notifications int           `json:"notifications"`
	Sessions      int           `json:"sessions"`
	Spread        time.Duration `json:"spread_ns"` // from the first to the last arrival
	Effects       []Effect      `json:"effects"`   // requests of the receivers soon after
}

// Effect sums up requests that sessions sent within 50 ms after their notification.
type Effect struct {
	Operation string `json:"operation"`
	Failed    bool   `json:"failed"`
	Count     int64  `json:"count"`
	BytesIn   int64  `json:"bytes_in"` // of the replies
}

// PathReport sums up the requests for the znodes of one folded path.
type PathReport struct {
	Path       string            `json:"path"`
	Operations []OperationReport `json:"operations"`
	WatchesSet int64             `json:"watches_set"`
	WatchesNow int64             `json:"watches_now"` // that are set now, see [Report.AddWatches]
	Watchers   int64             `json:"watchers"`    // the sessions that have set them
	Fired      int64             `json:"fired"`
	// Unfollowed counts the notifications that were followed by another one of the path to the same session before a write of that
	// session succeeded.
	Unfollowed int64 `json:"unfollowed"`
}

// OperationReport sums up one kind of request.
type OperationReport struct {
	Operation string           `json:"operation"`
	Count     int64            `json:"count"`
	Failed    map[string]int64 `json:"failed"` // by code
	BytesOut  int64            `json:"bytes_out"`
	BytesIn   int64            `json:"bytes_in"`
}

// Waiter is a session that waits for a notification that does not come: exists has set its watch on a sequential znode that
// was gone, or the session is a part of a [Cycle].
type Waiter struct {
	Session string        `json:"session"` // in hexadecimal
	Path    string        `json:"path"`
	Since   time.Duration `json:"since_ns"` // how long ago the watch was set
}

// Look says which recipe the znodes of a path look like.
type Look struct {
	Path     string `json:"path"`
	Variant  string `json:"variant"`  // such as "lock/children-watch", or only a recipe
	Equal    string `json:"equal"`    // what looks the same, such as "election/master-znode"; empty if there is no such variant
	Better   string `json:"better"`   // a variant of the same recipe with a lower cost for that many sessions; empty if the catalog has none
	Sessions int    `json:"sessions"` // that take part at a time
	Similar  int    `json:"similar"`  // further paths that look the same, and differ from it in digits; of inboxes, all others
	Because  string `json:"because"`
}

// Report returns the results so far.
func (o *Observer) Report() Report {
	now := o.lock()
	defer o.mu.Unlock()
	w := o.window
	w.refold()
	traffic, herds := w.counts.Traffic(), w.kinds.sizes.herd()
	r := w.Report
	r.Length, r.Sessions, r.Learned, r.Looks = w.end-w.start, len(o.sessions), o.learned, w.families.looks()
	r.Requests, r.Failed, r.Notifications = traffic.Requests, traffic.FailedRequests, w.counts.TotalNotifications()
	r.BytesIn, r.BytesOut = traffic.BytesIn, w.counts.BytesOut
	r.Writes, r.FailedWrites = w.counts.Writes()
	r.HerdP50, r.HerdMax, r.HerdGuessed = herds.Quantile(0.5), herds.Max(), !o.herds.named
	r.Herds, r.OtherHerds = w.kinds.report()
	r.Paths, r.OtherPaths = w.paths.report()
	r.Incidents, r.IncidentCounts = slices.Clone(w.Incidents), maps.Clone(w.IncidentCounts)
	if w.Open {
		o.addWaits(&r, now)
		r.Length, r.Recent = now-w.start, w.record.LastSeconds(now)
	}
	return r
}

func (o *Observer) addWaits(r *Report, now time.Duration) {
	var stuck []Waiter
	for _, s := range o.sessions {
		r.LeftWatches += s.left
		stuck = append(stuck, s.stuck(now)...)
	}
	slices.SortFunc(stuck, func(a, b Waiter) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session))
	})
	r.MoreStuck = max(len(stuck)-reportedWaiters, 0)
	r.Stuck = append([]Waiter{}, stuck[:len(stuck)-r.MoreStuck]...)
	r.Cycles = o.cycles(now)
	known := o.cycling
	o.cycling = map[string]bool{}
	for _, c := range r.Cycles {
		if o.cycling[c.key()] = true; !known[c.key()] {
			o.window.CyclesFound++
		}
	}
	r.CyclesFound = o.window.CyclesFound
}

// AddWatches adds the watches that are set now to the paths of a report. For each session, it takes the path of each watch.
func (r *Report) AddWatches(watches map[int64][]string) {
	rows := map[string]*PathReport{}
	for i, p := range r.Paths {
		rows[p.Path] = &r.Paths[i]
	}
	for _, paths := range watches {
		set := map[*PathReport]int64{}
		for _, path := range paths {
			set[rows[fold(path)]]++
		}
		for p, n := range set {
			if p == nil {
				r.OtherPaths = r.OtherPaths.plus(&PathReport{})
				p = r.OtherPaths
			}
			p.WatchesNow += n
			p.Watchers++
		}
	}
}

func sessionName(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }
