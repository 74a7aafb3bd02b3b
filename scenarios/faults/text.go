package faults

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/strict"
)

// Parse reads one fault from a command line, such as "kill: leader, at: 2s, for: 3s", with or without braces around it.
func Parse(text string) (Fault, error) {
	return strict.ReadLine(text, "kill: leader, at: 2s, for: 3s", func(root *yaml.Node, name string) (Fault, strict.Mistakes) {
		one, mistakes := ReadList(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{root}}, name)
		return one[0], mistakes
	})
}

// ReadList reads the schedule of a scenario. Mistakes begin with name, the name of the list, unless it is empty.
func ReadList(nodes *yaml.Node, name string) ([]Fault, strict.Mistakes) {
	var all []*reader
	mistakes := strict.List(nodes, name, func() ([]strict.Field, func() []string) {
		r := &reader{}
		all = append(all, r)
		return r.fields(), func() []string {
			return list.Map(r.check(), func(text string) string { return strings.TrimPrefix(name+": "+text, ": ") })
		}
	})
	return list.Map(all, func(r *reader) Fault { return r.Fault }), mistakes
}

type reader struct {
	Fault
	kinds []Kind // the kinds that are given; more than one is a mistake
}

// Fields returns the fields of a fault in a file.
func Fields() []strict.Field { return new(reader).fields() }

// fields returns the fields of a fault: one for each kind, whose value is whom it hits, and the fields of all kinds.
func (r *reader) fields() []strict.Field {
	var fields []strict.Field
	for _, k := range Kinds() {
		wants := "whom, such as " + strings.Join(Whom(k, nil), ", ")
		whom := word(&r.Whom, wants)
		read := func(value *yaml.Node, name string) strict.Mistakes {
			r.Kind, r.kinds = k, append(r.kinds, k)
			return whom.Read(value, name)
		}
		fields = append(fields, strict.Field{Name: string(k), Wants: wants, Value: strict.Nested{Read: read}})
	}
	const operation = "the name of an operation, such as create"
	return append(fields, []strict.Field{
		{Name: "at", Wants: "when it happens first in the window, such as 2s", Value: length(&r.At)},
		{Name: "every", Wants: "the time from one occurrence to the next, such as 5s", Value: length(&r.Every)},
		{Name: "for", Wants: "the time until it is undone, such as 3s", Value: length(&r.For)},
		{Name: "before", Wants: operation, Value: word(&r.Before, operation)},
		{Name: "after", Wants: operation, Value: word(&r.After, operation)},
	}...)
}

func word(into *string, wants string) strict.Nested {
	return strict.Nested{Read: func(value *yaml.Node, name string) strict.Mistakes {
		err := strict.Decode(value, into)
		// YAML reads null as a missing value, unless it is in quotes. It is refused in quotes, too, so that no word needs quotes.
		if err == nil && *into != "null" && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*( (0|[1-9][0-9]{0,5}))?$`).MatchString(*into) {
			return nil
		}
		text := fmt.Sprintf("%s: wants %s", name, wants)
		if value.Kind == yaml.ScalarNode && value.Value != "" {
			text += fmt.Sprintf(", not %q", value.Value)
		}
		return strict.Mistakes{{Line: value.Line, Text: text}}
	}}
}

func length(into *time.Duration) strict.Nested {
	return strict.Nested{Read: func(value *yaml.Node, name string) strict.Mistakes {
		mistakes := strict.Field{Wants: "a duration with its unit, such as 3s", Value: into}.Read(value.Line, value, name)
		if len(mistakes) == 0 && *into <= 0 {
			mistakes = strict.Mistakes{{Line: value.Line, Text: fmt.Sprintf("%s: wants a duration above 0, not %s", name, *into)}}
		}
		return mistakes
	}}
}

func joined[S ~string](words []S, last string) string {
	texts := list.Texts(words)
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " " + last + " " + texts[len(texts)-1]
}
