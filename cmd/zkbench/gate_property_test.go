package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// harmless lists the leaves of a document that may be changed without the gate's notice, each with why that lets nothing
// through. A new leaf gets a cross-check in results.Document.Validate, or a line here.
var harmless = []struct{ path, why string }{
	{`^warnings(\[|$)`, "a warning is text for readers; doubts that decide are derived from health and window again"},
	{`^health\.throttled$`, "exact counts do not depend on it, and other loads do not pass with it"},
	{`^health\.(client_cpu|machine_cpu|scheduler_p99_ns|gc_pause_max_ns|lateness_p99_ns)$`, "any value is one that could have been measured: what follows from it is derived from it again, and nothing else knows it"},
	{`^window\.(unfinished_waits|oldest_wait_ns|starving_waits)$`, "the same; they must fit each other and the percentiles, and no count depends on them"},
	{`^(servers|stalls)(\[|$)`, "the same; they name causes of delays, which no count depends on"},
	{`^timeline\.(notifications|bystander)\[`, "dots of a picture; how many there are is checked"},
	{`^around_herd\.(start_ns|end_ns|notifications\[|bystander(\[|$))`, "the same; a figure's surroundings of the largest herd"},
	{`^stages\[\d+\]\.(largest_herd|backlog_max)$`, "the largest of all stages is checked, and no metric is made of the others"},
	{`^open\.backlog_last_empty_ns$`, "in which half of the window it lies decides, and the metrics follow from that"},
	{`^series\.backlog\[`, "points of a picture; how many there are is checked, and that the largest backlog is among them"},
	{`^series\.(start_ns|(operations|requests|notifications|largest_herd|slowest_read_ns|samples|time_ns|memory_bytes)\[)`, "points of a picture; how many there are is checked, and that they contain what the window has"},
	{`^failure\.faults\[\d+\]\.(at_ns|length_ns|target|victims(\[|$))`, "marks of a picture; that they lie in the window and in order is checked, and recoveries are compared with their histogram"},
	{`^failure\.faults\[\d+\]\.recovery_ns$`, "what differs in the first three digits is noticed: the histogram has it"},
	{`^failure\.around\.(timeline\.(start_ns|end_ns|notifications(\[|$)|bystander(\[|$))|operations(\[|$))`, "a figure's surroundings of the first fault"},
	{`^failure\.(missed|rejoins)$`, "no metric is made of it"},
	{`^connect\.total_ns$`, "the same; that no session took longer is checked, and what sessions took has a metric"},
	{`^(forgoes|scenario\.(asks|expect))(\.|\[|$)`, "they select figures and explain them; a gate has the claims of the scenario's own file"},
	{`^counts\.housekeeping$`, "what sessions cost besides the recipe; no metric is made of it"},
}

// ofFaults matches the leaves that differ in documents with faults. The others are changed in documents without.
var ofFaults = regexp.MustCompile(`^(scenario|failure|health\.(reconnects|sessions_lost)|metrics\.(recovery|unavailable|operations-failed|requests-peak|bytes-peak|orphans|blocked|fenced))`)

// ofOpen matches the leaves that only documents of open loads have.
var ofOpen = regexp.MustCompile(`^(open|rate|scenario\.(mode|rates|arrivals)|series\.backlog|histograms\.(response|service)|metrics\.(response|service|offered|achieved|backlog))`)

// ofStages matches the leaves that only documents of loads in stages have.
var ofStages = regexp.MustCompile(`^(stages|scenario\.(stages|duration_ns))`)

// ofBackgrounds matches the leaves that differ in documents with a background.
var ofBackgrounds = regexp.MustCompile(`^(scenario|background|oracle|metrics\.background)`)

// sample selects the changes to test. Of changes that differ only in an index, it takes the first three and every twentieth.
type sample map[string]int

var index = regexp.MustCompile(`\[\d+\]`)

func (s sample) takes(c change) bool {
	kind := index.ReplaceAllString(c.path, "[]") + c.what
	s[kind]++
	return s[kind] <= 3 || s[kind]%20 == 0
}

