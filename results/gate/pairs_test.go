package gate

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

func head(p Pairs, i int) *results.Document { return p.Screen[i][1][0] }

// withTails gives both sides of each pair 10,000 samples. The slowest samples of the head take slowdown times as long.
func withTails(t *testing.T, pairs [][2][]*results.Document, slowdown int) {
	t.Helper()
	for i, pair := range pairs {
		for side, factor := range []int{1, slowdown} {
			values := slices.Repeat([]time.Duration{time.Millisecond}, 10_000)
			for j := range 20 {
				values[j] = time.Duration(factor) * time.Duration(1000+i) * time.Millisecond
			}
			h := results.NewHistogram(values)
			pair[side][0].Histograms["wait"] = h
		}
	}
}

// counted gives each document a count, in fresh pairs, too.
func counted(name string, base, head float64) func(p *Pairs, r *PairRules) {
	return func(p *Pairs, r *PairRules) {
		r.Metrics, p.Confirm = []string{name}, slices.Concat(syntheticPairs(1, *r).Screen, syntheticPairs(1, *r).Screen)
		for _, pair := range slices.Concat(p.Screen, p.Confirm) {
			for side, value := range []float64{base, head} {
				pair[side][0].Metrics[name] = results.Metric{Value: value}
				if value == 0 {
					delete(pair[side][0].Metrics, name)
				}
			}
		}
	}
}

// Exact counts are compared without statistics: any difference is a regression, unless the counts of a side are not certain.
func TestExactPairs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(p *Pairs)
		want  int
		says  string
	}{
		{"the same", func(*Pairs) {}, 0, ""},
		{"a notification more in all pairs", func(p *Pairs) { lockstepPairs(p, 1, 2) }, 3, "self-test, synthetic/synthetic, 50 clients: 1 → 2 notifications per operation"},
		{"one fewer in all pairs", func(p *Pairs) { lockstepPairs(p, 2, 1) }, 3, "2 → 1 notifications per operation"},
		{"more in one pair", func(p *Pairs) { p.Screen[3][1] = []*results.Document{syntheticLockstep(2)} }, 5, "1 → 2 spurious wakeups per operation, but this is not certain: it is 1 in pair 1, head and 2 in pair 4, head"},
		{"a reconnect", func(p *Pairs) {
			lockstepPairs(p, 1, 2)
			p.Screen[3][0][0].Invalid = []string{"a reconnect"}
		}, 5, "the base: pair 4, base was disturbed: a reconnect"},
		{"without CPU", func(p *Pairs) {
			lockstepPairs(p, 1, 2)
			head(*p, 3).Health.Throttled = 1
		}, 3, "1 → 2 notifications"},
		{"an operation that only the head sends", func(p *Pairs) {
			for _, pair := range p.Screen {
				pair[1][0].Metrics["exists-requests/op"] = results.Metric{Value: 1}
			}
		}, 3, "0 → 1 exists requests per operation"},
	} {
		rules := DefaultPairRules(now)
		var p Pairs
		for range rules.Rule.ScreenPairs {
			p.Screen = append(p.Screen, [2][]*results.Document{})
		}
		lockstepPairs(&p, 1, 1)
		tt.spoil(&p)
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
		said := strings.Join(list.Map(r.Findings, func(f Finding) string { return f.Text }), "\n")
		if r.Code != tt.want || !strings.Contains(said, tt.says) {
			t.Errorf("%s: exit code %d, want %d; said %s, want %q in it", tt.name, r.Code, tt.want, said, tt.says)
		}
	}
}

// lockstepPairs fills the pairs of a screen with documents that have so many notifications for each operation.
func lockstepPairs(p *Pairs, base, head float64) {
	for i := range p.Screen {
		p.Screen[i] = [2][]*results.Document{{syntheticLockstep(base)}, {syntheticLockstep(head)}}
	}
}

