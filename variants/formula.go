package variants

import "fmt"

// PerN is a cost that depends on the number of participants.
func PerN(text string, at func(n float64) float64) Formula {
	return Formula{Text: text, At: func(n int) float64 { return at(float64(n)) }}
}

// Constant is a cost that does not.
func Constant(value float64) Formula {
	return PerN(fmt.Sprintf("%g", value), func(float64) float64 { return value })
}

// AloneOr is a cost that is another for N = 1.
func AloneOr(alone float64, text string, at func(n float64) float64) Formula {
	return PerN(text+fmt.Sprintf(" (%g for N=1)", alone), func(n float64) float64 {
		if n == 1 {
			return alone
		}
		return at(n)
	})
}
