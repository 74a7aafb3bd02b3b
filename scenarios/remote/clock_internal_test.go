package remote

import (
	"math/rand/v2"
	"testing"
	"time"
)

// world has a worker's clock that is ahead by 100,000 s and faster by 50 ppm, and delays that are as unequal as they can be.
type world struct {
	random *rand.Rand
	clock  Clock
	now    time.Duration // true time, in the controller's clock
}

const (
	ahead  = 100_000 * time.Second
	faster = 50e-6
)

func theirTime(ours time.Duration) time.Duration {
	return ours + ahead + time.Duration(faster*float64(ours))
}

// exchange makes the round trips of a heartbeat, and adds the shortest as paired returns it.
func (w *world) exchange(rounds int, pair func(sent, received time.Duration) (from, to time.Duration)) {
	var sent, received, read time.Duration
	for i := range rounds {
		s := w.now
		there, back := w.delay(), w.delay()
		if w.now = s + there + back; i == 0 || w.now-s < received-sent {
			sent, received, read = s, w.now, theirTime(s+there)
		}
	}
	from, to := pair(sent, received)
	w.clock.add(newSample(from, to, read))
}

// delay is mostly short, sometimes long, as behind a large message.
func (w *world) delay() time.Duration {
	d := time.Duration(w.random.ExpFloat64() * float64(100*time.Microsecond))
	if w.random.IntN(20) == 0 {
		d += time.Duration(w.random.IntN(int(time.Second)))
	}
	return d
}

// errorsAbove counts conversions that are wrong by more than the bound.
func errorsAbove(seed uint64, pair func(sent, received time.Duration) (from, to time.Duration)) (wrong int) {
	w := &world{random: rand.New(rand.NewPCG(seed, 1)), now: time.Duration(seed) * time.Second}
	w.exchange(joiningRounds, pair)
	for range 100 {
		w.exchange(heartbeatRounds, pair)
		w.now += heartbeat
		at := w.now - time.Duration(w.random.Int64N(int64(5*time.Second)))
		if e := (w.clock.Theirs(at) - theirTime(at)).Abs(); e > w.clock.Bound() {
			wrong++
		}
		if e := (w.clock.Ours(theirTime(at)) - at).Abs(); e > w.clock.Bound() {
			wrong++
		}
	}
	return wrong
}

func asMeasured(sent, received time.Duration) (from, to time.Duration) { return sent, received }

// The bound holds for all delays. It would not if the moment of sending took the place of the midpoint.
func TestErrorsAreWithinTheBound(t *testing.T) {
	planted := 0
	for seed := range uint64(200) {
		if wrong := errorsAbove(seed, asMeasured); wrong > 0 {
			t.Errorf("seed %d: %d conversions are wrong by more than the bound", seed, wrong)
		}
		planted += errorsAbove(seed, func(sent, received time.Duration) (from, to time.Duration) {
			half := (received - sent) / 2
			return sent - half, sent + half // has the same bound, around the moment of sending
		})
	}
	if planted == 0 {
		t.Error("the moment of sending in place of the midpoint is not noticed")
	}
}

func TestConversionsAreMonotoneAndInverse(t *testing.T) {
	for seed := range uint64(50) {
		w := &world{random: rand.New(rand.NewPCG(seed, 2))}
		for range 30 {
			w.exchange(heartbeatRounds, asMeasured)
			w.now += heartbeat
		}
		last := w.clock.Theirs(-time.Second)
		for at := -time.Second; at < w.now+time.Second; at += time.Duration(1 + w.random.IntN(int(5*time.Millisecond))) {
			there := w.clock.Theirs(at)
			if there < last {
				t.Fatalf("seed %d: the worker's time goes back at %v: %v after %v", seed, at, there, last)
			}
			last = there
			if back := w.clock.Ours(there); (back - at).Abs() > 2 {
				t.Fatalf("seed %d: there and back, %v is %v", seed, at, back)
			}
		}
	}
}

func TestClock(t *testing.T) {
	const ms = time.Millisecond
	type exchange struct{ sent, received, theirs time.Duration }
	regular := []exchange{{0, 2 * ms, 1001 * ms}, {100 * ms, 102 * ms, 1101 * ms}, {200 * ms, 202 * ms, 1201 * ms}}
	long := exchange{300 * ms, 700 * ms, 1350 * ms} // the answer was behind a large message
	jump := exchange{300 * ms, 302 * ms, 2301 * ms} // the host of the controller has stood still for a second
	for _, test := range []struct {
		name        string
		exchanges   []exchange
		at          time.Duration
		theirs      time.Duration
		bound, most time.Duration
	}{
		{"at a sample", regular, 101 * ms, 1101 * ms, ms, ms + 60*time.Microsecond},
		{"between samples", regular, 151 * ms, 1151 * ms, ms, ms + 60*time.Microsecond},
		{"before all samples", regular, -999 * ms, 1 * ms, ms, ms + 501*time.Microsecond},
		{"after all samples", regular, 1201 * ms, 2201 * ms, ms, ms + 501*time.Microsecond},
		{"a sample that says less than the former", append(regular[:3:3], long), 251 * ms, 1251 * ms, ms, ms + 60*time.Microsecond},
		{"in a jump", append(regular[:3:3], jump), 251 * ms, 1751 * ms, time.Second, time.Second + 5*ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Clock
			for _, e := range test.exchanges {
				c.add(newSample(e.sent, e.received, e.theirs))
			}
			if got := c.Theirs(test.at); (got - test.theirs).Abs() > 2 {
				t.Errorf("Theirs(%v) = %v, want %v", test.at, got, test.theirs)
			}
			if got := c.Bound(); got < test.bound || got > test.most {
				t.Errorf("the bound is %v, want %v to %v", got, test.bound, test.most)
			}
		})
	}
}

func TestClockKeepsAMinute(t *testing.T) {
	var c Clock
	if got := c.Ours(time.Second); got != time.Second {
		t.Errorf("without samples, a second is %v", got)
	}
	for at := time.Duration(0); at < 10*time.Minute; at += heartbeat {
		c.add(newSample(at, at+2*time.Microsecond, theirTime(at+time.Microsecond)))
	}
	if n := len(c.samples); n != kept {
		t.Errorf("it keeps %d samples, want %d", n, kept)
	}
}
