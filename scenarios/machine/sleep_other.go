//go:build !linux

package machine

import "time"

// SleepPrecisely sleeps for d.
func SleepPrecisely(d time.Duration) { time.Sleep(d) }
