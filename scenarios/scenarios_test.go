package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func TestEmbeddedScenariosAreValid(t *testing.T) {
	names := Names()
	if len(names) == 0 {
		t.Fatal("no scenario is embedded")
	}
	for _, name := range names {
		s, err := Load(name, catalog.Recipes())
		if err != nil {
			t.Error(err)
		}
		if s.Name != name || s.Question == "" {
			t.Errorf("%s.yaml calls itself %q and asks %q", name, s.Name, s.Question)
		}
		files := list.Where(embeddedFiles(), func(file string) bool { return nameOf(file) == name })
		if want := "questions/" + s.Recipe + "/" + name + ".yaml"; !slices.Equal(files, []string{want}) {
			t.Errorf("%s is in %v, want %s", name, files, want)
		}
	}
}

// A name belongs to a scenario or to a group. The group exact has no scenarios that measure heaps, as `make gate` has none.
func TestGroups(t *testing.T) {
	sizes := map[string]int{}
	for _, name := range Groups() {
		group, err := Group(name, catalog.Recipes())
		if err != nil || slices.Contains(Names(), name) {
			t.Errorf("group %s is a scenario, too, or: %v", name, err)
		}
		sizes[name] = len(group)
		for _, s := range group {
			alone := slices.Equal(s.Clients, []int{1}) && s.Operations > 0 && len(s.Faults) == 0
			if name == "exact" && (s.Mode != Lockstep && !alone || s.Heap) || name == "overview" && (len(s.Variants) != 2 || len(s.Clients) != 1) {
				t.Errorf("%s is in group %s", s.Name, name)
			}
		}
	}
	if sizes[BoundsName] != len(catalog.Recipes()) {
		t.Errorf("%d scenarios are in group %s", sizes[BoundsName], BoundsName)
	}
	if sizes["all"] != len(Names()) || sizes["exact"] < 40 || sizes["overview"] == 0 || sizes[MatrixName] == 0 {
		t.Errorf("the groups have %v scenarios, and there are %d in all", sizes, len(Names()))
	}
	for _, name := range []string{"lock-drain", "exact*", ""} {
		if group, err := Group(name, catalog.Recipes()); len(group) > 0 || err != nil {
			t.Errorf("%q stands for a group: %v, %v", name, group, err)
		}
	}
	if _, err := Load("lock-dra*", catalog.Recipes()); err == nil {
		t.Error("a pattern is taken for a name")
	}
}

// Each testdata/*.yaml has mistakes, and the .txt of the same name has all messages about them.
func TestMistakesAreAllReported(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Read(t.Context(), file, catalog.Recipes())
			got := "no mistake\n"
			if err != nil {
				got = err.Error() + "\n"
			}
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".txt", []byte(got))
		})
	}
}

