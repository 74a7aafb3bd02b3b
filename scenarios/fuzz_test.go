package scenarios

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants/catalog"
)

// longestError is more than the limits of messages allow, whatever the text.
const longestError = 64 << 10

// bombs are texts that stand for more values than they have, or that have many mistakes.
func bombs() []string {
	head := "name: bomb\nrecipe: lock\nmode: lockstep\nclients: [2]\n"
	chain := head + "variants:\n- &a [znode, znode, znode, znode, znode, znode, znode, znode, znode]\n"
	for c := 'b'; c < 'm'; c++ {
		chain += "- &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "]\n"
	}
	return []string{
		chain, head + "variants: &a [*a]\n", "&a\nname: x\nbackground: *a\n", head + "background: &a {reads: &b [*b]}\n",
		head + "<<: {size: 3}\n", head + "question: !!binary aGVsGb8=\n", head + "seed: 18446744073709551616\n",
		strings.Repeat("[", 300), head + "expect:\n" + strings.Repeat("- x\n", 100), head + "hold: 9999999h\nthink: 1e400s\n",
		"\ufeff" + strings.ReplaceAll(head, "\n", "\r\n"), head + "question: a\x00b\n", strings.Repeat("mode: closed\n", 50),
	}
}

// FuzzParse reads scenario files. A scenario that is accepted is valid, is the same after a document has kept it, and can be rehearsed.
func FuzzParse(f *testing.F) {
	for _, file := range embeddedFiles() {
		f.Add(must.Get(embedded.ReadFile(file))(f))
	}
	for _, file := range must.Get(filepath.Glob("testdata/*.yaml"))(f) {
		f.Add(must.Get(os.ReadFile(file))(f))
	}
	for _, text := range bombs() {
		f.Add([]byte(text))
	}
	recipes := catalog.Recipes()
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("fuzz.yaml", text, recipes)
		if err != nil {
			if len(err.Error()) > longestError {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if problems := s.Validate(recipes); len(problems) > 0 {
			t.Errorf("accepted, but invalid: %+v", problems)
		}
		var kept results.Scenario
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(s.Scenario))(t), &kept))
		if again := must.Get(json.Marshal(kept))(t); string(again) != string(must.Get(json.Marshal(s.Scenario))(t)) {
			t.Errorf("%+v is kept as %s", s.Scenario, again)
		}
		s.Quick()
		if problems := s.Validate(recipes); len(problems) > 0 {
			t.Errorf("cannot be rehearsed: %+v", problems)
		}
	})
}

// FuzzFlags gives values to the flags of scenarios. A value that is accepted is the same if its flag is given to a further run.
func FuzzFlags(f *testing.F) {
	seeds := []string{
		"1", "1,2,3", "6/min", "7/h,1/s", "0", "-1", "99999999999999999999", "18446744073709551616", "1e308", "9999999h", "3s", "true", "open", "poisson", "none",
		"for: 10s, rate: 100", "{for: 10s, clients: 5, ramp: true}", "reads: 500, writes: 100", "kill: leader, at: 2s, for: 3s",
		"znode,predecessor-watch", "&a [*a]", "rate: &a [*a]", "at: &a [*a]", strings.Repeat("1,", 100), strings.Repeat("[", 100), "a\x00",
	}
	fields := FlagFields()
	for i := range fields {
		for _, text := range seeds {
			f.Add(uint8(i), text)
		}
	}
	s := must.Get(Load("lock-contention", catalog.Recipes()))(f)
	f.Fuzz(func(t *testing.T, number uint8, text string) {
		field := fields[int(number)%len(fields)].Name
		given, one := Overrides{field: {text}}, s
		if err := one.Override(given); err != nil {
			if len(err.Error()) > longestError+len(text) {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		other := s
		must.Do(t, other.Override(given))
		if !reflect.DeepEqual(one, other) {
			t.Errorf("--%s %q: %+v, then %+v", field, text, one, other)
		}
		one.Validate(catalog.Recipes())
	})
}
