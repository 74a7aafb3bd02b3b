// Package variantstest is what the tests of recipes share: histories in a few words, and formulas held to a simulation.
//
// It takes one position: a check that has never caught anything proves nothing. So a recipe's tests tell it stories in
// which its promise is broken, one for each way in which it can be.
package variantstest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// Teller makes histories of stories: of words "client:event" or "client:event:value". They are one millisecond apart,
// or as much as Apart says, and "-" is a moment in which nothing happens. The first word's time is not zero, because no
// event's is in a real run, and checks may use zero for never.
type Teller struct {
	Events   map[string]variants.EventKind
	Value    func(t testing.TB, event string, parts []string) int64 // of what stands behind the event; nil if that is one number
	Apart    time.Duration                                          // a unit of time, such as a second
	Verbatim bool                                                   // cases say in full what must be said
}

func (w Teller) apart() time.Duration { return cmp.Or(w.Apart, time.Millisecond) }

// Tell returns the history of a story.
func (w Teller) Tell(t testing.TB, story string) variants.History {
	t.Helper()
	var h variants.History
	for i, word := range strings.Fields(story) {
		if word == "-" {
			continue
		}
		e := w.event(t, word)
		e.At = time.Duration(i+1) * w.apart()
		h = append(h, e)
	}
	return h
}

func (w Teller) event(t testing.TB, word string) variants.Event {
	t.Helper()
	parts := strings.Split(word, ":")
	if len(parts) < 2 {
		t.Fatalf("%q is not client:event", word)
	}
	kind, known := w.Events[parts[1]]
	if !known {
		t.Fatalf("%q: there is no such event", word)
	}
	e := variants.Event{Client: int(Number(t, parts[0])), Kind: kind}
	switch {
	case len(parts) == 2:
	case w.Value != nil:
		e.Value = w.Value(t, parts[1], parts[2:])
	case len(parts) == 3:
		e.Value = Number(t, parts[2])
	default:
		t.Fatalf("%q has more than one value", word)
	}
	return e
}

// Number reads a number in a story.
func Number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Case is a name, a story, and what is to be made of it.
type Case [3]string

// Check tells stories to a recipe's checks. What is to be made of one is a part of what Check must say, and empty if
// nothing must be found. If more than one thing must be, they stand one after another, with " | " in between. CheckPrefix
// must find nothing in any part of a correct history, and a breach in at least one of the others.
func (w Teller) Check(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	caught := false
	for _, c := range cases {
		name, story, want := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			h := w.Tell(t, story)
			got := recipe.Check(h)
			switch {
			case want == "" && len(got) > 0:
				t.Errorf("violations %v in a correct history", got)
			case want != "" && !slices.EqualFunc(got, strings.Split(want, " | "), w.says):
				t.Errorf("violations %v, want %q alone", got, want)
			}
			if want == "" {
				HasCleanPrefixes(t, recipe, h)
			}
			caught = caught || len(recipe.CheckPrefix(h)) > 0
		})
	}
	if !caught {
		t.Error("CheckPrefix has not caught anything")
	}
}

// HasCleanPrefixes fails if a recipe's check for prefixes finds a breach in one of a correct history.
func HasCleanPrefixes(t testing.TB, recipe variants.Recipe, h variants.History) {
	t.Helper()
	for end := range len(h) + 1 {
		if got := recipe.CheckPrefix(h[:end]); len(got) > 0 {
			t.Errorf("violations %v in the first %d of %d events of a correct history", got, end, len(h))
			return
		}
	}
}

func (w Teller) says(v variants.Violation, want string) bool {
	return v.Text == want || !w.Verbatim && strings.Contains(v.Text, want)
}

// Spans tells stories to a recipe's spans. What is to be made of one is all that they find, with how long it lasts, such
// as "acquire(0)=1ms hold(0)=2ms".
func (w Teller) Spans(t *testing.T, spans func(variants.History) []variants.Span, cases []Case) {
	t.Helper()
	unit := strings.TrimPrefix(w.apart().String(), "1")
	w.spans(t, spans, cases, func(s variants.Span) string { return fmt.Sprint(int64((s.End-s.Start)/w.apart()), unit) })
}

// Intervals does the same with when a span begins and ends, such as "acquire(0)=1-2 hold(0)=2-4". The first word is 1.
func (w Teller) Intervals(t *testing.T, spans func(variants.History) []variants.Span, cases []Case) {
	t.Helper()
	w.spans(t, spans, cases, func(s variants.Span) string { return fmt.Sprintf("%d-%d", s.Start/w.apart(), s.End/w.apart()) })
}

func (w Teller) spans(
	t *testing.T, spans func(variants.History) []variants.Span, cases []Case, times func(variants.Span) string,
) {
	t.Helper()
	for _, c := range cases {
		name, story, want := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range spans(w.Tell(t, story)) {
				got = append(got, fmt.Sprintf("%s(%d)=%s", s.Phase, s.Client, times(s)))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("spans:\n got %s\nwant %s", strings.Join(got, " "), want)
			}
		})
	}
}