// A result never passes after a change to one leaf, or if one part is removed, emptied or doubled.
func TestGateNoticesEveryChange(t *testing.T) {
	t.Parallel()
	lockstep, closed := scenarios.Default(), scenarios.Default()
	lockstep.Name, lockstep.Mode = "stepped", scenarios.Lockstep
	lockstep.Hold = scenarios.Duration(20 * time.Millisecond) // so that bystanders read in each repeat
	closed.Hold = scenarios.Duration(5 * time.Millisecond)    // so that the timeline is short
	closed.Name, closed.Duration, closed.WarmUp = "looped", scenarios.Duration(100*time.Millisecond), scenarios.Duration(20*time.Millisecond)
	faulty := closed
	faulty.Name = "faulty"
	arriving := closed // with so many arrivals that some meet in each window
	arriving.Name, arriving.Mode, arriving.Rate, arriving.Arrivals = "arriving", scenarios.Open, []int{40}, scenarios.Poisson
	arriving.Duration = scenarios.Duration(400 * time.Millisecond)
	changing := arriving
	changing.Name, changing.Rate = "changing", nil
	busy := closed
	busy.Name = "busy"
	for _, s := range []scenarios.Scenario{lockstep, closed, faulty, arriving, changing, busy} {
		s.Question, s.Recipe, s.Clients, s.Repeats = "does one leaf matter?", "lock", []int{3}, 2
		s.Variants = []string{"children-watch", "predecessor-watch"}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			text, judge := passing(t, s)
			chosen, changes := sample{}, 0
			for change := range changesOf(t, text) {
				special := map[string]*regexp.Regexp{"faulty": ofFaults, "arriving": ofOpen, "changing": ofStages, "busy": ofBackgrounds}[s.Name]
				if special != nil && !special.MatchString(change.path) || !chosen.takes(change) {
					continue
				}
				changes++
				if r := judge(change.text()); r.Passed() && !isHarmless(change.path) {
					t.Errorf("%s %s: the gate passes", change.path, change.what)
				}
			}
			t.Logf("%d changes, %d bytes", changes, len(text))
		})
	}
}

// passing measures a scenario, and returns the text of one result and how the gate judges it in its place among the others.
// Unchanged, it passes. On a machine that stalls, a window may hold too little for that: then a longer one is measured. A window in
// lockstep may become too long: then it is measured again.
func passing(t *testing.T, s scenarios.Scenario) (text []byte, judge func(text []byte) gate.Report) {
	t.Helper()
	const longest, attempts = scenarios.Duration(20 * time.Second), 20
	for attempt := 1; ; attempt++ {
		if s.Name == "changing" {
			half := time.Duration(s.Duration) / 2
			s.Stages = []results.StageLoad{{For: half, Rate: 20}, {For: half, Rate: 40, Ramp: true}}
		}
		text, judge, err := measured(t, s)
		if err == nil {
			r := judge(text)
			if r.Passed() {
				return text, judge
			}
			err = fmt.Errorf("unchanged: %+v", r.Checks[0])
		}
		if s.Duration >= longest || attempt == attempts {
			t.Fatal(err)
		}
		t.Logf("with a window of %s: %v", time.Duration(s.Duration), err)
		s.Duration = min(4*s.Duration, longest)
	}
}

// measured returns the text of a scenario's first result, and how the gate judges another text in its place.
func measured(t *testing.T, s scenarios.Scenario) (text []byte, judge func(text []byte) gate.Report, err error) {
	t.Helper()
	plant := plantedInMemory
	if s.Mode == scenarios.Open {
		plant = planted
	}
	whole := gate.Read([]string{plant(t, s, catalog.Recipes())})
	if err := errors.Join(whole.Unreadable...); err != nil {
		return nil, nil, err
	}
	if w := whole.Documents[0].Window; w.Lockstep && w.Length() > results.TimelineLength {
		return nil, nil, fmt.Errorf("a window of %s, whose timeline may be any part of it: nothing else shows when it began", w.Length())
	}
	for _, d := range whole.Documents {
		d.Health = results.Health{ClientCPU: 0.2, MachineCPU: 0.3, SchedulerP99: 1, GCPauseMax: 1, LatenessP99: 1} // however busy this machine is
	}
	rules := gate.Rules{VariantsOf: variantsOf}
	if s.Name == "looped" {
		for _, d := range whole.Documents {
			addLosses(t, d)
		}
	}
	if s.Name == "busy" {
		for _, d := range whole.Documents {
			addBackground(t, d)
		}
	}
	switch s.Name {
	case "faulty":
		for _, d := range whole.Documents {
			addFaults(t, d)
		}
	case "arriving", "changing": // has no counts that a baseline could hold
		for _, d := range whole.Documents {
			arriveInTime(t, d)
		}
	default:
		if rules.Baselines, err = gate.BaselinesOf(whole.Documents); err != nil {
			return nil, nil, err
		}
	}
	others := whole.Documents[1:]
	judge = func(text []byte) gate.Report {
		d, err := results.Decode(text)
		if err != nil {
			return gate.Evaluate(gate.Evidence{Documents: others, Unreadable: []error{err}}, rules)
		}
		return gate.Evaluate(gate.Evidence{Documents: slices.Concat([]*results.Document{d}, others)}, rules)
	}
	text, err = json.Marshal(whole.Documents[0])
	return text, judge, err
}

