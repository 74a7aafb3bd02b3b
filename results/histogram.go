package results

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every histogram: from a microsecond to an hour, with three digits.
const (
	lowestLatency  = time.Microsecond
	highestLatency = time.Hour
	digits         = 3
)

// Histogram is a latency distribution in the HDR V2 compressed encoding, so that any percentile can be recomputed
// later, and two can be merged without loss.
type Histogram struct {
	Samples int64  `json:"samples"`
	Dropped int64  `json:"dropped"` // values over an hour; anything but zero makes the measurement invalid
	HDR     string `json:"hdr,omitempty"`
}

// NewHistogram encodes the distribution of the given durations.
func NewHistogram(values []time.Duration) (Histogram, error) {
	h := newHDR()
	var dropped int64
	for _, v := range values {
		if h.RecordValue(int64(v)) != nil {
			dropped++
		}
	}
	return encode(h, dropped)
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(lowestLatency), int64(highestLatency), digits)
}

func encode(h *hdrhistogram.Histogram, dropped int64) (Histogram, error) {
	out := Histogram{Samples: h.TotalCount(), Dropped: dropped}
	if out.Samples == 0 {
		return out, nil
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return out, fmt.Errorf("encode histogram: %w", err)
	}
	out.HDR = string(text)
	return out, nil
}

// Decode returns the distribution; an empty one is empty, not an error.
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

// MergeHistograms adds distributions up, which averaging their percentiles would not.
func MergeHistograms(parts []Histogram) (Histogram, error) {
	sum := newHDR()
	var dropped int64
	for _, p := range parts {
		h, err := p.Decode()
		if err != nil {
			return Histogram{}, err
		}
		dropped += p.Dropped + sum.Merge(h)
	}
	return encode(sum, dropped)
}

// percentiles returns those that stand among the metrics.
func percentiles() []float64 { return []float64{50, 90, 99} }

func percentileName(phase string, p float64) string { return fmt.Sprintf("%s-p%g-ns", phase, p) }

func maximumName(phase string) string { return phase + "-max-ns" }

// addPercentiles puts a phase's percentiles among the metrics; a phase without samples has none.
func addPercentiles(metrics map[string]Metric, phase string, h *hdrhistogram.Histogram) {
	if h.TotalCount() == 0 {
		return
	}
	for _, p := range percentiles() {
		metrics[percentileName(phase, p)] = Metric{float64(h.ValueAtPercentile(p)), "ns"}
	}
	metrics[maximumName(phase)] = Metric{float64(h.Max()), "ns"}
}
