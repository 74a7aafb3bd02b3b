package scenarios

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/variants"
)

//go:embed *.yaml
var embedded embed.FS

// Names returns the names of the embedded scenarios, sorted.
func Names() []string {
	files, err := embedded.ReadDir(".")
	if err != nil {
		panic("the embedded scenarios cannot be listed: " + err.Error())
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// Load returns the scenario of that name, or the one in the file at that path if it looks like one. Every mistake in it
// is reported at once, each with its line.
func Load(nameOrPath string, recipes []variants.Recipe) (Scenario, error) {
	if strings.ContainsAny(nameOrPath, "./") {
		text, err := os.ReadFile(nameOrPath)
		if err != nil {
			return Scenario{}, fmt.Errorf("read the scenario: %w", err)
		}
		return Parse(nameOrPath, text, recipes)
	}
	text, err := embedded.ReadFile(nameOrPath + ".yaml")
	if err != nil {
		return Scenario{}, fmt.Errorf("there is no scenario %q%s", nameOrPath, Nearest(nameOrPath, Names()))
	}
	return Parse(path.Join("scenarios", nameOrPath+".yaml"), text, recipes)
}

// mistake is a problem and the line it stands in.
type mistake struct {
	line  int
	field string
	text  string
}

// Parse reads a scenario from YAML; file is its name in error messages.
func Parse(file string, text []byte, recipes []variants.Recipe) (Scenario, error) {
	s := Default()
	root, err := strict.Document(text)
	if m := new(strict.Mistake); errors.As(err, m) {
		return s, joinMistakes(file, []mistake{{m.Line, "", m.Text}})
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return s, fmt.Errorf("%s: a scenario is a list of `field: value` lines", file)
	}
	mistakes, lines := s.read(root)
	unread := slices.Clone(mistakes)
	for _, p := range s.Validate(recipes) {
		// A field that could not be read has been complained about already.
		if !slices.ContainsFunc(unread, func(m mistake) bool { return m.field == p.Field }) {
			mistakes = append(mistakes, mistake{lines[p.Field], p.Field, p.Field + ": " + p.Text})
		}
	}
	return s, joinMistakes(file, mistakes)
}

// read fills in the scenario's fields, and returns what it could not read and in which line each field stands.
func (s *Scenario) read(mapping *yaml.Node) ([]mistake, map[string]int) {
	return readFields(mapping, s.fields(), "")
}

// readFields fills in the fields of a mapping. A mistake in a mapping that is the value of an outer field is one of that.
func readFields(mapping *yaml.Node, fields []field, outer string) ([]mistake, map[string]int) {
	var mistakes []mistake
	lines := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := strings.TrimPrefix(outer+"."+key.Value, ".")
		complain := func(line int, text string) {
			mistakes = append(mistakes, mistake{line, cmp.Or(outer, key.Value), text})
		}
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if at < 0 {
			names := namesOf(fields, func(f field) string { return f.name })
			complain(key.Line, fmt.Sprintf("there is no field %q%s", name, Nearest(key.Value, names)))
			continue
		}
		if _, twice := lines[key.Value]; twice {
			complain(key.Line, name+": is given twice")
		}
		lines[key.Value] = key.Line
		if b, ok := fields[at].value.(block); ok {
			mistakes = append(mistakes, b.read(value)...)
		} else if err := strict.Decode(value, fields[at].value); err != nil {
			wants, wrong := fmt.Sprintf("%s: wants %s", name, fields[at].wants), strict.Mistakes(nil)
			if !errors.As(err, &wrong) {
				complain(key.Line, wants)
			}
			for _, m := range wrong {
				complain(m.Line, wants+"; "+m.Text)
			}
		}
	}
	return mistakes, lines
}

func joinMistakes(file string, mistakes []mistake) error {
	slices.SortStableFunc(mistakes, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, m := range mistakes {
		if m.line == 0 {
			errs = append(errs, fmt.Errorf("%s: %s", file, m.text))
			continue
		}
		errs = append(errs, fmt.Errorf("%s:%d: %s", file, m.line, m.text))
	}
	return errors.Join(errs...)
}
