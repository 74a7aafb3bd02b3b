package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// The schemas are for editors. They describe the form of a file; zkbench also checks its meaning.
const (
	schemaFolder   = "../../docs/schema"
	scenarioSchema = "scenario.schema.json"
	rulesSchema    = "rules.schema.json"
)

// schema is a JSON Schema, or a part of one. It uses no keyword that editors with support for draft 7 only do not know.
type schema = map[string]any

// TestSchemas writes and compares the schemas, which come from the fields that zkbench reads.
func TestSchemas(t *testing.T) {
	fields := new(scenarios.Scenario).FileFields()
	if len(fields) < 2 || len(gate.RuleFields()) < 2 {
		t.Fatal("there are no fields")
	}
	for name, body := range map[string]schema{
		scenarioSchema: object(t, fields, helpOfFlags()),
		rulesSchema:    {"type": "array", "minItems": 1, "items": object(t, gate.RuleFields(), nil)},
	} {
		body["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		body["$comment"] = "Written by: go test ./cmd/zkbench -run TestSchemas -update"
		body["title"] = map[string]string{scenarioSchema: "A scenario of zkbench", rulesSchema: "Rules of zkbench gate"}[name]
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		must.Do(t, encoder.Encode(body))
		golden.Compare(t, filepath.Join(schemaFolder, name), text.Bytes())
	}
}

// helpOfFlags returns the help of the scenarios' flags by the names of the fields, without the notation of flags.
func helpOfFlags() map[string]string {
	help := map[string]string{}
	for _, f := range scenarios.FlagFields() {
		text := strings.NewReplacer("`", "", "\n", " ").Replace(f.Help)
		help[f.Name] = regexp.MustCompile(`, such as ['0-9].*`).ReplaceAllString(text, "")
	}
	return help
}

// object returns the schema of a mapping that has no other fields. Each is described by its help and by what it wants.
func object(t *testing.T, fields []strict.Field, help map[string]string) schema {
	t.Helper()
	properties := schema{}
	for _, f := range fields {
		of, text := property(t, f), help[f.Name]
		if !strings.Contains(text, f.Wants) {
			text = strings.TrimPrefix(text+": "+f.Wants, ": ")
		}
		if properties[f.Name] = of; text != "" {
			of["description"] = text
		}
	}
	out := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if required := list.Where(fields, func(f strict.Field) bool { return f.Required }); len(required) > 0 {
		out["required"] = list.Map(required, func(f strict.Field) string { return f.Name })
	}
	return out
}

// property returns the schema of a field. A value that is read in a new way fails the test, so that it cannot be forgotten.
func property(t *testing.T, f strict.Field) schema {
	t.Helper()
	integer, text := schema{"type": "integer"}, schema{"type": "string"}
	switch into := f.Value.(type) {
	case strict.Nested:
		return nested(t, f.Name, into)
	case *int, **int:
		return integer
	case *uint64:
		return schema{"type": "integer", "minimum": 0}
	case *float64:
		return schema{"type": "number"}
	case *bool:
		return schema{"type": "boolean"}
	case *time.Duration:
		return duration()
	case *results.Rate:
		return rate()
	case *[]int:
		return schema{"type": "array", "items": integer}
	case *[]string:
		return schema{"type": "array", "items": text}
	case *[]results.Rate:
		return schema{"type": "array", "items": rate()}
	case *string, *results.Mode:
		if f.Name == "recipe" {
			return enum(list.Map(catalog.Recipes(), func(r variants.Recipe) string { return r.Name }))
		}
		return enum(wordsOf(f.Wants))
	}
	t.Fatalf("%s: a %T has no schema", f.Name, f.Value)
	return nil
}

// wordsOf returns the values of a field that wants one of some words, such as "closed, lockstep or open"; none otherwise.
func wordsOf(wants string) []string {
	words := regexp.MustCompile(`^([^:]+: )?([a-z]+(?:, [a-z]+)*) or ([a-z]+)$`).FindStringSubmatch(wants)
	if words == nil {
		return nil
	}
	return append(strings.Split(words[2], ", "), words[3])
}

func enum(words []string) schema {
	if len(words) == 0 {
		return schema{"type": "string"}
	}
	return schema{"enum": words}
}

// duration describes what time.ParseDuration accepts. A zero needs no unit.
func duration() schema {
	return either(schema{"type": "string", "pattern": `^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`}, schema{"const": 0})
}

func rate() schema {
	return either(schema{"type": "integer"}, schema{"type": "string", "pattern": results.RatePattern})
}

func either(forms ...schema) schema { return schema{"anyOf": forms} }

func nested(t *testing.T, name string, n strict.Nested) schema {
	t.Helper()
	if len(n.Fields) == 0 {
		return ofFault(t, name)
	}
	block := object(t, n.Fields, nil)
	if name == "faults" {
		needs := func(names ...string) []schema {
			return list.Map(names, func(name string) schema { return schema{"required": []string{name}} })
		}
		block["oneOf"] = needs(list.Map(faults.Kinds(), func(k faults.Kind) string { return string(k) })...)
		block["anyOf"] = needs("at", "every")
	}
	if n.IsList {
		return schema{"type": "array", "items": block}
	}
	return block
}

// ofFault returns the schema of a field of a fault. The roles are those of all recipes.
func ofFault(t *testing.T, name string) schema {
	t.Helper()
	kind := faults.Kind(name)
	switch {
	case slices.Contains(faults.Kinds(), kind) && kind.OfServer():
		return enum(faults.Whom(kind, nil))
	case slices.Contains(faults.Kinds(), kind):
		var roles []string
		for _, r := range catalog.Recipes() {
			roles = list.AppendNew(roles, r.Roles...)
		}
		words := slices.DeleteFunc(faults.Whom(kind, roles), func(word string) bool { return strings.HasPrefix(word, "client ") })
		return either(enum(words), schema{"type": "string", "pattern": `^client (0|[1-9][0-9]{0,5})$`})
	case slices.Contains([]string{"at", "every", "for"}, name):
		return duration()
	case slices.Contains([]string{"before", "after"}, name):
		return enum(wire.OpcodeNames())
	}
	t.Fatalf("%s: a value without fields has no schema", name)
	return nil
}

// compiled returns a function that validates the text of a file. A text that is not YAML is an error, too.
func compiled(t *testing.T, name string) func(text string) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	validator := must.Get(compiler.Compile(filepath.Join(schemaFolder, name)))(t)
	return func(text string) error {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return err
		}
		return validator.Validate(value)
	}
}

