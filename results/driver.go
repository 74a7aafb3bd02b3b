package results

import "time"

// Driver is the program in another language that had the clients of a measurement.
type Driver struct {
	Program string `json:"program"`
	// PipeP50 and PipeP99 are how long a call of the driver takes that does nothing. Each call of a client contains this time.
	PipeP50 time.Duration `json:"pipe_p50_ns"`
	PipeP99 time.Duration `json:"pipe_p99_ns"`
}
