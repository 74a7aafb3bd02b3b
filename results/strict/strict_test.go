package strict_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/strict"
)

func TestDocument(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		want string // in the error; none if empty
	}{
		{"a: 1\n", 0, ""},
		{"---\na: 1\n...\n", 0, ""},
		{"a: 1\n...\n# a comment\n", 0, ""},
		{"", 0, ""},
		{"# a comment\n", 0, ""},
		{"a: 1\n---\nb: 2\n", 2, "wants one document"},
		{"a: 1\n\n\n---\n", 4, "wants one document"},
		{"a: 1\n...\nb: 2\n", 0, "wants one document"},
		{"a: 1\n---\nb: [\n", 0, "wants one document"},
		{"a: [\n", 1, "did not find"},
		{"a: 1\n\tb: 2\n", 2, "violates indentation"},
		{"a: 1\nb: x\x00y\n", 2, "control characters"},
		{"a: 1\nb: h\xfc\n", 2, "UTF-8"},
		{"a: 1\nb: !!binary aGVsGb8=\n", 2, "without a tag, such as !!binary"},
		{"a: 1\nb: [2, !x {c: 3}]\n", 2, "without a tag, such as !x"},
		{"\ufeffa: 1\r\nb: 2\r\n", 0, ""},
		{strings.Repeat("[", 20_000), 1, "max depth"},
		{"a: 1\nb: " + strings.Repeat("[", 30) + strings.Repeat("]", 30), 0, ""},
		{"a: 1\nb: " + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999), 2, "the limit of 10000 values"},
		{"a: 1\nb: [" + strings.Repeat("1, ", 10_000) + "]", 2, "the limit of 10000 values"},
		{"a: 1\nb: &a [*a]\n", 2, "the limit of 10000 values"},
		{"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n" +
			"c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n", 1, "the limit of 10000 values"},
	} {
		_, mistakes := strict.Document([]byte(tt.text))
		m := append(mistakes, strict.Mistake{})[0]
		if (len(mistakes) > 0) != (tt.want != "") || !strings.Contains(m.Text, tt.want) || m.Line != tt.line {
			t.Errorf("%q: line %d, %v; want line %d and %q", tt.text, m.Line, mistakes, tt.line, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	const inDigits, inDecimals, none, neither = "in plain decimal digits, such as 10", "such as 0.5", "the value is missing", "is neither"
	ints, floats, bools, texts, lists := new(int), new(float64), new(bool), new(string), new([]int)
	seeds, times := new(uint64), new(time.Duration)
	for _, tt := range []struct {
		value string
		into  any
		want  string // the value, or what is in the error
	}{
		{"5", ints, "5"}, {"0", ints, "0"}, {"-7", ints, "-7"},
		{"1.5", ints, inDigits}, {"010", ints, inDigits}, {"0x10", ints, inDigits}, {"0o10", ints, inDigits}, {"0b11", ints, inDigits},
		{"1_000", ints, inDigits}, {"1e3", ints, inDigits}, {"+5", ints, inDigits}, {"many", ints, inDigits}, {"", ints, none}, {"~", ints, none},
		{"99999999999999999999", ints, fmt.Sprintf("99999999999999999999 is beyond the largest number, %d", math.MaxInt)},
		{"-99999999999999999999", ints, "is beyond"}, {"[1, 99999999999999999999]", lists, "is beyond"},
		{"18446744073709551615", seeds, "18446744073709551615"},
		{"18446744073709551616", seeds, "is beyond the largest number, 18446744073709551615"},
		{"-1", seeds, "-1 is not one in plain decimal digits"}, {"1e400", floats, "is beyond"}, {"-1e400", floats, "is beyond"},
		{"2562047h", times, "2562047h0m0s"}, {"2562048h", times, "is beyond the longest duration, 2562047h47m16"}, {"3", times, "missing unit"},
		{"'5'", ints, "cannot unmarshal"}, {"[5]", ints, "cannot unmarshal"},
		{"[1, 10]", lists, "[1 10]"}, {"[1, 010]", lists, inDigits}, {"[1.5, 2]", lists, inDigits}, {"[1, ~]", lists, none}, {"", lists, none},
		{"0.5", floats, "0.5"}, {"1e3", floats, "1000"}, {"-2", floats, "-2"},
		{"010", floats, inDecimals}, {"1_0.5", floats, inDecimals}, {".5", floats, inDecimals}, {".inf", floats, inDecimals}, {".nan", floats, inDecimals},
		{"true", bools, "true"}, {"false", bools, "false"},
		{"yes", bools, neither}, {"on", bools, neither}, {"True", bools, neither}, {"1", bools, neither}, {"", bools, none},
		{"010", texts, "010"}, {"yes", texts, "yes"}, {"", texts, none}, {"null", texts, none}, {"''", texts, ""},
	} {
		root, err := strict.Document([]byte("- &x " + tt.value + "\n- *x\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range root.Content { // an alias is read like the value
			var got string
			if err := strict.Decode(node, tt.into); err != nil {
				got = err.Error()
			} else {
				got = show(tt.into)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%q into %T: %q, want %q", tt.value, tt.into, got, tt.want)
			}
		}
	}
}

func show(into any) string {
	switch v := into.(type) {
	case *int:
		return fmt.Sprint(*v)
	case *float64:
		return fmt.Sprint(*v)
	case *uint64:
		return fmt.Sprint(*v)
	case *time.Duration:
		return v.String()
	case *bool:
		return fmt.Sprint(*v)
	case *string:
		return *v
	case *[]int:
		return fmt.Sprint(*v)
	default:
		return ""
	}
}

func TestMistakesHaveTheirLines(t *testing.T) {
	root, err := strict.Document([]byte("- 1\n- 2.5\n- 010\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := new(strict.Mistakes)
	if err := strict.Decode(root, new([]int)); !errors.As(err, m) || len(*m) != 2 || (*m)[0].Line != 2 || (*m)[1].Line != 3 {
		t.Errorf("mistakes = %+v, want one in line 2 and one in line 3", *m)
	}
}

// A message has the first mistakes, and none of them fills the screen.
func TestManyMistakes(t *testing.T) {
	element := func() ([]strict.Field, func() []string) {
		return []strict.Field{{Name: "a", Wants: "a whole number", Value: new(int)}}, nil
	}
	text := "- {a: " + strings.Repeat("x", 10_000) + "}\n" + strings.Repeat("- {a: x}\n", 1000)
	err := strict.ReadList("f.yaml", []byte(text), element)
	lines := strings.Split(err.Error(), "\n")
	const last, more = "f.yaml:20: a: wants", "f.yaml: and 981 more mistakes"
	if len(lines) != 21 || len(lines[0]) > 2100 || !strings.HasPrefix(lines[19], last) || lines[20] != more {
		t.Errorf("%d lines: %s", len(lines), err)
	}
	many := strict.Mistakes(make([]strict.Mistake, 100))
	if got := many.Error(); !strings.HasSuffix(got, "; and 80 more mistakes") || strings.Count(got, ";") != 20 {
		t.Error(got)
	}
}