func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		slowdown float64
		spoil    func(p *Pairs, r *PairRules)
		code     int
		says     string
	}{
		{"the same", 1, nil, 0, ""},
		{"faster", 0.5, nil, 0, ""},
		{"slower", 1.5, nil, 3, "screen flagged; confirmation: p = "},
		{"slower, and not confirmed", 1.5, func(p *Pairs, r *PairRules) { p.Confirm = syntheticPairs(1, *r).Screen }, 5, "instead of the 20"},
		{"slower, and noise", 1.5, func(p *Pairs, r *PairRules) {
			p.Confirm = slices.Concat(syntheticPairs(1, *r).Screen, syntheticPairs(1, *r).Screen)
		}, 0, ""},
		{"slower, without confirmation", 1.5, func(p *Pairs, _ *PairRules) { p.Confirm = nil }, 5, "0 pairs instead of"},
		{"too few pairs", 1, func(p *Pairs, _ *PairRules) { p.Screen = p.Screen[:9] }, 5, "9 pairs instead of the 10"},
		{"no pairs", 1, func(p *Pairs, _ *PairRules) { p.Screen = nil }, 5, "no pair has results to compare"},
		{"a missing side", 1, func(p *Pairs, _ *PairRules) { p.Screen[3][0] = nil }, 5, "pair 4 has no result of the base"},
		{"a metric that one head lacks", 1, func(p *Pairs, _ *PairRules) { delete(head(*p, 3).Metrics, "wait-p50-ns") }, 5, "wait-p50-ns"},
		{"a metric that nobody has", 1, func(_ *Pairs, r *PairRules) { r.Metrics = []string{"nap-p50-ns"} }, 5, "nap-p50-ns"},
		{"dropped values", 1, func(p *Pairs, _ *PairRules) {
			head(*p, 3).Histograms["wait"] = results.Histogram{Samples: 5000, Dropped: 1}
		}, 5, "too long for the histogram"},
		{"a metric that one head of the confirmation lacks", 1.5, func(p *Pairs, _ *PairRules) {
			delete(p.Confirm[2][1][0].Metrics, "wait-p50-ns")
		}, 5, "confirmation: pair 13, head"},
		{"a metric of zero", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Metrics["wait-p50-ns"] = results.Metric{} }, 5, "pair 4"},
		{"another engine", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Environment.Engine = "process" }, 5, "measured under another engine"},
		{"another kernel", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Environment.Kernel = "1.0" }, 5, "measured under another kernel"},
		{"another setting", 1, func(p *Pairs, _ *PairRules) {
			head(*p, 3).Environment.ServerConfig = map[string]string{"tickTime": "1"}
		}, 5, "tickTime"},
		{"another disk", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Environment.TxnLog = "tmpfs" }, 5, "measured under another transaction log"},
		{"another port", 1, func(p *Pairs, _ *PairRules) {
			head(*p, 3).Environment.ServerConfig = map[string]string{"clientPort": "1", "dataDirSize": "67108880", "server.1": "x", "dataLogDir": "/y"}
		}, 0, ""},
		{"another load", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Scenario.Hold = time.Second }, 5, "measured under another hold (load)"},
		{"a generator out of CPU", 1.5, func(p *Pairs, _ *PairRules) { head(*p, 3).Health.Throttled = 1 }, 5, "out of CPU"},
		{"a busy machine, to both alike", 1.5, func(p *Pairs, _ *PairRules) { head(*p, 3).Health.MachineCPU = 1 }, 3, ""},
		{"a violation of the head's", 1.5, func(p *Pairs, _ *PairRules) { head(*p, 3).Violations = []results.Violation{{}} }, 4, "pair 4, head: 1 breach"},
		{"a violation of the base's", 1, func(p *Pairs, _ *PairRules) { p.Screen[3][0][0].Violations = []results.Violation{{}} }, 5, "pair 4, base: 1 breach"},
		{"an invalid run", 1, func(p *Pairs, _ *PairRules) { head(*p, 3).Invalid = []string{"x"} }, 5, ""},
		{"slower, within the effect that matters in a tail", 1.3, func(_ *Pairs, r *PairRules) { r.Metrics = []string{"wait-p99-ns"} }, 0, ""},
		{"a slower tail", 2, func(_ *Pairs, r *PairRules) { r.Metrics = []string{"wait-p99-ns"} }, 3, ""},
		{"a tail of few samples", 2, func(p *Pairs, r *PairRules) {
			r.Metrics = []string{"wait-p99-ns"}
			head(*p, 3).Histograms["wait"] = results.Histogram{Samples: 999}
		}, 5, "each run needs 1000"},
		{"a farther tail of few samples", 2, func(_ *Pairs, r *PairRules) { r.Metrics = []string{"wait-p99.9-ns"} }, 5, "each run needs 10000"},
		{"a farther tail", 1, func(p *Pairs, r *PairRules) {
			r.Metrics = []string{"wait-p99.9-ns"}
			withTails(t, p.Screen, 1)
		}, 0, ""},
		{"a slower farther tail", 1, func(p *Pairs, r *PairRules) {
			r.Metrics = []string{"wait-p99.9-ns"}
			p.Confirm = slices.Concat(syntheticPairs(1, *r).Screen, syntheticPairs(1, *r).Screen)
			withTails(t, p.Screen, 2)
			withTails(t, p.Confirm, 2)
		}, 3, ""},
		{"a request more", 1, counted(metric.RequestsPerOp, 5, 6), 3, "median ratio 1.200, above the minimum effect 1.02"},
		{"a request fewer", 1, counted(metric.RequestsPerOp, 6, 5), 0, ""},
		{"a request more, and noisy times", 1, func(p *Pairs, r *PairRules) {
			counted(metric.RequestsPerOp, 5, 6)(p, r)
			r.Metrics = append([]string{"wait-p50-ns"}, r.Metrics...)
			head(*p, 3).Metrics["wait-p50-ns"] = results.Metric{}
		}, 3, "median ratio 1.200"},
		{"a count that differs by less than matters", 1, counted(metric.RequestsPerOp, 5, 5.05), 0, ""},
		{"a count that neither has", 1, counted("exists-requests/op", 0, 0), 0, ""},
		{"a count that only the head has", 1, counted("exists-requests/op", 0, 1), 3, "median ratio 100.000"},
		{"a count that only the head has, rarely", 1, counted("exists-requests/op", 0, 0.005), 0, ""},
		{"a rule that cannot reject", 2, func(_ *Pairs, r *PairRules) { r.Rule.ScreenPairs = 4 }, 1, "4 pairs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := DefaultPairRules(now)
			p := syntheticPairs(tt.slowdown, rules)
			if tt.spoil != nil {
				tt.spoil(&p, &rules)
			}
			r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
			var said strings.Builder
			for _, c := range r.Checks {
				said.WriteString(c.Why + "\n")
			}
			if r.Code != tt.code || !strings.Contains(said.String(), tt.says) {
				t.Errorf("exit code %d, want %d; said %s, want %q in it", r.Code, tt.code, said.String(), tt.says)
			}
		})
	}
}