// schemaLine is the first line of a file, by which editors find its schema. A relative path fits the clone, at any commit and
// without a network.
var schemaLine = regexp.MustCompile(`^# yaml-language-server: \$schema=(\S+)\n`)

// Every file with a scenario or rules names its schema in the first line and meets it.
func TestFilesMeetTheirSchema(t *testing.T) {
	valid := map[string]func(string) error{scenarioSchema: compiled(t, scenarioSchema), rulesSchema: compiled(t, rulesSchema)}
	shipped := must.Get(filepath.Glob("../../scenarios/questions/*/*.yaml"))(t)
	if len(shipped) != len(scenarios.Names()) {
		t.Errorf("there are %d files of %d scenarios", len(shipped), len(scenarios.Names()))
	}
	for _, file := range slices.Concat(shipped, must.Get(filepath.Glob("../../docs/examples/*.y*ml"))(t)) {
		text := string(must.Get(os.ReadFile(file))(t))
		line := schemaLine.FindStringSubmatch(text)
		if line == nil {
			if slices.Contains(shipped, file) {
				t.Errorf("%s: wants a first line with its schema", file)
			}
			continue // another program's file
		}
		if named := filepath.Join(filepath.Dir(file), line[1]); filepath.Dir(named) != filepath.Clean(schemaFolder) {
			t.Errorf("%s: its schema is %s", file, named)
		} else if err := valid[filepath.Base(named)](text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The examples of pages meet the schema of their kind.
func TestExamplesMeetTheirSchema(t *testing.T) {
	valid := map[string]func(string) error{"scenario": compiled(t, scenarioSchema), "rules": compiled(t, rulesSchema)}
	checked := map[string]int{}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			kind, _, _ := strings.Cut(b.marker, " ")
			if valid[kind] == nil {
				continue
			}
			checked[kind]++
			if err := valid[kind](b.text); err != nil {
				t.Errorf("%s:%d: %v", p.name, b.line, err)
			}
		}
	}
	if checked["scenario"] == 0 || checked["rules"] == 0 {
		t.Errorf("the pages have %v examples", checked)
	}
}

// What the schema refuses, zkbench refuses, too.
func TestWrongFiles(t *testing.T) {
	const scenario = "name: a\nquestion: b?\nrecipe: lock\nclients: [5]\nduration: 10s\n"
	const open = "name: a\nquestion: b?\nrecipe: lock\nclients: [5]\nduration: 10s\nmode: open\n"
	const rule = "- scenario: lock-drain\n  check: violations == 0\n"
	valid := map[string]func(string) error{scenarioSchema: compiled(t, scenarioSchema), rulesSchema: compiled(t, rulesSchema)}
	for _, tt := range []struct {
		schema, base, add string
		sound             bool
	}{
		{scenarioSchema, scenario, "", true},
		{scenarioSchema, scenario, "faults: [{kill: zoo1, at: 1s, for: 2s}, {cut: client 3, before: create, every: 5s}]\nhold: 0\n", true},
		{scenarioSchema, scenario, "background: {reads: 5, bytes: 100}\nwarm-up: 1.5s\n", true},
		{scenarioSchema, open, "rate: [100, 30/min, 900/h, 7/s]\n", true},
		{scenarioSchema, open, "stages: [{for: 5s, rate: 30/min}, {for: 5s, rate: 2, ramp: true}]\n", true},
		{scenarioSchema, scenario, "holds: 5ms\n", false},
		{scenarioSchema, scenario, "hold: 5\n", false},
		{scenarioSchema, scenario, "hold: 5 ms\n", false},
		{scenarioSchema, scenario, "hold:\n", false},
		{scenarioSchema, scenario, "size: many\n", false},
		{scenarioSchema, scenario, "seed: -1\n", false},
		{scenarioSchema, scenario, "roam: yes please\n", false},
		{scenarioSchema, scenario, "mode: ajar\n", false},
		{scenarioSchema, scenario, "variants: znode\n", false},
		{scenarioSchema, scenario, "expect: [{a: b}]\n", false},
		{scenarioSchema, open, "rate: [1]\narrivals: sometimes\n", false},
		{scenarioSchema, open, "rate: 6/min\n", false},
		{scenarioSchema, open, "rate: [6/day]\n", false},
		{scenarioSchema, open, "rate: [1.5]\n", false},
		{scenarioSchema, open, "stages: {for: 5s, rate: 3}\n", false},
		{scenarioSchema, open, "stages: [{for: 10s, rat: 3}]\n", false},
		{scenarioSchema, open, "stages: [{rate: 3}]\n", false},
		{scenarioSchema, open, "stages: [{for: 10s, rate: 3, ramp: 1}]\n", false},
		{scenarioSchema, scenario, "background: [500]\n", false},
		{scenarioSchema, scenario, "background: {reads: 500, writers: 3}\n", false},
		{scenarioSchema, scenario, "background: {reads: 1.5}\n", false},
		{scenarioSchema, scenario, "faults: {kill: leader, at: 1s}\n", false},
		{scenarioSchema, scenario, "faults: [{kil: leader, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{kill: zoo9, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{kill: holder, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{stop: client x, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{stop: all, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{cut: any, after: creates, at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{kill: leader, at: 1}]\n", false},
		{scenarioSchema, scenario, "faults: [{kill: leader}]\n", false},
		{scenarioSchema, scenario, "faults: [{at: 1s}]\n", false},
		{scenarioSchema, scenario, "faults: [{kill: leader, pause: leader, at: 1s}]\n", false},
		{scenarioSchema, "name: a\nquestion: b?\nclients: [5]\nduration: 10s\n", "", false},
		{scenarioSchema, "question: b?\nrecipe: lock\nclients: [5]\nduration: 10s\n", "", false},
		{scenarioSchema, "name: a\nquestion: b?\nrecipe: lok\nclients: [5]\nduration: 10s\n", "", false},
		{scenarioSchema, "name: a\nquestion: b?\nrecipe: lock\nclients: 5\nduration: 10s\n", "", false},
		{scenarioSchema, "name: a\nquestion: b?\nrecipe: lock\nclients: [five]\nduration: 10s\n", "", false},
		{scenarioSchema, "- name: a\n", "", false},
		{rulesSchema, rule, "", true},
		{rulesSchema, rule, "  clients: 50\n", true},
		{rulesSchema, "- scenario: lock-*\n  check: requests/op <= 5\n", "  tolerance: 0.05\n", true},
		{rulesSchema, "- scenario: lock-*\n  check: capacity >= 5\n", "  objective: response-p99 < 5ms\n  by: rate\n", true},
		{rulesSchema, rule, "  chek: violations == 0\n", false},
		{rulesSchema, rule, "  clients: many\n", false},
		{rulesSchema, rule, "  clients: 1.5\n", false},
		{rulesSchema, rule, "  tolerance: some\n", false},
		{rulesSchema, "- scenario: lock-*\n  check: capacity >= 5\n", "  objective: response-p99 < 5ms\n  by: load\n", false},
		{rulesSchema, rule, "  check:\n", false},
		{rulesSchema, "- scenario: lock-drain\n", "", false},
		{rulesSchema, "- check: violations == 0\n", "", false},
		{rulesSchema, "- {scenario: lock-drain, check: [violations == 0]}\n", "", false},
		{rulesSchema, "scenario: lock-drain\ncheck: violations == 0\n", "", false},
		{rulesSchema, "- nothing\n", "", false},
		{rulesSchema, "[]\n", "", false},
	} {
		text := tt.base + tt.add
		_, byZkbench := scenarios.Parse("a.yaml", []byte(text), catalog.Recipes())
		if tt.schema == rulesSchema {
			_, byZkbench = gate.ParseRules("a.yaml", []byte(text), gateNames())
		}
		bySchema := valid[tt.schema](text)
		if (byZkbench == nil) != tt.sound || (bySchema == nil) != tt.sound {
			t.Errorf("%s\nthe schema: %v\nzkbench: %v\nwant no mistakes: %t", text, bySchema, byZkbench, tt.sound)
		}
	}
}

// Files with mistakes in their form fail by the schema. The others have mistakes that a schema cannot see: in what values mean
// together, or in how YAML writes them.
func TestTestdataBySchema(t *testing.T) {
	onlyByZkbench := strings.Fields(`
		at-most at-most-and-heap at-most-beside-others
		background-claims-of-others background-claims-of-writes background-claims-without background-mistakes background-nothing
		background-too-large background-tree-too-large
		bad-size broken-variants claims-without-faults drain-with-duration
		faults-in-lockstep faults-that-cannot-happen faults-without-quorum finished-without-limit
		heap-of-a-crowd losses-without-faults no-load overview-comma polls-in-lockstep
		rate-in-closed rates-batch rates-too-low size-for-nothing size-with-faults
		stages-in-lockstep stages-mistakes stages-of-clients stages-too-low threads too-much two-documents unknown-variant`)
	valid := compiled(t, scenarioSchema)
	for _, file := range must.Get(filepath.Glob("../../scenarios/testdata/*.yaml"))(t) {
		name, text := strings.TrimSuffix(path.Base(file), ".yaml"), string(must.Get(os.ReadFile(file))(t))
		_, byZkbench := scenarios.Parse(file, []byte(text), catalog.Recipes())
		bySchema := valid(text)
		want := byZkbench != nil && !slices.Contains(onlyByZkbench, name)
		if (bySchema != nil) != want || byZkbench == nil && slices.Contains(onlyByZkbench, name) {
			t.Errorf("%s: the schema: %v\nzkbench: %v", name, bySchema, byZkbench)
		}
	}
}
