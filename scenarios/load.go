package scenarios

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/variants"
)

// embedded has a folder for each recipe, with a file for each question about it.
//
//go:embed questions
var embedded embed.FS

// Names returns the names of the embedded scenarios, sorted.
func Names() []string { return slices.Sorted(slices.Values(list.Map(embeddedFiles(), nameOf))) }

func embeddedFiles() []string {
	files, _ := fs.Glob(embedded, "questions/*/*.yaml") // the pattern is valid
	return files
}

func nameOf(file string) string { return strings.TrimSuffix(path.Base(file), ".yaml") }

// Read returns the scenario of that name or, if it looks like a path, the one in that file. The error has all mistakes with their lines.
func Read(ctx context.Context, nameOrPath string, recipes []variants.Recipe) (Scenario, error) {
	if !strings.ContainsAny(nameOrPath, "./") {
		return Load(nameOrPath, recipes)
	}
	text, err := store.ReadText(ctx, nameOrPath)
	if err != nil {
		return Scenario{}, fmt.Errorf("read the scenario: %w", err)
	}
	return Parse(nameOrPath, text, recipes)
}

// Load returns the embedded scenario of that name.
func Load(name string, recipes []variants.Recipe) (Scenario, error) {
	files := embeddedFiles()
	at := slices.IndexFunc(files, func(file string) bool { return nameOf(file) == name })
	if at < 0 {
		if slices.Contains(Groups(), name) {
			return Scenario{}, fmt.Errorf("%s stands for several scenarios: give it alone", name)
		}
		return Scenario{}, fmt.Errorf("there is no scenario %q%s (`zkbench list scenarios` has all)", name, strict.Nearest(name, Names()))
	}
	text, _ := embedded.ReadFile(files[at]) // it is one of the embedded files
	return Parse(path.Join("scenarios", files[at]), text, recipes)
}

// Parse reads a scenario from YAML; file is its name in error messages.
func Parse(file string, text []byte, recipes []variants.Recipe) (Scenario, error) {
	s := Default()
	err := strict.Read(file, text, func(root *yaml.Node) strict.Mistakes {
		mistakes, lines := strict.Mapping(root, "", s.FileFields())
		if lines == nil {
			return mistakes
		}
		if _, given := lines["size"]; !given {
			s.Size = s.defaultSize(recipes)
		}
		s.Complete()
		pair, _ := claim.ParsePair(s.Overview) // empty if there is none
		s.Asks = list.AppendNew(pair.Metrics, list.Map(s.Claims(), func(c claim.Claim) string { return c.Metric })...)
		unread := mistakes
		for _, p := range s.Validate(recipes) {
			// A field that could not be read already has its mistake.
			if !slices.ContainsFunc(unread, func(m strict.Mistake) bool { return m.Field == p.Field }) {
				line := lines[p.Field]
				if p.Fault > 0 {
					line = lineOf(p.Fault, root)
				}
				mistakes = append(mistakes, strict.Mistake{Line: line, Field: p.Field, Text: p.Field + ": " + p.Text})
			}
		}
		return mistakes
	})
	return s, err
}

func lineOf(fault int, root *yaml.Node) int {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "faults" {
			return root.Content[i+1].Content[fault-1].Line
		}
	}
	return 0
}
