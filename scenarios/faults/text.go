package faults

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/strict"
)

// Parse reads one fault as a command line has it: "kill: leader, at: 2s, for: 3s", with or without braces around it.
func Parse(text string) (f Fault, err error) {
	err = strict.ReadLine(text, "kill: leader, at: 2s, for: 3s", func(root *yaml.Node) (mistakes strict.Mistakes) {
		f, mistakes = read(root, "")
		return mistakes
	})
	return f, err
}

// ReadList reads the schedule of a scenario. name is that of the list, for mistakes.
func ReadList(list *yaml.Node, name string) ([]Fault, strict.Mistakes) {
	var all []*reader
	mistakes := strict.List(list, name, func() ([]strict.Field, func() []string) {
		r := &reader{}
		all = append(all, r)
		return r.fields(), func() []string { return r.check(name) }
	})
	var schedule []Fault
	for _, r := range all {
		schedule = append(schedule, r.Fault)
	}
	return schedule, mistakes
}

// read reads one fault.
func read(node *yaml.Node, name string) (Fault, strict.Mistakes) {
	r := &reader{}
	mistakes, _ := strict.Mapping(node, name, r.fields())
	if len(mistakes) == 0 {
		for _, text := range r.check(name) {
			mistakes = append(mistakes, strict.Mistake{Line: node.Line, Text: text})
		}
	}
	return r.Fault, mistakes
}

// reader reads the fields of one fault.
type reader struct {
	Fault
	kinds []Kind // that are given
}

// fields returns every field of a fault: one for each kind, whose value is whom it hits, and those that all kinds have.
func (r *reader) fields() []strict.Field {
	var fields []strict.Field
	for _, k := range Kinds() {
		fields = append(fields, strict.Field{Name: string(k), Value: strict.Nested(func(value *yaml.Node, name string) strict.Mistakes {
			r.Kind, r.kinds = k, append(r.kinds, k)
			return readWord(&r.Whom, value, name, "whom, such as "+strings.Join(Whom(k, nil), ", "))
		})})
	}
	for _, f := range []struct {
		name  string
		value *time.Duration
	}{{"at", &r.At}, {"every", &r.Every}, {"for", &r.For}} {
		fields = append(fields, strict.Field{Name: f.name, Value: strict.Nested(func(value *yaml.Node, name string) strict.Mistakes {
			return readSpan(f.value, value, name)
		})})
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"before", &r.Before}, {"after", &r.After}} {
		fields = append(fields, strict.Field{Name: f.name, Value: strict.Nested(func(value *yaml.Node, name string) strict.Mistakes {
			return readWord(f.value, value, name, "the name of an operation, such as create")
		})})
	}
	return fields
}

func readWord(into *string, value *yaml.Node, name, wants string) strict.Mistakes {
	err := strict.Decode(value, into)
	// YAML reads the word null, but not in quotes, as a missing value. Refused in quotes, too, the word needs no quotes to be
	// written.
	if err == nil && *into != "null" && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*( (0|[1-9][0-9]{0,5}))?$`).MatchString(*into) {
		return nil
	}
	text := fmt.Sprintf("%s: wants %s", name, wants)
	if value.Kind == yaml.ScalarNode && value.Value != "" {
		text += fmt.Sprintf(", not %q", value.Value)
	}
	return strict.Mistakes{{Line: value.Line, Text: text}}
}

func readSpan(into *time.Duration, value *yaml.Node, name string) strict.Mistakes {
	err := strict.Decode(value, into)
	switch {
	case err != nil:
		return strict.Mistakes{{Line: value.Line, Text: name + ": wants a duration with its unit, such as 3s"}}
	case *into <= 0:
		return strict.Mistakes{{Line: value.Line, Text: fmt.Sprintf("%s: wants a duration above 0, not %s", name, *into)}}
	default:
		return nil
	}
}

// check returns the mistakes of a fault that depend on nothing else.
func (r *reader) check(name string) []string {
	var problems []string
	add := func(format string, args ...any) {
		problems = append(problems, strings.TrimPrefix(name+": "+fmt.Sprintf(format, args...), ": "))
	}
	switch len(r.kinds) {
	case 0:
		add("what fails? One of the fields %s is missing", joined(Kinds(), "or"))
		return problems
	case 1:
	default:
		add("%s are different faults: each wants a line of its own", joined(r.kinds, "and"))
		return problems
	}
	for _, p := range problemsOf(r.Fault) {
		add("%s", p)
	}
	return problems
}

// joined lists words for a message: "a, b or c".
func joined[S ~string](words []S, last string) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " " + last + " " + texts[len(texts)-1]
}
