//go:build !linux

package runner

import "time"

// sleepPrecisely sleeps for d.
func sleepPrecisely(d time.Duration) { time.Sleep(d) }
