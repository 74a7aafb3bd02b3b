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
func NewHistogram(values []time.Duration) Histogram {
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
func (l *LiveHistogram) Encode() Histogram {
	if l.hdr == nil || l.hdr.TotalCount() == 0 {
		return Histogram{Dropped: l.dropped}
	}
	text, err := l.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(fmt.Sprintf("encode histogram: %v", err)) // writing to memory has no error
	}
	return Histogram{Samples: l.hdr.TotalCount(), Dropped: l.dropped, HDR: string(text)}
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(lowestLatency), int64(HighestLatency), digits)
}

// Decode returns the distribution. A histogram without samples is an empty distribution. So is one that zkbench did not encode: its
// metrics do not follow from it, so that its document cannot be read.
func (h Histogram) Decode() *hdrhistogram.Histogram {
	if decoded, err := hdrhistogram.Decode([]byte(h.HDR)); h.Samples > 0 && err == nil {
		return decoded
	}
	return newHDR()
}

// DecodeAll returns the distribution of all samples together.
func DecodeAll(parts []Histogram) *hdrhistogram.Histogram {
	sum := newHDR()
	for _, p := range parts {
		sum.Merge(p.Decode())
	}
	return sum
}

// MergeHistograms returns the distribution of the values of two.
func MergeHistograms(a, b Histogram) Histogram {
	l := LiveHistogram{DecodeAll([]Histogram{a, b}), a.Dropped + b.Dropped}
	return l.Encode()
}
