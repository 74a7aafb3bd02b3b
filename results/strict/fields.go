package strict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/list"
)

// Field ties a name in a file to the variable that takes its value.
type Field struct {
	Name     string
	Wants    string // a description of valid values, such as "a whole number"
	Value    any    // a pointer, or a [Nested]
	Required bool
}

// Nested is a value that is not read by [Decode], such as a block with its own fields.
type Nested struct {
	Read   func(value *yaml.Node, name string) Mistakes // name is the full name of the field, for mistakes
	Fields []Field                                      // of a block, or of each element of a list; for descriptions of the file
	IsList bool
}

// Read passes the only document of a text to read, and returns all mistakes as one error, each with the file and its line.
func Read(file string, text []byte, read func(root *yaml.Node) Mistakes) error {
	root, mistakes := Document(text)
	if len(mistakes) == 0 {
		mistakes = read(root)
	}
	return mistakes.in(file)
}

// ReadLine reads a mapping as a command line has it, with or without braces around it. If the text is not a mapping, the error
// shows the example. Other errors are Mistakes.
func ReadLine[T any](text, example string, read func(root *yaml.Node, name string) (T, Mistakes)) (value T, err error) {
	braced := text
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		braced = "{" + text + "}"
	}
	root, mistakes := Document([]byte(braced))
	if len(mistakes) > 0 {
		return value, fmt.Errorf("wants fields such as `%s`, not %q", example, text)
	}
	if value, mistakes = read(root, ""); len(mistakes) > 0 {
		return value, mistakes
	}
	return value, nil
}

// ReadList reads a file that is a list of mappings; see [List].
func ReadList(file string, text []byte, element func() ([]Field, func() []string)) error {
	return Read(file, text, func(root *yaml.Node) Mistakes { return List(root, "", element) })
}

// List reads a list of mappings. element returns the fields of the next element, and optionally a check that runs once these
// have been read without a mistake. name is the name of the list, empty at the top of a file.
func List(elements *yaml.Node, name string, element func() ([]Field, func() []string)) Mistakes {
	if elements.Kind != yaml.SequenceNode {
		return misplaced(elements, name, "wants a list, each element of which begins with `- `")
	}
	var mistakes Mistakes
	for _, node := range elements.Content {
		fields, check := element()
		found, _ := Mapping(node, name, fields)
		if len(found) == 0 && check != nil {
			found = list.Map(check(), func(text string) Mistake { return Mistake{Line: node.Line, Text: text} })
		}
		mistakes = append(mistakes, found...)
	}
	return mistakes
}

// Mapping reads the fields of a mapping, and returns the line of each given one. name is that of the mapping, empty at the top of a file.
func Mapping(mapping *yaml.Node, name string, fields []Field) (Mistakes, map[string]int) {
	names := list.Map(fields, func(f Field) string { return f.Name })
	if mapping.Kind != yaml.MappingNode {
		return misplaced(mapping, name, "wants `field: value` lines; the fields are "+strings.Join(names, ", ")), nil
	}
	var mistakes Mistakes
	lines := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		whole := strings.TrimPrefix(name+"."+key.Value, ".")
		at := slices.Index(names, key.Value)
		var found Mistakes
		switch {
		case at < 0:
			found = Mistakes{{Line: key.Line, Text: fmt.Sprintf("there is no field %q%s", whole, Nearest(key.Value, names))}}
		case lines[key.Value] > 0:
			found = Mistakes{{Line: key.Line, Text: whole + ": is given twice"}}
		default:
			lines[key.Value] = key.Line
			found = fields[at].Read(key.Line, value, whole)
		}
		for _, m := range found {
			m.Field = key.Value
			mistakes = append(mistakes, m)
		}
	}
	for _, f := range fields {
		if f.Required && lines[f.Name] == 0 {
			mistakes = append(mistakes, Mistake{Line: mapping.Line, Field: f.Name, Text: fmt.Sprintf("%s is missing: %s", f.Name, f.Wants)})
		}
	}
	return mistakes, lines
}

// Read stores the value of the field. A mistake in the value as a whole has the line of its key.
func (f Field) Read(key int, value *yaml.Node, name string) Mistakes {
	if nested, ok := f.Value.(Nested); ok {
		return nested.Read(value, name)
	}
	wants, wrong := fmt.Sprintf("%s: wants %s", name, f.Wants), Mistakes{}
	switch err := Decode(value, f.Value); {
	case err == nil:
		return nil
	case !errors.As(err, &wrong):
		return Mistakes{{Line: key, Text: wants}}
	}
	for i := range wrong {
		wrong[i].Text = wants + "; " + wrong[i].Text
	}
	return wrong
}

func misplaced(node *yaml.Node, name, text string) Mistakes {
	return Mistakes{{Line: node.Line, Text: strings.TrimPrefix(name+": "+text, ": ")}}
}

// in returns the mistakes as one error, sorted by their lines in a file; nil if there are none.
func (m Mistakes) in(file string) error {
	var errs []error
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	for _, one := range m.first() {
		where := file
		if one.Line > 0 {
			where = fmt.Sprintf("%s:%d", file, one.Line)
		}
		errs = append(errs, fmt.Errorf("%s: %.2000s", where, one.Text))
	}
	return errors.Join(errs...)
}
