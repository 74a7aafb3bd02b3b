package table

import (
	"math"
	"strconv"
)

// Number is a value that may be missing (NaN) or infinite. Both are null in JSON.
type Number float64

// Finite reports whether the number is neither missing nor infinite.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Finite() {
		return []byte("null"), nil
	}
	return []byte(n.String()), nil
}

// String returns at most 12 digits, because computing with logarithms loses the others.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'g', 12, 64) }
