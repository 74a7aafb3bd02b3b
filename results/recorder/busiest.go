package recorder

import (
	"cmp"
	"slices"
	"time"
)

const peakLength = time.Second

// Traffic counts the traffic of all sessions so far, without housekeeping.
type Traffic struct {
	Requests int64 // sent
	BytesIn  int64 // of replies and notifications, counted when the whole of one has arrived

	FailedRequests int64 // that a server answered with an error
}

// Traffic records the traffic so far. The requests since the previous call count in the series' bin and the second of this call. The
// first call only sets the starting point.
//
// The busiest second is searched between the last call before OpenWindow and the last one before CloseWindow. For peaks that
// belong to the window, these two calls are made at its edges.
func (r *Recorder) Traffic(at time.Duration, so Traffic) {
	r.advance(at)
	before := cmp.Or(r.traffic, &so)
	requests, failed := so.Requests-before.Requests, so.FailedRequests-before.FailedRequests
	r.series.at(at).requests += requests
	r.seconds.at(at).FailedRequests += failed
	r.seconds.totals.Requests += requests
	r.seconds.totals.FailedRequests += failed
	r.traffic = &so
	r.failures.busiest.add(sample{at, so}, r.failures.window.isOpen())
}

type sample struct {
	at time.Duration
	Traffic
}

// busiest finds the largest traffic of any second. Traffic is known at samples only, and counts as even between two of them: a
// peak is exact up to the traffic between two samples. A stretch that is shorter than a second counts as a whole.
//
// It keeps the samples of the last second, and the one before them.
type busiest struct {
	samples []sample
	most    Traffic
}

// add takes the next sample. If searching is false, this sample becomes the first one of the next search.
//
// Note: as traffic is even between samples, a busiest second begins or ends with one. This call looks at those that end since the last.
func (b *busiest) add(now sample, searching bool) {
	if !searching || len(b.samples) == 0 {
		b.samples = append(b.samples[:0], now)
		return
	}
	last := b.samples[len(b.samples)-1]
	for _, s := range b.samples {
		if end := s.at + peakLength; last.at < end && end <= now.at {
			b.consider(s.Traffic, between(last, now, end))
		}
	}
	b.samples = append(b.samples, now)
	from := now.at - peakLength
	for b.samples[1].at <= from {
		b.samples = slices.Delete(b.samples, 0, 1)
	}
	b.consider(between(b.samples[0], b.samples[1], from), now.Traffic)
}

// consider compares the traffic of a second with the largest so far. start and end are the totals at its two ends.
func (b *busiest) consider(start, end Traffic) {
	b.most.Requests = max(b.most.Requests, end.Requests-start.Requests)
	b.most.BytesIn = max(b.most.BytesIn, end.BytesIn-start.BytesIn)
}

// between returns the total at a moment between two samples, or the total of the first sample for an earlier moment.
func between(a, b sample, at time.Duration) Traffic {
	if at <= a.at {
		return a.Traffic
	}
	share := float64(at-a.at) / float64(b.at-a.at)
	part := func(from, to int64) int64 { return from + int64(share*float64(to-from)) }
	return Traffic{Requests: part(a.Requests, b.Requests), BytesIn: part(a.BytesIn, b.BytesIn)}
}
