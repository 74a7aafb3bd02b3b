// Package variantstest is shared by the tests of recipes: histories in a few words, and the memory of observers.
//
// It takes one position: a check that has never caught anything proves nothing. So a recipe's tests tell it stories in
// which its promise is broken, one for each way in which it can be.
package variantstest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// HistoryBuilder makes histories of stories: of words "client:event" or "client:event:value". They are one millisecond apart,
// or as much as Apart says, and "-" is a moment in which nothing happens. A word may have several clients and several events:
// "0-2:requested+acquired:5" is short for "0:requested:5 1:requested:5 2:requested:5 0:acquired:5 1:acquired:5 2:acquired:5".
// Besides a recipe's own events, there are those that the runner records: lost, died, rejoined, deaf and hears.
// After "client:sees", the client has seen all that has happened. The first word's time is not zero, because no
// event's is in a real run, and checks may use zero for never.
type HistoryBuilder struct {
	Events   map[string]variants.EventKind
	Value    func(t testing.TB, event string, parts []string) int64 // reads the value behind the event; nil if that is one number
	Apart    time.Duration                                          // a unit of time, such as a second
	Answered []string                                               // events after the answer to a write that the previous event sent
	Verbatim bool                                                   // cases give the whole text that must be said
}

// ofTheRunner returns the events that are the same for all recipes.
func ofTheRunner() map[string]variants.EventKind {
	return map[string]variants.EventKind{
		"lost": variants.SessionLost, "died": variants.Died, "rejoined": variants.Rejoined,
		"deaf": variants.Deafened, "hears": variants.Hearing,
	}
}

func (w HistoryBuilder) apart() time.Duration { return cmp.Or(w.Apart, time.Millisecond) }

// Build returns the history of a story.
func (w HistoryBuilder) Build(t testing.TB, story string) variants.History {
	var h variants.History
	shown, before := map[string]int64{}, map[string]int64{}
	for i, word := range words(t, story) {
		client, event, _ := strings.Cut(word, ":")
		event, _, _ = strings.Cut(event, ":")
		if event == "sees" {
			shown[client] = int64(i + 1)
		} else if slices.Contains(w.Answered, event) {
			shown[client] = max(shown[client], before[client])
		}
		if word == "-" || event == "sees" {
			continue
		}
		e := w.event(t, word)
		if e.EndsLife() {
			delete(shown, client)
		}
		before[client] = int64(i + 1)
		e.At, e.Shown = time.Duration(i+1)*w.apart(), shown[client]
		h = append(h, e)
	}
	return h
}

func words(t testing.TB, story string) (all []string) {
	for _, word := range strings.Fields(story) {
		clients, rest, _ := strings.Cut(word, ":")
		first, last, several := strings.Cut(clients, "-")
		events, value, _ := strings.Cut(rest, ":")
		if rest == "" || !several && !strings.Contains(events, "+") {
			all = append(all, word)
			continue
		}
		from, to := Number(t, first), Number(t, cmp.Or(last, first))
		for event := range strings.SplitSeq(events, "+") {
			for client := from; client <= to; client++ {
				all = append(all, strings.TrimSuffix(strconv.FormatInt(client, 10)+":"+event+":"+value, ":"))
			}
		}
	}
	return all
}

func (w HistoryBuilder) event(t testing.TB, word string) variants.Event {
	parts := strings.Split(word, ":")
	if len(parts) < 2 {
		t.Fatalf("%q is not client:event", word)
	}
	kind, known := w.Events[parts[1]]
	if !known {
		kind, known = ofTheRunner()[parts[1]]
	}
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
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
	return n
}

// Case is a name, a story, and the expected result.
type Case [3]string

// Check gives stories to a recipe's checks. The expected result is a part of what the check must say, and empty if
// nothing must be found. Several parts stand one after another, with " | " in between. CheckPrefix must find nothing in
// any part of a correct history, and a breach in at least one of the others.
func (w HistoryBuilder) Check(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	caught := false
	for _, c := range cases {
		name, story, want := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			h := w.Build(t, story)
			_, got := recipe.Replay(h, true)
			switch {
			case want == "" && len(got) > 0:
				t.Errorf("violations %v in a correct history", got)
			case want != "" && !slices.EqualFunc(got, strings.Split(want, " | "), w.says):
				t.Errorf("violations %v, want %q alone", got, want)
			}
			if want == "" {
				HasCleanPrefixes(t, h, func(prefix variants.History) []variants.Violation {
					_, early := recipe.Replay(prefix, false)
					return early
				})
			}
			_, early := recipe.Replay(h, false)
			caught = caught || len(early) > 0
		})
	}
	if !caught {
		t.Error("nothing was caught before the end of a history")
	}
}

