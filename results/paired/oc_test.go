package paired_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/paired"
)

// noise is how the logarithms of one machine's runs vary while nothing changes. The numbers are assumptions that span typical
// machines; none of them was measured.
type noise struct {
	name string
	iid  float64 // standard deviation of the part that is new in every run
	// A slow drift, such as a disk that fills up or a clock that throttles: each run keeps this share of the drift of the
	// one before and adds a step with this standard deviation.
	driftKept, driftStep float64
	// A neighbour on the same host begins a burst before a run with this probability and goes on through each further one
	// with that; until then, runs take longer by a factor whose logarithm is even between 0 and burstMost.
	burstBegins, burstGoesOn, burstMost float64
}

func noises() []noise {
	return []noise{
		{name: "quiet", iid: 0.027}, // the reported spread of hosted runners at their best
		{
			name: "hosted-noisy", iid: 0.10,
			driftKept: 0.9, driftStep: 0.05, // in the long run a standard deviation of 11 %
			burstBegins: 0.05, burstGoesOn: 0.6, burstMost: 1.0, // one run in nine, up to 2.7 times as long
		},
		{name: "p99-like", iid: 0.30}, // a tail, even of an otherwise quiet machine
	}
}

func slowdowns() []float64 { return []float64{1.00, 1.10, 1.20, 1.30, 1.50, 2.00} }

// machine yields one run after another.
type machine struct {
	noise
	random *rand.Rand
	drift  float64
	burst  float64
}

func (n noise) machine(seed, trial uint64) *machine {
	m := &machine{noise: n, random: rand.New(rand.NewPCG(seed, trial))}
	for range 50 { // so that a trial begins anywhere in the drift
		m.run()
	}
	return m
}

func (m *machine) run() float64 {
	m.drift = m.driftKept*m.drift + m.driftStep*m.random.NormFloat64()
	switch {
	case m.burst > 0 && m.random.Float64() >= m.burstGoesOn:
		m.burst = 0
	case m.burst == 0 && m.random.Float64() < m.burstBegins:
		m.burst = m.burstMost * m.random.Float64()
	}
	return m.iid*m.random.NormFloat64() + m.drift + m.burst
}

// pairs measures interleaved, in random order within each pair.
func (m *machine) pairs(n int, slowdown float64) []float64 {
	ratios := make([]float64, n)
	for i := range ratios {
		first, second := m.run(), m.run()
		ratios[i] = math.Log(slowdown) + first - second
		if m.random.IntN(2) == 0 {
			ratios[i] = math.Log(slowdown) + second - first
		}
	}
	return ratios
}

// oneAfterTheOther measures all of one side, then all of the other, as a comparison with yesterday's result does.
func (m *machine) oneAfterTheOther(n int, slowdown float64) []float64 {
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = -m.run()
	}
	for i := range ratios {
		ratios[i] += m.run() + math.Log(slowdown)
	}
	return ratios
}

// outcome counts the verdicts of many trials of one slowdown.
type outcome struct {
	trials     int
	verdicts   map[paired.Verdict]int
	passed     int
	pairs      int // taken in all
	calibrated int // regressions if the rule also knows the machine's resolution
}

func (o outcome) share(v paired.Verdict) float64 { return float64(o.verdicts[v]) / float64(o.trials) }

type measure func(m *machine, n int, slowdown float64) []float64

// operate applies the rule to many trials, each on a machine of its own. All slowdowns use the same machines, so that they
// differ by nothing else.
func operate(t *testing.T, rule paired.Rule, n noise, slowdown float64, trials int, how measure) outcome {
	t.Helper()
	o := outcome{trials: trials, verdicts: map[paired.Verdict]int{}}
	for trial := range trials {
		m := n.machine(1, uint64(trial))
		calibration := how(m, rule.ScreenPairs, 1)
		screen := how(m, rule.ScreenPairs, slowdown)
		confirmation := how(m, rule.ConfirmPairs, slowdown)
		j := judge(t, rule, screen, confirmation)
		o.verdicts[j.Verdict]++
		o.pairs += j.Screen.Pairs + j.Confirmation.Pairs
		if j.Passed {
			o.passed++
		}
		if j.Verdict == paired.Regression && judge(t, calibrate(t, rule, calibration), screen, confirmation).Verdict == paired.Regression {
			o.calibrated++
		}
	}
	return o
}

