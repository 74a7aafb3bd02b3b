package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants/catalog"
)

func TestParseBackground(t *testing.T) {
	for _, tt := range []struct {
		text, want string // want is the load as text, or a part of the error
	}{
		{"reads: 500, writes: 100", "reads: 500, writes: 100, bytes: 1024, znodes: 1000"},
		{"{writes: 1, bytes: 10, znodes: 3, sessions: 6}", "writes: 1, bytes: 10, znodes: 3, sessions: 6"},
		{"", "wants reads or writes per second"},
		{"500", `there is no field "500"`},
		{"reads", "reads: wants a whole number of reads per second; the value is missing"},
		{"reads: 5: 6", "wants fields such as `reads: 500, writes: 100`, not"},
		{"reds: 500", `there is no field "reds"; did you mean "reads"?`},
		{"bytes: 10", "wants reads or writes per second"},
		{"reads: 500, bytes: 2000000", "bytes: wants 1 to 1000000, not 2000000"},
		{"reads: 500, sessions: 0", "sessions: wants 1 to 1000, not 0"},
		{"reads: 500, sessions: -1", "sessions: wants 1 to 1000, not -1"},
	} {
		load, err := parseBackground(tt.text)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
			}
			continue
		}
		if got := load.String(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
			continue
		}
		if again, err := parseBackground(load.String()); err != nil || *again != *load {
			t.Errorf("%q is read as %v (%v), want %v", load, again, err, load)
		}
	}
}

// A background that did not come from a file is checked, too, such as one that a flag gave.
func TestValidateBackground(t *testing.T) {
	s, err := Read(t.Context(), "testdata/background-sound.yaml", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	s.Background = &results.BackgroundLoad{Reads: 1, Bytes: 1, Znodes: -1}
	problems := s.Validate(catalog.Recipes())
	if len(problems) != 1 || problems[0].Field != "background" || problems[0].Text != "znodes wants 1 to 100000, not -1" {
		t.Errorf("got %+v", problems)
	}
}
