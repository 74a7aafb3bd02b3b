package results

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Rate is a number of operations per second, which may be below one. It comes from a whole number per second, minute or hour.
type Rate float64

// RatePattern matches a rate in a file, such as 100, 100/s, 6/min or 1/h. A plain number is per second.
const RatePattern = `^-?(0|[1-9][0-9]*)(/(s|min|h))?$`

func secondsOf(unit string) float64 {
	return map[string]float64{"": 1, "s": 1, "min": 60, "h": 3600}[unit]
}

// UnmarshalYAML reads a rate that matches [RatePattern].
func (r *Rate) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil || !regexp.MustCompile(RatePattern).MatchString(text) {
		return fmt.Errorf("%q is not a rate", text)
	}
	digits, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(digits, 64)
	*r = Rate(n / secondsOf(unit))
	return err
}

// Of returns the rate with what it counts, such as "100 operations/s" or "6 operations/min".
func (r Rate) Of(counted string) string {
	for _, unit := range []string{"s", "min", "h"} {
		if n := math.Round(float64(r) * secondsOf(unit)); Rate(n/secondsOf(unit)) == r {
			return strconv.FormatFloat(n, 'f', -1, 64) + counted + "/" + unit
		}
	}
	return fmt.Sprint(float64(r), counted, "/s")
}

// String returns the rate in the notation of a file, such as 100 or 6/min.
func (r Rate) String() string { return strings.TrimSuffix(r.Of(""), "/s") }

// Word returns the rate as a part of the names of files, such as 100 or 6-per-min.
func (r Rate) Word() string { return strings.ReplaceAll(r.String(), "/", "-per-") }