// Metrics that no pair can decide are refused before the first one.
func TestMistakesInPairRules(t *testing.T) {
	for want, change := range map[string]func(r *PairRules){
		"a maximum is one operation":         func(r *PairRules) { r.Metrics = []string{"wait-max-ns"} },
		"not the build: use PHASE-p50/floor": func(r *PairRules) { r.Metrics = []string{"floor-write-p50-ns"} },
		"bytes/op is neither a time":         func(r *PairRules) { r.Metrics = []string{metric.BytesPerOp} },
		"herd-max is neither a time":         func(r *PairRules) { r.Metrics = []string{metric.RequestsPerOp, metric.HerdMax} },
		"4 pairs":                            func(r *PairRules) { r.Rule.ScreenPairs = 4 },
	} {
		rules := DefaultPairRules(now)
		if err := rules.Validate(); err != nil {
			t.Errorf("by default: %v", err)
		}
		change(&rules)
		if err := rules.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Only the variants that the screen flags are confirmed.
func TestFlagged(t *testing.T) {
	rules := DefaultPairRules(now)
	p, slow := syntheticPairs(1, rules), syntheticPairs(1.5, rules)
	for i := range p.Screen {
		for side := range p.Screen[i] {
			d := slow.Screen[i][side][0]
			d.Variant, d.Clients = "slow", 10
			p.Screen[i][side] = append(p.Screen[i][side], d)
		}
	}
	metrics, variants, clients := p.Flagged(rules)
	if len(metrics) != 3 || !slices.Equal(variants, []string{"slow"}) || !slices.Equal(clients, []int{10}) {
		t.Errorf("flagged: %v of %v with %v clients", metrics, variants, clients)
	}
}

// Variants that were not flagged need no confirmation.
func TestConfirmationOfSome(t *testing.T) {
	rules := DefaultPairRules(now)
	p, same := syntheticPairs(1.5, rules), syntheticPairs(1, rules)
	for i := range p.Screen {
		for side := range p.Screen[i] {
			d := same.Screen[i][side][0]
			d.Variant = "same"
			p.Screen[i][side] = append(p.Screen[i][side], d)
		}
	}
	r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
	for _, c := range r.Checks {
		timed := c.Source == FromPairs && !isCount(strings.TrimSuffix(c.Metric, ratioSuffix))
		if want := map[string]outcome.Outcome{"same": outcome.Pass, "synthetic": outcome.Regression}[c.Variant]; timed && c.Outcome != want {
			t.Errorf("%s of %s: %s (%s), want %s", c.Metric, c.Variant, c.Outcome, c.Why, want)
		}
	}
	if r.Code != 3 {
		t.Errorf("exit code %d", r.Code)
	}
}

// A machine whose noise exceeds the slowdown makes the gate inconclusive. Without a recent calibration there is a note.
func TestCalibration(t *testing.T) {
	rules := DefaultPairRules(now)
	same, slower := syntheticPairs(1, rules), syntheticPairs(1.5, rules)
	entries, err := Calibrate(same, rules)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for i := range entries {
		if r := entries[i].Resolution; !(r > 1 && r < 1.1) {
			t.Errorf("resolution of a quiet machine: %g", r)
		}
		entries[i].Resolution = 2
	}
	file := filepath.Join(t.TempDir(), "zkbench", "calibration.json")
	for range 2 { // the second time it replaces
		c := must.Get(ReadCalibration(file))(t)
		must.Do(t, c.Keep(file, entries))
	}
	kept, err := ReadCalibration(file)
	if err != nil || len(kept.Entries) != 3 {
		t.Fatalf("kept: %+v, %v", kept, err)
	}
	for _, tt := range []struct {
		name   string
		when   time.Time
		change func(d *results.Document)
		code   int
		notes  int
	}{
		{"calibrated", now.Add(time.Hour), func(*results.Document) {}, 5, 0}, // neither flagged nor ruled out
		{"too long ago", now.AddDate(0, 0, 8), func(*results.Document) {}, 3, 1},
		{"from the future", now.Add(-time.Hour), func(*results.Document) {}, 3, 1},
		{"elsewhere", now, func(d *results.Document) { d.Environment.CPUs = 7 }, 3, 1},
		{"another load", now, func(d *results.Document) { d.Scenario.Duration = time.Minute }, 3, 1},
		{"another disk", now, func(d *results.Document) { d.Environment.TxnLog = "/x (tmpfs)" }, 3, 1},
		{"other settings", now, func(d *results.Document) { d.Environment.ServerConfig = map[string]string{"tickTime": "7"} }, 3, 1},
		{"another number of servers", now, func(d *results.Document) { d.Environment.Servers = []string{"a", "b"} }, 3, 1},
		{"another build", now, func(d *results.Document) { d.Environment.Zkbench = "x" }, 5, 0},
		{"another scenario", now, func(d *results.Document) { d.Scenario.Name = "x" }, 3, 1},
	} {
		p := Pairs{}
		for i, from := range [][][2][]*results.Document{slower.Screen, slower.Confirm} {
			to := []*[][2][]*results.Document{&p.Screen, &p.Confirm}[i]
			for _, pair := range from {
				a, b := *pair[0][0], *pair[1][0]
				tt.change(&a)
				tt.change(&b)
				*to = append(*to, [2][]*results.Document{{&a}, {&b}})
			}
		}
		rules.Calibration, rules.Now = kept, tt.when
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
		if r.Code != tt.code || len(r.Notes) != tt.notes {
			t.Errorf("%s: exit code %d, notes %q; want %d, %d", tt.name, r.Code, r.Notes, tt.code, tt.notes)
		}
	}
}

func TestWhatIsNoCalibration(t *testing.T) {
	rules := DefaultPairRules(now)
	few, mixed := syntheticPairs(1, rules), syntheticPairs(1, rules)
	invalid := syntheticPairs(1, rules)
	head(invalid, 2).Invalid = []string{"x"}
	few.Screen = few.Screen[:CalibrationPairs-1]
	head(mixed, 2).Environment.Engine = "process"
	for name, p := range map[string]Pairs{"too few pairs": few, "two engines": mixed, "an invalid run": invalid} {
		if entries, err := Calibrate(p, rules); err == nil {
			t.Errorf("%s calibrates: %+v", name, entries)
		}
	}
}

// Faults that no later pair can correct are found after the first one.
func TestCheckPair(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(pair *[2][]*results.Document, r *PairRules)
		want  string
	}{
		{"whole", func(*[2][]*results.Document, *PairRules) {}, ""},
		{"no base", func(p *[2][]*results.Document, _ *PairRules) { p[0] = nil }, "base has no result"},
		{"no head", func(p *[2][]*results.Document, _ *PairRules) { p[1] = nil }, "head has no result"},
		{"a misspelt metric", func(_ *[2][]*results.Document, r *PairRules) { r.Metrics = []string{"wiat-p50-ns"} }, "wiat-p50-ns was not measured; choose other metrics with --metrics"},
		{"a far tail", func(_ *[2][]*results.Document, r *PairRules) { r.Metrics = []string{"wait-p99.9-ns"} }, "each run needs 10000"},
		{"no percentile of a phase", func(_ *[2][]*results.Document, r *PairRules) { r.Metrics = []string{"herd-spread-p99-ns"} }, "was not measured"},
		{"a lower bound", func(p *[2][]*results.Document, r *PairRules) {
			r.Metrics = []string{metric.RecoveryP50}
			p[1][0].Failure = &results.Failure{Unrecovered: 1}
			p[0][0].Metrics[metric.RecoveryP50], p[1][0].Metrics[metric.RecoveryP50] = results.Metric{Value: 1}, results.Metric{Value: 1}
		}, "only a lower bound"},
		{"no throughput", func(p *[2][]*results.Document, _ *PairRules) { delete(p[1][0].Metrics, metric.OpsPerSecond) }, "the first pair's head, synthetic: ops/s was not measured"},
	} {
		rules := DefaultPairRules(now)
		pair := syntheticPairs(1, rules).Screen[0]
		tt.spoil(&pair, &rules)
		switch err := rules.CheckPair(pair); {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// The head is held to claims as any result is; the base is not.
func TestClaimsAboutTheHead(t *testing.T) {
	for side, want := range []int{0, 3} {
		rules := DefaultPairRules(now)
		rules.Metrics = []string{metric.OpsPerSecond}
		p := syntheticPairs(1, rules)
		for _, pair := range p.Screen {
			pair[side][0].Metrics[metric.NotificationsPerOp] = results.Metric{Value: 2}
			pair[side][0].Expected.Costs = nil
		}
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules, Assertions: []Assertion{assertion(t, "synthetic notifications/op <= 1")}})
		if r.Code != want {
			t.Errorf("side %d: exit code %d, want %d", side, r.Code, want)
		}
	}
}

// Of a variant that is known to be broken, only exact counts are compared. Without any other variant, times decide nothing.
func TestPairsOfKnownBrokenVariants(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base, head *results.Document
		want       int
		note       string
	}{
		{"times", syntheticClosed(1), syntheticClosed(9), 5, "is known to be broken, and only its exact counts are compared"},
		{"counts", syntheticLockstep(1), syntheticLockstep(2), 3, "is known to be broken"},
		{"the same counts", syntheticLockstep(1), syntheticLockstep(1), 0, "is known to be broken"},
	} {
		tt.base.KnownBroken, tt.head.KnownBroken = "two may hold", "two may hold"
		p := Pairs{Screen: [][2][]*results.Document{{{tt.base}, {tt.head}}}}
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: DefaultPairRules(now)})
		if r.Code != tt.want || !strings.Contains(strings.Join(r.Notes, "\n"), grouping.KeyOf(tt.head).Name()+" "+tt.note) {
			t.Errorf("%s: exit code %d, want %d; noted %q", tt.name, r.Code, tt.want, r.Notes)
		}
	}
}

