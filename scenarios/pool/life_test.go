package pool

import (
	"testing"
	"testing/synctest"
	"time"
)

// A client that stops dead while it is idle stays dead for as long as one that works: its session runs out meanwhile.
func TestDeadClientWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &Pool{config: Config{Tick: 5 * time.Second}} // a session without a timeout has run out after two of them
		c := &Client{Life: NewLife(0, time.Now(), 0, nil)}
		if got := pool.staysDead(c); got != 0 {
			t.Errorf("a client that lives is dead for %s", got)
		}
		var told time.Duration
		c.Monitor.WhenLost(func() { told = pool.staysDead(c) })
		c.Die()
		if told != 10*time.Second {
			t.Errorf("when the client learns that its session is lost, it stays dead for %s", told)
		}
		for _, tt := range []struct{ asleep, want time.Duration }{{0, 10 * time.Second}, {3 * time.Second, 7 * time.Second}, {time.Hour, 0}} {
			time.Sleep(tt.asleep)
			if got := pool.staysDead(c); got != tt.want {
				t.Errorf("%s later it stays dead for %s, want %s", tt.asleep, got, tt.want)
			}
		}
	})
}