// HasCleanPrefixes fails if a check finds a violation in a prefix of a correct history.
func HasCleanPrefixes(t testing.TB, h variants.History, check func(prefix variants.History) []variants.Violation) {
	t.Helper()
	for end := range len(h) + 1 {
		if got := check(h[:end]); len(got) > 0 {
			t.Errorf("violations %v in the first %d of %d events of a correct history", got, end, len(h))
			return
		}
	}
}

func (w HistoryBuilder) says(v variants.Violation, want string) bool {
	return v.Text == want || !w.Verbatim && strings.Contains(v.Text, want)
}

// Spans gives stories to a recipe's observer. Each case expects all spans that it finds, in any order, with how long
// they last, such as "acquire(0)=1ms hold(0)=2ms".
func (w HistoryBuilder) Spans(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	unit := strings.TrimPrefix(w.apart().String(), "1")
	w.spans(t, recipe, cases, func(s variants.Span) string { return fmt.Sprint(int64((s.End-s.Start)/w.apart()), unit) })
}

// Intervals does the same with when a span begins and ends, such as "acquire(0)=1-2 hold(0)=2-4". The first word is 1.
func (w HistoryBuilder) Intervals(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	w.spans(t, recipe, cases, func(s variants.Span) string { return fmt.Sprintf("%d-%d", s.Start/w.apart(), s.End/w.apart()) })
}

func (w HistoryBuilder) spans(t *testing.T, recipe variants.Recipe, cases []Case, times func(variants.Span) string) {
	t.Helper()
	for _, c := range cases {
		name, story, want := c[0], c[1], strings.Fields(c[2])
		t.Run(name, func(t *testing.T) {
			var got []string
			spans, _ := recipe.Replay(w.Build(t, story), false)
			for _, s := range spans {
				got = append(got, fmt.Sprintf("%s(%d)=%s", s.Phase, s.Client, times(s)))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("spans:\n got %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
			}
		})
	}
}

// Damage gives stories to a recipe's observer. Each case expects the costs of the story, in order, such as "fenced=1
// fenced=1", and no violation.
func (w HistoryBuilder) Damage(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	for _, c := range cases {
		name, story, want := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			var got []string
			o := recipe.NewObserver(variants.Findings{
				Span:      func(variants.Span) {},
				Violation: func(v variants.Violation) { t.Errorf("violation at %s: %s", v.At, v.Text) },
				Damage:    func(d variants.Damage) { got = append(got, fmt.Sprintf("%s=%d", d.Loss, d.Amount)) },
			})
			for _, e := range w.Build(t, story) {
				o.Observe(e)
			}
			o.Complete()
			if got := strings.Join(got, " "); got != want {
				t.Errorf("the damage is %q, want %q", got, want)
			}
		})
	}
}

// Forgoing returns the recipe with an observer for which no damage is a violation.
func Forgoing(recipe variants.Recipe) variants.Recipe {
	newObserver := recipe.NewObserver
	recipe.NewObserver = func(out variants.Findings) variants.Observer {
		out.Damage = func(variants.Damage) {}
		return newObserver(out)
	}
	return recipe
}

// Recorder returns an environment of a participant that holds for no time, and a function that returns the kinds of events that it has
// recorded.
func Recorder() (env variants.Env, recorded func() []variants.EventKind) {
	log := variants.NewLog(time.Now(), 0, func() (seen, shown int64, next variants.Write) { return 0, 0, nil }, nil)
	env = variants.Env{
		Record: log.Record, RecordUnless: log.RecordUnless, Hold: func(context.Context, <-chan struct{}) error { return nil },
	}
	return env, func() (kinds []variants.EventKind) {
		for _, e := range log.Take(nil, math.MaxInt64) {
			kinds = append(kinds, e.Kind)
		}
		return kinds
	}
}