func TestTimesAreLimited(t *testing.T) {
	for _, length := range []time.Duration{-1, maxLoad + 1} {
		s := Default()
		for _, f := range s.Fields() {
			if d, ok := f.Value.(*time.Duration); ok {
				*d = length
			}
		}
		problems := s.Validate(nil)
		for _, f := range s.Fields() {
			_, isTime := f.Value.(*time.Duration)
			if isTime && !slices.ContainsFunc(problems, func(p Problem) bool { return p.Field == f.Name }) {
				t.Errorf("%s: %s is accepted", f.Name, length)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"lock-contention", "lock-drain", "mode", "hold"}
	for name, want := range map[string]string{
		"lock-contentoin": `; did you mean "lock-contention"?`,
		"hodl":            `; did you mean "hold"?`, // a swap is one mistake
		"drain":           "; there are: lock-drain",
		"lock-elsewhere":  "; there are: lock-contention, lock-drain",
		"x":               "; there are: lock-contention, lock-drain, mode, hold",
	} {
		if got := strict.Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	many := strings.Split(strings.Repeat("name ", 15)+"name", " ")
	if got := strict.Nearest("unlike any", many); !strings.HasSuffix(got, ", name, … and 4 more") {
		t.Errorf("Nearest among many = %q", got)
	}
	if got := strict.Nearest("x", nil); got != "" {
		t.Errorf("Nearest among nothing = %q", got)
	}
}

func TestSelectedVariants(t *testing.T) {
	exact := variants.Cost{Requests: "5", Writes: "2", FailedWrites: "0", Notifications: "1", HerdMax: "1"}
	recipe := variants.Recipe{Name: "lock", Variants: []variants.Variant{{Name: "a", Lockstep: exact}, {Name: "b"}, {Name: "c", Lockstep: exact}}}
	for _, tt := range []struct {
		mode  results.Mode
		asked []string
		want  string
	}{
		{Closed, nil, "a b c"},
		{Closed, []string{"c", "a"}, "a c"},
		{Closed, []string{"lock/b"}, "b"},
		{Lockstep, nil, "a c"}, // b does not state exact costs
		{Lockstep, []string{"b"}, ""},
	} {
		s := Scenario{Scenario: results.Scenario{Mode: tt.mode, Variants: tt.asked}}
		var got []string
		for _, v := range s.Selected(recipe) {
			got = append(got, v.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %v selects %v, want %s", tt.mode, tt.asked, got, tt.want)
		}
	}
}

// A document has the metrics of its scenario even if flags have removed the claims.
func TestMetricsAskedOutliveFlags(t *testing.T) {
	s, err := Load("lock-contention", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	asked := s.Asks
	for _, metric := range []string{metric.OpsPerSecond, metric.HerdMax, metric.NotificationsPerOp} {
		if !slices.Contains(asked, metric) {
			t.Errorf("asks %v, want %s among them", asked, metric)
		}
	}
	if s.Quick(); !slices.Equal(s.Asks, asked) || s.Expect != nil {
		t.Errorf("a quick run asks %v and expects %v, want the same metrics and no claims", s.Asks, s.Expect)
	}
}

// `compare` decides times by six pairs. A scenario whose overview or claims compare times of two variants has as many repeats, or a single
// one, which compares nothing. Faults and numbers of operations fix the length of a load, so that more repeats would take longer.
func TestTimesAreComparedBySixRepeats(t *testing.T) {
	compared := 0
	for _, name := range Names() {
		s := must.Get(Load(name, catalog.Recipes()))(t)
		if s.Mode == Lockstep || s.Faulty() || s.Operations > 0 || s.Repeats == 1 {
			continue
		}
		pair, _ := claim.ParsePair(s.Overview)
		times := slices.ContainsFunc(pair.Metrics, func(name string) bool { return metric.Named(name).Timed() })
		for _, text := range s.Expect {
			c := must.Get(claim.Parse(text))(t)
			times = times || c.IsTime() && c.Of != ""
		}
		if times {
			compared++
			if s.Repeats < 6 {
				t.Errorf("%s compares times by %d repeats: give it 6, and shorten it", name, s.Repeats)
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d scenarios compare times", compared)
	}
}

// A variant of a client library runs only where it is named. A recipe lists it in Libraries or in Broken.
func TestLibraryVariantsAreNamed(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.All() {
			listed := slices.ContainsFunc(recipe.Libraries, func(l variants.Variant) bool { return l.Name == v.Name })
			if (v.Kind == variants.Library) != listed && v.Broken == "" {
				t.Errorf("%s/%s is of kind %s; listed among those of libraries: %t", recipe.Name, v.Name, v.Kind, listed)
			}
			for _, named := range []bool{false, true} {
				s := Default()
				if named {
					s.Variants = []string{v.Name}
				}
				runs := slices.ContainsFunc(s.Selected(recipe), func(one variants.Variant) bool { return one.Name == v.Name })
				if listed && runs != named {
					t.Errorf("%s/%s is named: %t, runs: %t", recipe.Name, v.Name, named, runs)
				}
			}
		}
	}
}

func TestKnownBrokenVariantsAreNamed(t *testing.T) {
	recipe := catalog.Recipes()[0]
	known := recipe.Broken[0].Name
	runs := func(s Scenario) bool {
		return slices.ContainsFunc(s.Selected(recipe), func(v variants.Variant) bool { return v.Name == known })
	}
	s := Default()
	if runs(s) {
		t.Errorf("%s runs although it is not named", known)
	}
	if s.Variants = []string{recipe.Name + "/" + known}; !runs(s) || s.KnownBroken(recipe.Broken[0]) == "" {
		t.Errorf("%s does not run, or is not known to be broken", known)
	}
	if s.Variants, s.Broken = nil, []string{known}; !runs(s) {
		t.Errorf("%s does not run where the scenario expects a breach of it", known)
	}
	s.Broken = nil
	sound := recipe.Variants[0]
	if s.KnownBroken(sound) != "" {
		t.Errorf("%s is known to be broken", sound.Name)
	}
	if s.Broken = []string{sound.Name}; s.KnownBroken(sound) == "" {
		t.Errorf("%s is not known to be broken where the scenario expects it", sound.Name)
	}
}

func TestBrokenVariantsSayHow(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.All() {
			listed := slices.ContainsFunc(recipe.Broken, func(b variants.Variant) bool { return b.Name == v.Name })
			if (v.Broken != "") != listed {
				t.Errorf("%s/%s: broken %q, listed among the broken ones: %t", recipe.Name, v.Name, v.Broken, listed)
			}
		}
	}
}

func TestPageHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range new(Scenario).FileFields() {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + f.Name + "`[^|]* \\|")
		if !row.Match(page) {
			t.Errorf("docs/scenarios.md has no row of %s", f.Name)
		}
	}
}

// The scenarios of the bounds are valid, and have each variant that is optimized or comes with a library.
func TestBoundsHaveOptimizedVariantsAndLibraries(t *testing.T) {
	recipes := catalog.Recipes()
	for i, s := range Bounds(recipes) {
		if found := s.Validate(recipes); len(found) > 0 || s.Recipe != recipes[i].Name {
			t.Errorf("%s: recipe %s, mistakes %v", s.Name, s.Recipe, found)
		}
		want := list.Where(recipes[i].All(), func(v variants.Variant) bool { return v.Kind != variants.Naive })
		names := func(all []variants.Variant) []string {
			return list.Map(all, func(v variants.Variant) string { return v.Name })
		}
		if got := s.Selected(recipes[i]); len(got) == 0 || !slices.Equal(names(got), names(want)) {
			t.Errorf("%s runs %v, want %v", s.Name, names(got), names(want))
		}
		for _, v := range want {
			if s.ExpectsBreach(v) != (v.Broken != "") {
				t.Errorf("%s: breach of %s expected: %v", s.Name, v.Name, s.ExpectsBreach(v))
			}
		}
	}
}