func calibrate(t *testing.T, rule paired.Rule, alike []float64) paired.Rule {
	t.Helper()
	var err error
	if rule.Resolution, err = paired.Resolution(alike); err != nil {
		t.Fatal(err)
	}
	return rule
}

// enough is how many trials the golden file is made of.
const enough = 2000

// trials is how often each slowdown is tried. Where it is fewer than enough, nothing is compared with the golden file.
func trials() int {
	if testing.Short() || raceDetector {
		return 200
	}
	return enough
}

func TestOC(t *testing.T) {
	var table strings.Builder
	table.WriteString("| noise | true slowdown | REGRESSION | NOISE | PASS | INCONCLUSIVE | passed | mean pairs | REGRESSION if calibrated |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, n := range noises() {
		for _, slowdown := range slowdowns() {
			o := operate(t, paired.DefaultRule(), n, slowdown, trials(), (*machine).pairs)
			writeRow(&table, n.name, slowdown, o)
			if err := holds(n.name, slowdown, o); err != nil {
				t.Error(err)
			}
		}
	}
	if trials() == enough {
		golden.Compare(t, "testdata/operating-characteristic.md", []byte(table.String()))
	}
}

// TestDocumentedOC keeps the table that users read the one that was computed.
func TestDocumentedOC(t *testing.T) {
	table := must.Get(os.ReadFile("testdata/operating-characteristic.md"))(t)
	page := must.Get(os.ReadFile("../../docs/statistics.md"))(t)
	_, rest, begun := strings.Cut(string(page), "<!-- operating characteristic -->\n")
	documented, _, ended := strings.Cut(rest, "<!-- end -->")
	if !begun || !ended || documented != string(table) {
		t.Errorf("docs/statistics.md has another table than results/paired/testdata/operating-characteristic.md: copy it between the markers")
	}
}

// TestOCOfWorseDesigns shows that TestOC fails without any one part of the design.
func TestOCOfWorseDesigns(t *testing.T) {
	quiet, noisy, tail := noises()[0], noises()[1], noises()[2]
	believed := operate(t, paired.DefaultRule(), tail, 1, trials(), (*machine).pairs)
	believed.verdicts[paired.Regression] += believed.verdicts[paired.Noise]
	deaf := paired.DefaultRule()
	deaf.MinEffect, deaf.Margin = 1.6, 1.6
	lax := paired.DefaultRule()
	lax.MinEffect, lax.Margin = 1.6, 2.5
	for name, err := range map[string]error{
		"a screen alone":              holds(tail.name, 1, believed),
		"one side after the other":    holds(noisy.name, 1, operate(t, paired.DefaultRule(), noisy, 1, trials(), (*machine).oneAfterTheOther)),
		"too large a minimum effect":  holds(quiet.name, 1.5, operate(t, deaf, quiet, 1.5, trials(), (*machine).pairs)),
		"too wide a margin for tails": holds(tail.name, 1.5, operate(t, lax, tail, 1.5, trials(), (*machine).pairs)),
	} {
		if err == nil {
			t.Errorf("%s is as good", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func writeRow(w *strings.Builder, name string, slowdown float64, o outcome) {
	percent := func(count int) string { return fmt.Sprintf("%.1f %%", 100*float64(count)/float64(o.trials)) }
	fmt.Fprintf(w, "| %s | %.2f | %s | %s | %s | %s | %s | %.1f | %s |\n", name, slowdown,
		percent(o.verdicts[paired.Regression]), percent(o.verdicts[paired.Noise]),
		percent(o.verdicts[paired.Pass]), percent(o.verdicts[paired.Inconclusive]), percent(o.passed),
		float64(o.pairs)/float64(o.trials), percent(o.calibrated))
}

// holds checks the properties that the rule must have, whatever its details are.
func holds(name string, slowdown float64, o outcome) error {
	regressions := o.share(paired.Regression)
	switch {
	case slowdown == 1 && regressions >= 0.01:
		return fmt.Errorf("%s: %.1f %% false alarms", name, 100*regressions)
	case slowdown >= 1.5 && name != "p99-like" && regressions <= 0.9:
		return fmt.Errorf("%s: sees %.2f times only in %.1f %% of the trials", name, slowdown, 100*regressions)
	case slowdown >= 1.5 && float64(o.passed) >= 0.01*float64(o.trials):
		return fmt.Errorf("%s: lets %.2f times through in %d of %d trials", name, slowdown, o.passed, o.trials)
	}
	return nil
}
