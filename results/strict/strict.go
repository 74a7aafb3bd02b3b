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
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/list"
)

// Mistake is one error in a file.
type Mistake struct {
	Line  int    // zero if it concerns the whole file
	Field string // the outermost field that holds it, if any
	Text  string
}

// Mistakes are all errors in a value.
type Mistakes []Mistake

// Error returns the texts of the first mistakes, separated by semicolons.
func (m Mistakes) Error() string {
	return strings.Join(list.Map(m.first(), func(one Mistake) string { return fmt.Sprintf("%.2000s", one.Text) }), "; ")
}

// first returns the mistakes that a message shows, and how many more there are.
func (m Mistakes) first() Mistakes {
	const most = 20
	if len(m) <= most {
		return m
	}
	return append(m[:most:most], Mistake{Text: fmt.Sprintf("and %d more mistakes", len(m)-most)})
}

// duration is a time.Duration that must be written with its unit.
type duration time.Duration

// UnmarshalYAML accepts "250ms", but not 250.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil && regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`).MatchString(node.Value) {
		return Mistakes{{Line: node.Line, Text: fmt.Sprintf("%s is beyond the longest duration, %s", node.Value, time.Duration(math.MaxInt64))}}
	}
	*d = duration(parsed)
	return err
}

// Document returns the root of the only document in a text; a node without a kind if there is none.
func Document(text []byte) (*yaml.Node, Mistakes) {
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, Mistakes{unparsed(text, err)}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		const more = "wants one document: the text after the first `---` or `...` would be ignored; put it into another file"
		return nil, Mistakes{{Line: second.Line, Text: more}}
	}
	return first.Content[0], bound(first.Content[0], new(int))
}

// unparsed returns the mistake in a text that is not YAML. The error has no line for the first one, or for a character that is refused.
func unparsed(text []byte, err error) Mistake {
	refused := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) }
	line := 1 + bytes.Count(text[:max(bytes.IndexFunc(text, refused), 0)], []byte("\n"))
	_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
	return Mistake{Line: line, Text: regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")}
}

// mostValues limits a text, and the values of a flag. The largest scenario that comes with zkbench has a hundred.
const mostValues = 10_000

// bound returns a mistake if there are too many values, where an alias counts as all that it stands for, or one with a tag.
func bound(node *yaml.Node, values *int) (mistakes Mistakes) {
	*values++
	switch {
	case *values > mostValues:
		return Mistakes{{Line: node.Line, Text: fmt.Sprintf("the value is beyond the limit of %d values", mostValues)}}
	case node.Style&yaml.TaggedStyle != 0:
		return Mistakes{{Line: node.Line, Text: "wants a value without a tag, such as " + node.Tag}}
	case node.Alias != nil:
		return bound(node.Alias, values)
	}
	for i := 0; i < len(node.Content) && mistakes == nil; i++ {
		mistakes = bound(node.Content[i], values)
	}
	return mistakes
}

// form is a pattern that a value must match, and the mistake if it does not.
type form struct {
	pattern, mistake string
	largest          any // nil if the value is not a number
}

// Decode stores a value in the variable that into points to. The error is Mistakes, unless their structures differ.
func Decode(node *yaml.Node, into any) error {
	var wanted form // any text that is not empty
	switch at := into.(type) {
	case *time.Duration:
		into = (*duration)(at)
	case *int, **int, *[]int:
		wanted = form{`^-?(0|[1-9][0-9]*)$`, "%s is not a whole number in plain decimal digits, such as 10", math.MaxInt}
	case *uint64:
		wanted = form{`^(0|[1-9][0-9]*)$`, "%s is not one in plain decimal digits, such as 10", uint64(math.MaxUint64)}
	case *float64:
		wanted = form{`^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$`, "%s is not a number in plain decimal digits, such as 0.5", math.MaxFloat64}
	case *bool:
		wanted = form{pattern: `^(true|false)$`, mistake: "%s is neither true nor false"}
	}
	if mistakes := bound(node, new(int)); len(mistakes) > 0 {
		return mistakes
	}
	if mistakes := wanted.check(node); len(mistakes) > 0 {
		return mistakes
	}
	return node.Decode(into)
}

func (f form) check(node *yaml.Node) Mistakes {
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
		if f.largest != nil {
			if _, err := fmt.Sscan(node.Value, reflect.New(reflect.TypeOf(f.largest)).Interface()); err != nil {
				return Mistakes{{Line: node.Line, Text: fmt.Sprintf("%s is beyond the largest number, %v", node.Value, f.largest)}}
			}
		}
	case yaml.SequenceNode:
		return slices.Concat(list.Map(node.Content, f.check)...)
	}
	return nil
}