// arriveInTime makes the generator of an open load punctual, however busy this machine is.
func arriveInTime(t *testing.T, d *results.Document) {
	t.Helper()
	var err error
	if d.Open.Lateness, err = results.NewHistogram(make([]time.Duration, d.Open.Served)); err != nil {
		t.Fatal(err)
	}
	d.Invalid = append([]string{}, d.Findings().Invalid...)
}

// addLosses makes a document one of a variant that does not even promise to avoid some losses while nothing fails.
func addLosses(t *testing.T, d *results.Document) {
	t.Helper()
	d.Losses = map[string]int64{results.TornReads: 1, results.Blocked: 2, "fenced": 3}
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
}

// addBackground makes a document one of a load beside a background, which the servers answered as it was due.
func addBackground(t *testing.T, d *results.Document) {
	t.Helper()
	d.Scenario.Background = &results.BackgroundLoad{Reads: 1000, Writes: 500, Bytes: 10, Znodes: 3, Sessions: 2}
	during := answered(t, 1000, 500, d.Window.Start, d.Window.End)
	d.Background = &results.Background{Alone: answered(t, 1000, 500, d.Window.Start/2, d.Window.Start), During: &during}
	d.Oracle.BackgroundWrites = d.Background.Alone.Write.Due + during.Write.Due
	d.Oracle.ServerTransactions += d.Oracle.BackgroundWrites
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
}

// answered returns a stretch in which all requests that were due were answered.
func answered(t *testing.T, reads, writes int, start, end time.Duration) results.BackgroundStretch {
	t.Helper()
	requests := func(rate int) results.BackgroundRequests {
		n := int((end - start) / (time.Second / time.Duration(rate)))
		response, err := results.NewHistogram(slices.Repeat([]time.Duration{3 * time.Millisecond}, n))
		if err != nil {
			t.Fatal(err)
		}
		service, err := results.NewHistogram(slices.Repeat([]time.Duration{2 * time.Millisecond}, n))
		if err != nil {
			t.Fatal(err)
		}
		return results.BackgroundRequests{Due: int64(n), Answered: int64(n), Response: response, Service: service}
	}
	return results.BackgroundStretch{Start: start, End: end, BacklogMax: 2, Read: requests(reads), Write: requests(writes)}
}

// addFaults makes a document one of a load with two faults, as if nothing had followed from them but a short recovery and
// some losses. No formula contains a recovery, so that there is no baseline.
func addFaults(t *testing.T, d *results.Document) {
	t.Helper()
	d.Scenario.Faults = []string{"deaf any at 20ms every 60ms"}
	at := d.Window.Start + d.Window.Length()/2
	recovery, err := results.NewHistogram([]time.Duration{3 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	around := d.Timeline
	around.Notifications, around.Bystander = []results.TimelineDot{{At: 1, Client: 1}}, []results.BystanderRead{{Service: 1, Response: 1}}
	d.Failure = &results.Failure{
		Faults: []results.Fault{
			{At: at, Length: time.Millisecond, Kind: "deaf", Target: "any", Victims: []int{0, 2}, Recovery: 3 * time.Millisecond},
			{At: at + time.Millisecond, Kind: "deaf", Target: "any", Victims: []int{}, Recovery: -1},
		},
		Missed: 1, Recovery: recovery, Unrecovered: 1, LongestUnrecovered: 5 * time.Millisecond, Unavailable: d.Window.Length() / 2,
		FailedOperations: 2, PeakRequests: d.Counts.TotalRequests, PeakBytesIn: d.Counts.BytesIn,
		Losses: map[string]int64{results.Orphans: 1, results.Blocked: 2, "fenced": 3}, Rejoins: 1,
		Around: &results.FaultExcerpt{Timeline: around, Operations: []results.TimelineDot{{At: 1, Client: 1}}},
	}
	d.Stalls = []results.Stall{}
	if d.Metrics, err = d.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
}

func isHarmless(path string) bool {
	for _, h := range harmless {
		if regexp.MustCompile(h.path).MatchString(path) {
			return true
		}
	}
	return false
}

// change is a document's text after one change, which is there until the next one.
type change struct {
	path, what string
	text       func() []byte
}

// tree is a JSON value whose keys keep their order, and may stand twice.
type tree struct {
	literal string // of what has no parts
	open    byte   // '{', '[' or 0
	keys    []string
	parts   []*tree
}

func parse(d *json.Decoder) (*tree, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		literal, err := json.Marshal(token)
		return &tree{literal: string(literal)}, err
	}
	node := &tree{open: byte(delim)}
	for d.More() {
		if node.open == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			node.keys = append(node.keys, key.(string))
		}
		part, err := parse(d)
		if err != nil {
			return nil, err
		}
		node.parts = append(node.parts, part)
	}
	_, err = d.Token()
	return node, err
}

