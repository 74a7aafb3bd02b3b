package results

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zkbench/zkbench/results/list"
)

// Tags are what the user notes about a run, such as branch=main. They are no condition: runs with different tags are compared.
type Tags map[string]string

// Set adds the tag of a text such as "branch=main". It implements pflag.Value.
func (t *Tags) Set(text string) error {
	const most, longest = 16, 100 // so that the head of a report stays readable
	key, value, given := strings.Cut(text, "=")
	value = strings.TrimSpace(value)
	unfit := func(r rune) bool { return !unicode.IsPrint(r) || r == ';' } // tables and CSV separate tags by semicolons
	switch _, twice := (*t)[key]; {
	case !given, !regexp.MustCompile(fmt.Sprintf(`^[a-z0-9._-]{1,%d}$`, longest)).MatchString(key):
		return fmt.Errorf("it wants key=value, such as branch=main, with a key of at most %d lower-case letters, digits, dashes, dots "+
			"and underscores", longest)
	case twice:
		return fmt.Errorf("%s is given twice", key)
	case len(*t) == most:
		return fmt.Errorf("a run has at most %d tags", most)
	case value == "":
		return errors.New("the value is empty: is a variable unset?")
	case utf8.RuneCountInString(value) > longest:
		return fmt.Errorf("the value has %d characters, and may have %d", utf8.RuneCountInString(value), longest)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unfit):
		return errors.New("the value has a semicolon, or a character that cannot be printed in one line")
	case *t == nil:
		*t = Tags{}
	}
	(*t)[key] = value
	return nil
}

// String implements pflag.Value.
func (t Tags) String() string { return TagsText([]*Document{{Tags: t}}) }

// Type returns the form of a tag for a help text.
func (t Tags) Type() string { return "key=value" }

// TagsOf returns the distinct tags of documents as "key=value", sorted. A key has several values if the documents are of several runs.
func TagsOf(docs []*Document) []string {
	var texts []string
	for _, d := range docs {
		for key, value := range d.Tags {
			texts = append(texts, key+"="+value)
		}
	}
	return list.Distinct(texts)
}

// TagsText returns the tags of documents in one line; empty if they have none.
func TagsText(docs []*Document) string { return strings.Join(TagsOf(docs), "; ") }
