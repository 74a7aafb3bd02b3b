package results

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every histogram: from a microsecond to an hour, with three digits.
const (
	lowestLatency  = time.Microsecond
	HighestLatency = time.Hour
	digits         = 3
)

// Histogram is a latency distribution in the HDR V2 compressed encoding, so that any percentile can be recomputed
// later, and two can be merged without loss.
type Histogram struct {
	Samples int64  `json:"samples"`
	Dropped int64  `json:"dropped"` // values over an hour, which make the measurement invalid
	HDR     string `json:"hdr,omitempty"`
}

// All returns the number of recorded values, including those over an hour.
func (h Histogram) All() int64 { return h.Samples + h.Dropped }

// NewHistogram encodes the distribution of the given durations.
func NewHistogram(values []time.Duration) (Histogram, error) {
	var l LiveHistogram
	for _, v := range values {
		l.Add(v)
	}
	return l.Encode()
}

// LiveHistogram is a distribution that is still growing. Its zero value is empty and takes no memory.
type LiveHistogram struct {
	hdr     *hdrhistogram.Histogram
	dropped int64
}

// Add records one duration. Only the first call allocates.
func (l *LiveHistogram) Add(d time.Duration) {
	if l.hdr == nil {
		l.hdr = newHDR()
	}
	if l.hdr.RecordValue(int64(d)) != nil {
		l.dropped++
	}
}

// Encode returns the distribution as a document keeps it.
func (l *LiveHistogram) Encode() (Histogram, error) {
	if l.hdr == nil || l.hdr.TotalCount() == 0 {
		return Histogram{Dropped: l.dropped}, nil
	}
	text, err := l.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Histogram{}, fmt.Errorf("encode histogram: %w", err)
	}
	return Histogram{Samples: l.hdr.TotalCount(), Dropped: l.dropped, HDR: string(text)}, nil
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(lowestLatency), int64(HighestLatency), digits)
}

// Decode returns the distribution. A histogram without samples is an empty distribution.
func (h Histogram) Decode() (*hdrhistogram.Histogram, error) {
	if h.Samples == 0 {
		return newHDR(), nil
	}
	decoded, err := hdrhistogram.Decode([]byte(h.HDR))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return decoded, nil
}

// MergeHistograms returns the distribution of all samples together.
func MergeHistograms(parts []Histogram) (Histogram, error) {
	sum := LiveHistogram{hdr: newHDR()}
	for _, p := range parts {
		h, err := p.Decode()
		if err != nil {
			return Histogram{}, err
		}
		sum.dropped += p.Dropped + sum.hdr.Merge(h)
	}
	return sum.Encode()
}
