package results

import (
	"math"
	"strconv"
)

// Number is a value that may be missing (NaN) or without end (an infinity): null in JSON, which has neither.
type Number float64

// Finite tells whether there is a number to show.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Finite() {
		return []byte("null"), nil
	}
	return []byte(n.String()), nil
}

// String shows no more digits than logarithms keep.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'g', 12, 64) }
