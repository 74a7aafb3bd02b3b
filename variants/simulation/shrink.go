package simulation

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// Shrink returns the smallest plan that it finds for which fails holds, as it does for p. fails decides whether a
// failure is the same, whether it repeats, and when the search ends.
func Shrink(p Plan, fails func(Plan) bool) Plan {
	for found := true; found; {
		found = false
		// First come the changes that leave out faults, clients and steps, and then those that make faults milder and times rounder.
		changes := slices.Concat(p.fewerFaults(), p.fewerClients(), p.fewerSteps(), p.milder(), p.even(), p.fewerServers())
		for _, change := range changes {
			smaller := p
			smaller.Latency, smaller.Lag, smaller.Faults = slices.Clone(p.Latency), slices.Clone(p.Lag), slices.Clone(p.Faults)
			change(&smaller)
			if found = !reflect.DeepEqual(smaller, p) && smaller.check() == nil && fails(smaller); found {
				p = smaller
				break
			}
		}
	}
	return p
}

// change makes a plan a little smaller, or leaves it as it is where that is not possible.
type change func(*Plan)

func (p Plan) fewerFaults() (out []change) {
	without := func(from, to int) {
		out = append(out, func(s *Plan) { s.Faults = slices.Delete(s.Faults, from, to) })
	}
	n := len(p.Faults)
	without(n/2, n)
	without(0, n/2)
	for i := range n {
		without(i, i+1)
	}
	return out
}

func (p Plan) fewerClients() (out []change) {
	for gone := range p.Clients {
		out = append(out, func(s *Plan) {
			s.Clients--
			s.Latency = slices.Delete(s.Latency, gone, gone+1)
			s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Client == gone })
			for i := range s.Faults {
				if s.Faults[i].Client > gone {
					s.Faults[i].Client--
				}
			}
		})
	}
	return out
}

func (p Plan) fewerSteps() (out []change) {
	for _, steps := range []int{1, p.Steps / 2, p.Steps - 1} {
		out = append(out, func(s *Plan) { s.Steps = steps })
	}
	return out
}

func (p Plan) milder() (out []change) {
	less := map[Kind]Kind{
		Die: Expire, ExpireAt: DropAfter, Silence: Deaf, Mute: Deaf, Pause: Silence, Cut: Silence, DropAfter: DropBefore,
		Crash: Stall, Part: Stall,
	}
	for i := range p.Faults {
		for _, ease := range []func(*Fault){
			func(f *Fault) { f.Also = false },
			func(f *Fault) { f.At = "" },
			func(f *Fault) { f.Kind = cmp.Or(less[f.Kind], f.Kind) },
			func(f *Fault) { f.After = min(f.After, 1) },
			func(f *Fault) { f.After /= 2 },
			func(f *Fault) { f.Delay = 0 },
			func(f *Fault) { f.Delay = f.Delay.rounded() },
			func(f *Fault) { f.For = f.For.rounded() },
			func(f *Fault) { f.Leader = false },
		} {
			out = append(out, func(s *Plan) { ease(&s.Faults[i]) })
		}
	}
	return out
}

// even makes clients usual: it leaves out one exception at a time.
func (p Plan) even() []change {
	return []change{
		func(s *Plan) { s.Latency = slices.Repeat([]Duration{usualLatency}, s.Clients) },
		func(s *Plan) { s.Hold = 0 },
		func(s *Plan) { s.Beside, s.Rewatch = 0, 0 },
		func(s *Plan) { s.Expiry = 0 },
	}
}

func (p Plan) fewerServers() []change {
	out := []change{
		func(s *Plan) { s.Lag = nil },
		func(s *Plan) { s.Lag = s.Lag[:min(3, len(s.Lag))] },
		func(s *Plan) { clear(s.Lag) },
	}
	for i := range p.Lag {
		out = append(out, func(s *Plan) { s.Lag[i] = 0 }, func(s *Plan) { s.Lag[i] = s.Lag[i].rounded() })
	}
	return out
}

// rounded returns about the same time, with one digit.
func (d Duration) rounded() Duration {
	unit := time.Duration(1)
	for unit*10 <= time.Duration(d) {
		unit *= 10
	}
	return Duration(time.Duration(d).Round(unit))
}
