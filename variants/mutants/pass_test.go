package mutants_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/simulation"
)

// The environment variables.
const (
	pattern     = "ZKBENCH_MUTATE"         // the mutants to play, as a regular expression of what identifies them
	resultsFile = "ZKBENCH_MUTATE_RESULTS" // mutants that it has are not played again
	seedsEach   = "ZKBENCH_MUTATE_SEEDS"   // for each mutant
	chosen      = "ZKBENCH_MUTANT"         // 0 is the original, which must survive
	reachedFile = "ZKBENCH_MUTANT_REACHED" // gets the numbers of the mutants whose places were reached
	played      = "ZKBENCH_MUTANT_PLAYED"  // the variants, as "lock/znode,lock/back-to-back"
	firstRun    = "ZKBENCH_MUTANT_FIRST"   // the number of the first run
)

// The bounds of a mutant's runs.
const (
	usualSeeds = 1000
	scouting   = 20 // the runs of each variant that find out which places it reaches
	limit      = time.Minute
	grace      = 20 * time.Second // of a run that has begun within the limit
)

// TestMutants plays all mutants and prints which are found.
func TestMutants(t *testing.T) {
	wanted, err := regexp.Compile(os.Getenv(pattern))
	if os.Getenv(pattern) == "" || err != nil {
		t.Skipf("set %s to a regular expression, such as ^lock/ (%v)", pattern, err)
	}
	dir := t.TempDir()
	all := generate(t, dir)
	p := &pass{t: t, dir: dir, binary: build(t, dir), sites: map[string][]string{}}
	p.results = cmp.Or(os.Getenv(resultsFile), filepath.Join(dir, "results.tsv"))
	p.scout(all)
	for _, m := range all {
		if wanted.MatchString(m.text) && !strings.Contains(p.known(), m.text+"\t") {
			p.note(m.text + "\t" + p.play(m))
		}
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	reasons := readReasons(t, "survivors.tsv")
	for line := range strings.Lines(p.known()) {
		fmt.Fprint(w, line)
		if why, survives := reasons.of(line); survives && why == "" {
			t.Errorf("testdata/survivors.tsv gives no reason why this is not found: %s", line)
		} else if survives {
			fmt.Fprintf(w, "\t%s\n", why)
		}
	}
	w.Flush()
	t.Logf("%d mutants\n%s", len(all), &table)
}

// reasons say why mutants are not found.
type reasons []reason

type reason struct {
	pattern *regexp.Regexp // of the file and the rest of what identifies a mutant, without its place in the file
	why     string
}

// readReasons reads the known reasons for mutants that are not found.
func readReasons(t *testing.T, file string) (all reasons) {
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		pattern, why, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok && !strings.HasPrefix(line, "#") {
			t.Errorf("testdata/%s: no pattern and reason, with a tab between them: %s", file, line)
		}
		if ok {
			all = append(all, reason{regexp.MustCompile(pattern), why})
		}
	}
	return all
}

// of returns why the mutant of a line of the results is not found; survives is false if it is found.
func (all reasons) of(result string) (why string, survives bool) {
	fields := strings.Split(result, "\t")
	if len(fields) < 3 || fields[2] != survived && fields[2] != missed {
		return "", false
	}
	why, _ = all.why(fields)
	return why, true
}

// why returns the first reason for a mutant, of which the fields are its place and what was changed.
func (all reasons) why(fields []string) (why string, known bool) {
	i := slices.IndexFunc(all, func(r reason) bool { return r.explains(fields) })
	if i < 0 {
		return "", false
	}
	return all[i].why, true
}

// explains reports whether the reason is one for a mutant.
func (r reason) explains(fields []string) bool {
	file, _, _ := strings.Cut(fields[0], ":")
	return r.pattern.MatchString(file + " " + fields[1])
}

// Each reason is one for a mutant that exists.
func TestSurvivorsAreMutants(t *testing.T) {
	all := generate(t, t.TempDir())
	for _, r := range readReasons(t, "survivors.tsv") {
		if !slices.ContainsFunc(all, func(m mutant) bool { return r.explains(strings.Split(m.text, "\t")) }) {
			t.Errorf("testdata/survivors.tsv: no mutant is %s", r.pattern)
		}
	}
}

// pass is a pass over all mutants.
type pass struct {
	t                    *testing.T
	dir, binary, results string
	sites                map[string][]string // the variants that reach a place, or a file
}

func (p *pass) known() string {
	text, _ := os.ReadFile(p.results)
	return string(text)
}

func (p *pass) note(result string) {
	f, err := os.OpenFile(p.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintln(f, result)
}

// names returns the variants that are played: all but those that are known to break their promise.
func names() []string {
	var out []string
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.Variants {
			out = append(out, recipe.Name+"/"+v.Name)
		}
	}
	return out
}

