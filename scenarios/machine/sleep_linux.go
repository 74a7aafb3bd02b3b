package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// SleepPrecisely blocks the calling thread for d. A sleep of the Go runtime may last a millisecond longer in an idle process, because
// the runtime waits for timers in whole milliseconds.
func SleepPrecisely(d time.Duration) {
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // an interrupted sleep is short, and the caller looks at the clock
}