// The counts of all variants come before any time: the noise of one variant must not hide the regression of another.
func TestCountsDecideBeforeTimes(t *testing.T) {
	rules := DefaultPairRules(now)
	p, r := syntheticPairs(1, rules), rules
	counted(metric.RequestsPerOp, 5, 6)(&p, &r)
	noisy := syntheticPairs(1, rules)
	for i, pair := range p.Screen {
		head(noisy, i).Metrics["wait-p50-ns"] = results.Metric{Value: []float64{1e5, 1e7}[i%2]}
		for side := range pair {
			d := noisy.Screen[i][side][0]
			d.Variant = "a-noisy-one"
			p.Screen[i][side] = append(p.Screen[i][side], d)
		}
	}
	const note = "times are not compared, because the counts decide"
	if r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules}); r.Code != 3 || !slices.Equal(r.Notes, []string{note}) {
		t.Errorf("exit code %d, notes %q, findings %v", r.Code, r.Notes, r.Findings)
	}
}

// A finding says in plain words what noise leaves open; the statistics are in the check.
func TestNoiseInPlainWords(t *testing.T) {
	for _, tt := range []struct {
		ratios []float64
		want   string
	}{
		{[]float64{0.5, 2}, "wait, p50: too noisy to decide: no worse than the base, or up to 2 times worse; the gate must rule out 1.25: lengthen"},
		{[]float64{1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 2, 2}, "wait, p50: too noisy to decide: 1.05 to 1.45 times worse; the gate"},
	} {
		rules := DefaultPairRules(now)
		rules.Metrics = []string{"wait-p50-ns"}
		p := syntheticPairs(1, rules)
		for i, pair := range p.Screen {
			for side, value := range []float64{1e6, 1e6 * tt.ratios[i%len(tt.ratios)]} {
				pair[side][0].Metrics["wait-p50-ns"] = results.Metric{Value: value}
			}
		}
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
		if r.Code != 5 || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text, tt.want) || !strings.Contains(r.Checks[0].Why, "p = ") {
			t.Errorf("exit code %d, %v; want %q", r.Code, r.Findings, tt.want)
		}
	}
}

// On embedded servers, only counts are compared, unless a time is named.
func TestPairsOnEmbeddedServers(t *testing.T) {
	for want, metrics := range map[string][]string{
		"times are not compared: embedded servers": nil,
		"their times are not those of an ensemble": {metric.OpsPerSecond},
	} {
		rules := DefaultPairRules(now)
		p := syntheticPairs(1.5, rules)
		for _, d := range p.Documents() {
			d.Environment.Engine = results.Embedded
		}
		rules.Metrics = metrics
		r := Evaluate(Evidence{Pairs: &p}, Rules{Paired: rules})
		timed := slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Metric == metric.OpsPerSecond+ratioSuffix })
		if !strings.Contains(strings.Join(r.Notes, "\n"), want) || timed != (metrics != nil) || timed != (r.Code == 3) {
			t.Errorf("%v: exit code %d, notes %q", metrics, r.Code, r.Notes)
		}
	}
}