// scout plays the original, which must survive, and learns which variants reach which places.
func (p *pass) scout(all []mutant) {
	for _, name := range names() {
		file := filepath.Join(p.dir, strings.ReplaceAll(name, "/", "+"))
		if result := p.run(0, []string{name}, scouting, file); !strings.HasPrefix(result, survived) {
			p.t.Errorf("the original of %s: %s", name, result)
		}
		text, _ := os.ReadFile(file)
		for _, line := range strings.Fields(string(text)) {
			m := all[atoi(line)-1]
			p.sites[m.text] = append(p.sites[m.text], name)
			if !slices.Contains(p.sites[m.file], name) {
				p.sites[m.file] = append(p.sites[m.file], name)
			}
		}
	}
}

// The verdicts, in addition to those that name a class of findings.
const (
	survived = "SURVIVED"
	missed   = "NOT REACHED"
)

// play plays a mutant with the variants that reach its place, or else with those that reach its file.
func (p *pass) play(m mutant) string {
	concerned := p.sites[m.text]
	if len(concerned) == 0 {
		concerned = p.sites[m.file]
	}
	if len(concerned) == 0 {
		return missed + "\t\tno variant plays the file"
	}
	file := filepath.Join(p.dir, "reached")
	_ = os.Remove(file)
	result := p.run(m.number, concerned, cmp.Or(atoi(os.Getenv(seedsEach)), usualSeeds), file)
	if _, err := os.Stat(file); err != nil {
		result = strings.Replace(result, survived, missed, 1)
	}
	return result
}

// run plays a mutant in a process of its own and returns the result: a verdict, the number of runs, and the last one's
// variant and seed with its findings.
func (p *pass) run(number int, concerned []string, seeds int, reached string) string {
	ctx, cancel := context.WithTimeout(p.t.Context(), limit+grace)
	defer cancel()
	c := exec.CommandContext(ctx, p.binary, "-test.run=^TestMutant$", "-test.timeout=0")
	c.Env = append(os.Environ(), chosen+"="+strconv.Itoa(number), played+"="+strings.Join(concerned, ","), seedsEach+"="+strconv.Itoa(seeds),
		reachedFile+"="+reached, firstRun+"=0", "GOMAXPROCS=1", "GOGC=400", "GODEBUG=asyncpreemptoff=1")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	verdict, last := "DIED", ""
	for s := bufio.NewScanner(&out); s.Scan(); {
		switch kind, text, _ := strings.Cut(s.Text(), ": "); kind {
		case "RUN":
			last = text
		case "VERDICT":
			return text
		}
	}
	if ctx.Err() != nil {
		verdict = "HANGS"
	}
	text, _, _ := strings.Cut(errs.String(), "\n")
	return fmt.Sprintf("%s\t%s\t%v: %s", verdict, last, err, text)
}

// TestMutant plays the variants of one mutant in turn until something is found. It is run by [TestMutants].
func TestMutant(t *testing.T) {
	number, seeds, first := os.Getenv(chosen), atoi(os.Getenv(seedsEach)), atoi(os.Getenv(firstRun))
	if number == "" {
		t.Skip("TestMutants runs it")
	}
	concerned := strings.Split(os.Getenv(played), ",")
	begun := time.Now()
	i := first
	for ; i < first+seeds && time.Since(begun) < limit; i++ {
		name, seed := concerned[i%len(concerned)], i/len(concerned)
		fmt.Printf("RUN: %d\t%s seed %d\n", i+1, name, seed)
		out := simulate(t, name, uint64(seed))
		if out.Fails() && (number == "0" || !alsoOriginal(t, name, seed)) {
			f := out.Findings[0]
			fmt.Printf("VERDICT: %s\t%d\t%s seed %d: %s\n", f.Class, i+1, name, seed, strings.Join(strings.Fields(f.Text), " "))
			return
		}
	}
	fmt.Printf("VERDICT: %s\t%d\t%d variants, %s\n", survived, i, len(concerned), time.Since(begun).Round(time.Second))
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// simulate makes the run of a variant that a seed makes.
func simulate(t *testing.T, name string, seed uint64) simulation.Outcome {
	of, variant, _ := strings.Cut(name, "/")
	recipe := catalog.Named(of)
	r := recipe()
	v := r.Variants[slices.IndexFunc(r.Variants, func(v variants.Variant) bool { return v.Name == variant })]
	return simulation.Play(t, recipe, simulation.NewPlan(r, v, seed))
}

// alsoOriginal reports whether something is found in the same run without the mutant.
func alsoOriginal(t *testing.T, name string, seed int) bool {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutant$")
	c.Env = append(os.Environ(), chosen+"=0", reachedFile+"=", played+"="+name, seedsEach+"=1", firstRun+"="+strconv.Itoa(seed))
	out, _ := c.Output()
	return bytes.Contains(out, []byte("VERDICT: ")) && !bytes.Contains(out, []byte("VERDICT: "+survived))
}
