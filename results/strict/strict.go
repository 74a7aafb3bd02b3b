// Package strict reads YAML that users write: scenarios and rules.
//
// It takes one position: a value that is not read as it looks is a mistake. YAML reads 010 as 8, 1.5 as 1 where a whole number
// is wanted, yes as true, and an empty value as the default; it ignores a second document. Each of these silently changes the
// measurement or the check, and is refused with its line.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Mistake is one error in a file.
type Mistake struct {
	Line  int    // zero if it concerns the whole file
	Field string // the outermost field that holds it, if any
	Text  string
}

// Mistakes are all errors in a value.
type Mistakes []Mistake

// Error returns the texts, separated by semicolons.
func (m Mistakes) Error() string {
	var texts []string
	for _, one := range m {
		texts = append(texts, one.Text)
	}
	return strings.Join(texts, "; ")
}

// duration is a time.Duration that must be written with its unit.
type duration time.Duration

// UnmarshalYAML accepts "250ms", but not 250.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("wants a duration with its unit, such as 3s or 250ms, not %q", node.Value)
	}
	*d = duration(parsed)
	return nil
}

// Document returns the root of the only document in a text; nil if there is none.
func Document(text []byte) (*yaml.Node, Mistakes) {
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, Mistakes{{Text: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		const more = "wants one document: the text after the first `---` or `...` would be ignored; put it into another file"
		return nil, Mistakes{{Line: second.Line, Text: more}}
	}
	return first.Content[0], nil
}

// form is a pattern that a value must match, and the mistake if it does not.
type form struct{ pattern, mistake string }

// Decode stores a value in the variable that into points to. The error is Mistakes, unless the value has another structure
// than the variable.
func Decode(node *yaml.Node, into any) error {
	var wanted form // any text that is not empty
	switch at := into.(type) {
	case *time.Duration:
		into = (*duration)(at)
	case *int, **int, *[]int, *uint64:
		wanted = form{`^-?(0|[1-9][0-9]*)$`, "%s is not a whole number in plain decimal digits, such as 10"}
	case *float64:
		wanted = form{`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`, "%s is not a number in plain decimal digits, such as 0.5"}
	case *bool:
		wanted = form{`^(true|false)$`, "%s is neither true nor false"}
	}
	if mistakes := wanted.check(node); len(mistakes) > 0 {
		return mistakes
	}
	return node.Decode(into)
}

func (f form) check(node *yaml.Node) (mistakes Mistakes) {
	switch node.Kind {
	case yaml.AliasNode:
		return f.check(node.Alias)
	case yaml.ScalarNode:
		if node.ShortTag() == "!!null" {
			return Mistakes{{Line: node.Line, Text: "the value is missing"}}
		}
		if !regexp.MustCompile(f.pattern).MatchString(node.Value) {
			return Mistakes{{Line: node.Line, Text: fmt.Sprintf(f.mistake, node.Value)}}
		}
	case yaml.SequenceNode:
		for _, element := range node.Content {
			mistakes = append(mistakes, f.check(element)...)
		}
	}
	return mistakes
}
