package results_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestTags(t *testing.T) {
	long := strings.Repeat("ä", 100)
	var most []string
	for i := range 16 {
		most = append(most, fmt.Sprintf("k%d=v", i))
	}
	for _, tt := range []struct {
		name  string
		texts []string
		want  string // the text of all tags, or of the error
	}{
		{"sorted", []string{"branch=main", "a.b-c_9=x y"}, "a.b-c_9=x y; branch=main"},
		{"a value with the sign", []string{"flags=a=1,b=2"}, "flags=a=1,b=2"},
		{"the longest", []string{strings.Repeat("k", 100) + "=" + long}, strings.Repeat("k", 100) + "=" + long},
		{"the most", most, strings.Join(slices.Sorted(slices.Values(most)), "; ")},
		{"no sign", []string{"main"}, "it wants key=value"},
		{"a semicolon", []string{"branch=a;b"}, "the value has a semicolon"},
		{"no value", []string{"branch="}, "the value is empty: is a variable unset?"},
		{"a blank value", []string{"branch= "}, "the value is empty"},
		{"no key", []string{"=main"}, "it wants key=value"},
		{"upper case", []string{"Branch=main"}, "lower-case letters"},
		{"a space in the key", []string{"the branch=main"}, "it wants key=value"},
		{"a line break after the key", []string{"branch\n=main"}, "it wants key=value"},
		{"a long key", []string{strings.Repeat("k", 101) + "=v"}, "at most 100"},
		{"a long value", []string{"k=" + long + "ä"}, "the value has 101 characters, and may have 100"},
		{"a line break", []string{"k=a\nb"}, "cannot be printed in one line"},
		{"an escape sequence", []string{"k=\x1b[2J"}, "cannot be printed in one line"},
		{"a text that is reversed", []string{"k=\u202egnp"}, "cannot be printed in one line"},
		{"bytes", []string{"k=\xff"}, "cannot be printed in one line"},
		{"twice", []string{"branch=main", "branch=main"}, "branch is given twice"},
		{"too many", append(most, "k16=v"), "a run has at most 16 tags"},
	} {
		var tags results.Tags
		var err error
		for _, text := range tt.texts {
			before := maps.Clone(tags)
			if err = tags.Set(text); err != nil && !maps.Equal(before, tags) {
				t.Errorf("%s: a refused tag was added", tt.name)
			}
		}
		if err == nil && tags.String() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %q, %v; want %q", tt.name, tags, err, tt.want)
		}
	}
}
