package strict_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/strict"
)

// FuzzDecode decodes the fields of a mapping. A number or a duration that is accepted is the one that is written.
func FuzzDecode(f *testing.F) {
	for _, value := range []string{
		"5", "-7", "010", "1.5", "1e400", "99999999999999999999", "18446744073709551616", "9223372036854775808",
		"!!int '5'", "!!float 5", "&a [*a]",
		"3s", "2562048h", "-1ns", "true", "yes", "~", "|\n  text\n", "[1, 2]", "{x: 1}", "!!binary aGk=", "'\\x1b'", "<<",
	} {
		f.Add("a: " + value + "\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, mistakes := strict.Document([]byte(text))
		if len(mistakes) > 0 {
			return
		}
		for at := root; len(at.Content) > 0; at = at.Content[len(at.Content)-1] {
			node := at.Content[len(at.Content)-1]
			for _, into := range []any{new(int), new(uint64), new(float64), new(bool), new(string), new([]int), new([]string), new(time.Duration)} {
				if err := strict.Decode(node, into); err == nil && node.Kind == yaml.ScalarNode {
					check(t, node.Value, into)
				}
			}
		}
	})
}

func check(t *testing.T, text string, into any) {
	t.Helper()
	switch v := into.(type) {
	case *int, *uint64, *bool:
		if got := show(v); got != text && strings.TrimPrefix(text, "-") != "0" {
			t.Errorf("%q is read as %s", text, got)
		}
	case *time.Duration:
		if want, err := time.ParseDuration(text); err != nil || *v != want {
			t.Errorf("%q is read as %s", text, *v)
		}
	case *float64:
		var want float64
		if _, err := fmt.Sscan(text, &want); err != nil || *v != want {
			t.Errorf("%q is read as %v", text, *v)
		}
	}
}
