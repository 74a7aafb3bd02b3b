package results

import "time"

// Connect describes how the sessions of a measurement were established, before its load.
type Connect struct {
	Total time.Duration `json:"total_ns"` // until all clients had their sessions and had joined the recipe
	Each  Histogram     `json:"each"`     // from asking for a session until it is established
}
