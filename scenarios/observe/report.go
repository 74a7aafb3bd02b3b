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

// Report is what an observer has seen in its window. Times in JSON are nanoseconds.
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
	OtherPaths *PathReport  `json:"other_paths"` // the sum of those that are not listed; nil if there are none

	Stuck       []Waiter `json:"stuck"`        // watches that cannot fire, and whose sessions have done nothing since
	MoreStuck   int      `json:"more_stuck"`   // that are not listed
	StuckEnded  int64    `json:"stuck_ended"`  // sessions that ended while they were stuck
	LeftWatches int      `json:"left_watches"` // watches that cannot fire, of sessions that went on
	Looks       []Look   `json:"looks"`

	// Recent is that of a window that is open. Its operations are the writes that succeeded, its failed requests those of any kind.
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

// Herd is the notifications that one transaction caused.
type Herd struct {
	Zxid          string        `json:"zxid"`  // in hexadecimal; empty if it is not known
	Cause         string        `json:"cause"` // such as "delete /q/lock"; empty if it is not known, or is no request through the proxy
	By            string        `json:"by"`    // the session of the cause, in hexadecimal; empty if it is not known
	Event         string        `json:"event"`
	Path          string        `json:"path"` // of the notifications
	Notifications int           `json:"notifications"`
	Sessions      int           `json:"sessions"`
	Spread        time.Duration `json:"spread_ns"` // from the first to the last arrival
	Effects       []Effect      `json:"effects"`   // what the receivers sent soon after
}

// Effect sums up requests that sessions sent within 50 ms after their notification.
type Effect struct {
	Operation string `json:"operation"`
	Failed    bool   `json:"failed"`
	Count     int64  `json:"count"`
	BytesIn   int64  `json:"bytes_in"` // of the replies
}

// PathReport is what happened to the znodes of one folded path.
type PathReport struct {
	Path       string            `json:"path"`
	Operations []OperationReport `json:"operations"`
	WatchesSet int64             `json:"watches_set"`
	Fired      int64             `json:"fired"`
	// Unfollowed counts the notifications that were followed by another one of the path to the same session before a write of that
	// session succeeded.
	Unfollowed int64 `json:"unfollowed"`
}

// OperationReport is what one kind of request did.
type OperationReport struct {
	Operation string           `json:"operation"`
	Count     int64            `json:"count"`
	Failed    map[string]int64 `json:"failed"` // by code
	BytesOut  int64            `json:"bytes_out"`
	BytesIn   int64            `json:"bytes_in"`
}

// Waiter is a session that waits for a notification that does not come: exists has set its watch on a sequential znode that was gone.
type Waiter struct {
	Session string        `json:"session"` // in hexadecimal
	Path    string        `json:"path"`
	Since   time.Duration `json:"since_ns"` // how long ago the watch was set
}

// Look says which recipe the znodes below a path are used like.
type Look struct {
	Path    string `json:"path"`
	Variant string `json:"variant"` // such as "lock/children-watch"
	Better  string `json:"better"`  // a variant of the same recipe with a lower cost; empty if the catalog has none
	Because string `json:"because"`
}

// Report returns what has been seen so far.
func (o *Observer) Report() Report {
	now := o.lock()
	defer o.mu.Unlock()
	w := o.window
	traffic, herds := w.counts.Traffic(), w.kinds.sizes.herd()
	r := Report{
		Length: w.length(now), Open: w.open, Sessions: len(o.sessions), MostSessions: w.mostSessions,
		Expired: w.expired, Learned: o.learned, StuckEnded: w.stuckEnded,
		Requests: traffic.Requests, Failed: traffic.FailedRequests, Notifications: w.counts.TotalNotifications(),
		BytesIn: traffic.BytesIn, BytesOut: w.counts.BytesOut,
		HerdP50: herds.Quantile(0.5), HerdMax: herds.Max(), HerdGuessed: !o.herds.named,
		Looks: w.families.looks(), Incidents: slices.Clone(w.incidents), IncidentCounts: maps.Clone(w.incidentCounts),
	}
	r.Writes, r.FailedWrites = w.counts.Writes()
	r.Herds, r.OtherHerds = w.kinds.report()
	r.Paths, r.OtherPaths = w.paths.report()
	r.addWaits(w.waits)
	if w.open {
		r.addWaits(o.waits(now))
		r.Recent = w.record.LastSeconds(now)
	}
	return r
}

// waits is what is known of watches that cannot fire.
type waits struct {
	stuck []Waiter // those of the longest waits first
	left  int
}

// waits returns the watches that cannot fire.
func (o *Observer) waits(now time.Duration) (found waits) {
	for _, s := range o.sessions {
		found.left += s.left
		found.stuck = append(found.stuck, s.stuck(now)...)
	}
	slices.SortFunc(found.stuck, func(a, b Waiter) int { return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Path, b.Path)) })
	return found
}

// addWaits adds the first of them to a report.
func (r *Report) addWaits(w waits) {
	r.MoreStuck = max(len(w.stuck)-reportedWaiters, 0)
	r.Stuck = append([]Waiter{}, w.stuck[:len(w.stuck)-r.MoreStuck]...)
	r.LeftWatches = w.left
}

func sessionName(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }

// report returns the kinds with the largest herds, and the number of herds of others.
func (hk *herdKinds) report() (kinds []HerdKind, others int64) {
	kinds, others = []HerdKind{}, hk.gone
	for i, k := range hk.sorted() {
		if i >= reportedKinds {
			others += k.sizes.count()
			continue
		}
		one := HerdKind{Count: k.sizes.count(), P50: k.sizes.herd().Quantile(0.5), Largest: k.largest.report()}
		for size, n := range k.sizes {
			one.Notifications += int64(size) * n
		}
		kinds = append(kinds, one)
	}
	return kinds, others
}

func (h *herd) report() Herd {
	out := Herd{
		Event: h.typ.String(), Path: h.path, Notifications: h.size, Sessions: h.sessions, Spread: h.last - h.first, Effects: []Effect{},
	}
	if h.zxid > 0 {
		out.Zxid = fmt.Sprintf("%#x", h.zxid)
	}
	if h.causeKnown {
		out.Cause, out.By = h.cause.describe(h.path), sessionName(h.cause.session)
	}
	for _, e := range h.effects {
		out.Effects = append(out.Effects, *e)
	}
	slices.SortFunc(out.Effects, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

// report returns the busiest paths, and the sum of the others.
func (ps *paths) report() (listed []PathReport, others *PathReport) {
	listed = []PathReport{}
	rest := newPathStats("")
	rest.add(ps.rest)
	left := ps.gone > 0
	for i, p := range ps.sorted() {
		if i < reportedPaths {
			listed = append(listed, p.report())
			continue
		}
		rest.add(p)
		left = true
	}
	if left {
		sum := rest.report()
		others = &sum
	}
	return listed, others
}

func (p *pathStats) report() PathReport {
	out := p.PathReport
	out.Operations = []OperationReport{}
	for _, o := range p.operations {
		one := *o
		one.Failed = maps.Clone(o.Failed)
		out.Operations = append(out.Operations, one)
	}
	slices.SortFunc(out.Operations, func(a, b OperationReport) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}
