package simulation

import (
	"iter"
	"slices"
	"time"
)

// Shrink returns the smallest plan that it finds for which fails holds, as it does for p. fails decides what the same failure is, whether it
// repeats, and when there has been enough searching.
func Shrink(p Plan, fails func(Plan) bool) Plan {
	for found := true; found; {
		found = false
		for smaller := range p.smaller() {
			if found = smaller.check() == nil && fails(smaller); found {
				p = smaller
				break
			}
		}
	}
	return p
}

// smaller yields plans that are a little smaller: with fewer faults, clients and steps first, then with milder faults and rounder times.
func (p Plan) smaller() iter.Seq[Plan] {
	return func(yield func(Plan) bool) {
		for _, plans := range []func() []Plan{p.fewerFaults, p.fewerClients, p.fewerSteps, p.milder, p.even} {
			for _, smaller := range plans() {
				if !yield(smaller) {
					return
				}
			}
		}
	}
}

// fewerFaults leaves out one half of the faults, or a single one.
func (p Plan) fewerFaults() (out []Plan) {
	n := len(p.Faults)
	spans := [][2]int{{n / 2, n}, {0, n / 2}}
	for i := range n {
		spans = append(spans, [2]int{i, i + 1})
	}
	for _, span := range spans {
		if span[0] < span[1] {
			smaller := p
			smaller.Faults = slices.Delete(slices.Clone(p.Faults), span[0], span[1])
			out = append(out, smaller)
		}
	}
	return out
}

// fewerClients leaves out one client, and its faults.
func (p Plan) fewerClients() (out []Plan) {
	for gone := range p.Clients {
		smaller := p
		smaller.Clients--
		smaller.Latency = slices.Delete(slices.Clone(p.Latency), gone, gone+1)
		smaller.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.Client == gone })
		for i := range smaller.Faults {
			if smaller.Faults[i].Client > gone {
				smaller.Faults[i].Client--
			}
		}
		out = append(out, smaller)
	}
	return out
}

func (p Plan) fewerSteps() (out []Plan) {
	for _, steps := range []int{1, p.Steps / 2, p.Steps - 1} {
		if steps < p.Steps {
			smaller := p
			smaller.Steps = steps
			out = append(out, smaller)
		}
	}
	return out
}

// milder makes one fault milder, earlier, shorter or rounder.
func (p Plan) milder() (out []Plan) {
	less := map[Kind]Kind{
		Die: Expire, ExpireAt: DropAfter, Silence: Deaf, Mute: Deaf, Pause: Silence, Cut: Silence, DropAfter: DropBefore,
		Crash: Stall, Part: Stall,
	}
	for i, f := range p.Faults {
		candidates := slices.Repeat([]Fault{f}, 9)
		candidates[0].Also = false
		candidates[1].At = ""
		if kind, ok := less[f.Kind]; ok {
			candidates[2].Kind = kind
		}
		candidates[3].After, candidates[4].After = min(f.After, 1), f.After/2
		candidates[5].Delay, candidates[6].Delay = 0, f.Delay.rounded()
		candidates[7].For = f.For.rounded()
		candidates[8].Leader = false
		for _, c := range candidates {
			if c != f {
				smaller := p
				smaller.Faults = slices.Clone(p.Faults)
				smaller.Faults[i] = c
				out = append(out, smaller)
			}
		}
	}
	return out
}

// even leaves out what is not usual about clients.
func (p Plan) even() (out []Plan) {
	even, idle, alone, prompt := p, p, p, p
	even.Latency = slices.Repeat([]Duration{usualLatency}, p.Clients)
	idle.Hold = 0
	alone.Beside, alone.Rewatch = 0, 0
	prompt.Expiry = 0
	if !slices.Equal(even.Latency, p.Latency) {
		out = append(out, even)
	}
	if p.Hold != 0 {
		out = append(out, idle)
	}
	if p.Beside != 0 || p.Rewatch != 0 {
		out = append(out, alone)
	}
	if p.Expiry != 0 {
		out = append(out, prompt)
	}
	return append(out, p.fewerServers()...)
}

// fewerServers leaves out servers, or makes them lag less.
func (p Plan) fewerServers() (out []Plan) {
	for _, lag := range [][]Duration{nil, slices.Clip(p.Lag[:min(3, len(p.Lag))]), make([]Duration, len(p.Lag))} {
		if !slices.Equal(lag, p.Lag) {
			smaller := p
			smaller.Lag = lag
			out = append(out, smaller)
		}
	}
	for i, d := range p.Lag {
		for _, less := range []Duration{0, d.rounded()} {
			if less != d {
				smaller := p
				smaller.Lag = slices.Clone(p.Lag)
				smaller.Lag[i] = less
				out = append(out, smaller)
			}
		}
	}
	return out
}

// rounded is about as long, with one digit.
func (d Duration) rounded() Duration {
	unit := time.Duration(1)
	for unit*10 <= time.Duration(d) {
		unit *= 10
	}
	return Duration(time.Duration(d).Round(unit))
}