func (n *tree) write(w *bytes.Buffer) {
	if n.open == 0 {
		w.WriteString(n.literal)
		return
	}
	w.WriteByte(n.open)
	for i, part := range n.parts {
		if i > 0 {
			w.WriteByte(',')
		}
		if n.open == '{' {
			w.WriteString(`"` + n.keys[i] + `":`) // no key needs an escape
		}
		part.write(w)
	}
	w.WriteByte(n.open + 2) // the closing bracket, in ASCII
}

// changesOf yields each single change of a document: of every leaf, object and list; of a long list, the first and the last
// element.
func changesOf(t *testing.T, text []byte) func(yield func(change) bool) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	root, err := parse(d)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(change) bool) {
		walk(root, "", func(path, what string) bool {
			return yield(change{strings.TrimPrefix(path, "."), what, func() []byte {
				var out bytes.Buffer
				root.write(&out)
				return out.Bytes()
			}})
		})
	}
}

// walk applies each change to the tree, shows it, and takes it back.
func walk(n *tree, path string, show func(path, what string) bool) bool {
	for i, part := range n.parts {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.open == '{' {
			at = path + "." + n.keys[i]
		}
		if n.open == '[' && i > 0 && i < len(n.parts)-1 {
			continue
		}
		original := *part
		for _, to := range replacements(part) {
			*part = to
			if !show(at, "is "+to.short()) {
				return false
			}
		}
		*part = original
		whole := *n
		n.keys, n.parts = remove(n.keys, i), remove(n.parts, i)
		ok := show(at, "is missing")
		*n = whole
		if n.open == '{' && ok {
			n.keys, n.parts = append(slices.Clone(n.keys), n.keys[i]), append(slices.Clone(n.parts), part)
			ok = show(at, "stands there twice")
			*n = whole
		}
		if !ok || !walk(part, at, show) {
			return false
		}
	}
	return true
}

func remove[T any](list []T, i int) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func (n tree) short() string {
	var out bytes.Buffer
	n.write(&out)
	return out.String()[:min(out.Len(), 40)]
}

// replacements returns what a value is replaced by: null, another type, nothing in it, and, of a number, its neighbours.
func replacements(n *tree) []tree {
	literals := []string{"null", `"x"`}
	switch value := json.Number(n.literal); {
	case n.open != 0:
		literals = append(literals, string([]byte{n.open, n.open + 2}))
	case n.literal == "true" || n.literal == "false":
		literals = append(literals, "true", "false")
	case strings.HasPrefix(n.literal, `"`):
		literals = append(literals, "1", `""`, strings.TrimSuffix(n.literal, `"`)+`x"`)
	default:
		f, err := value.Float64()
		literals = append(literals, "-1", "0", "1e999", fmt.Sprint(2*f), fmt.Sprint(f+1))
		if i, notWhole := value.Int64(); err == nil && notWhole == nil {
			literals = append(literals, fmt.Sprint(2*i), fmt.Sprint(i+1))
		}
	}
	var out []tree
	for _, literal := range slices.Compact(slices.Sorted(slices.Values(literals))) {
		same, err := sameValue(literal, *n)
		if err == nil && !same {
			out = append(out, tree{literal: literal})
		}
	}
	return out
}

// sameValue reports whether a literal means what a value is already.
func sameValue(literal string, n tree) (bool, error) {
	var text bytes.Buffer
	n.write(&text)
	var a, b any
	err := errors.Join(decodeNumber(literal, &a), decodeNumber(text.String(), &b))
	return fmt.Sprint(a) == fmt.Sprint(b), err
}

func decodeNumber(text string, into *any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n, ok := (*into).(json.Number); ok {
		if f, err := n.Float64(); err == nil && n.String() != "1e999" {
			*into = f
		}
	}
	return nil
}
