package barrier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"waiting": waiting, "passed": passed, "opening": opening, "opened": opened, "gave-up": gaveUp,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"alone", "0:opening+opened:0", ""},
		{"one waits", "1:waiting:0 0:opening+opened:0 1:passed:0", ""},
		{"told before the opener", "1:waiting:0 0:opening:0 1:passed:0 0:opened:0", ""},
		{"comes late", "0:opening+opened:0 1:waiting+passed:0", ""},
		{"the next is closed", "0:opening+opened:0 1:waiting+passed:0 1:opening:1", ""},
		{"slow, and the next is open, too", "1:waiting:0 0:opening+opened:0 2:opening+opened:1 1:passed:0 1:waiting+passed:1", ""},
		{"waits at one that is closed", "1:waiting:0", ""},
		{"waits at one that may be open or not", "1:waiting:0 0:opening:0", ""},
		{"gives up", "1:waiting+gave-up:0 0:opening+opened:0", ""},
		{"early", "1:waiting+passed:0 0:opening+opened:0", "client 1 passed barrier 0 before it was opened"},
		{"early, at the next", "0:opening+opened:0 1:waiting+passed:0 1:waiting+passed:1", "client 1 passed barrier 1 before it was opened"},
		{"never", "1-2:waiting:0 0:opening+opened:0 2:passed:0", "client 1 never passed barrier 0, which was opened"},
		{"trapped by the next", "1:waiting:0 0:opening+opened:0 0:waiting:1", "client 1 never passed barrier 0"},
		{"late and never", "0:opening+opened:0 1:waiting:0", "client 1 never passed barrier 0"},
	})
}

// The dead pass nothing, and what they have opened is open.
func TestCheckLives(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"a waiting client dies", "1:waiting+died:0 0:opening+opened:0", ""},
		{"it comes back to the next barrier", "1:waiting+died:0 0:opening+opened:0 1:rejoined+waiting:1", ""},
		{"it comes back to the same barrier", "1:waiting+died:0 1:rejoined:1 1:waiting:0 0:opening+opened:0 1:passed:0", ""},
		{"it loses its session first", "1:waiting+lost:0 0:opening+opened:0 1:gave-up:0 1:rejoined+waiting:1", ""},
		{"it learns of its loss after it has passed", "1:waiting:0 0:opening+opened:0 1:lost+passed:0 1:rejoined+waiting:1", ""},
		{"the opener dies, and the barrier is open", "1:waiting:0 0:opening+died:0 1:passed:0 0:rejoined+waiting:1 1:opening+opened:1 0:passed:1", ""},
		{"the opener dies, and opens again", "1:waiting:0 0:opening+died:0 0:rejoined:1 0:opening+opened:0 1:passed:0", ""},
		{"the opener dies for good", "1:waiting:0 0:opening+died:0", ""},
		{"the death of the opener opens", "1:waiting:0 0:died:0 1:passed:0 0:rejoined+waiting:1",
			"client 1 passed barrier 0 before it was opened"},
		{"back too early", "0:opening+opened:0 1:waiting+died:0 1:rejoined+waiting+passed:1",
			"client 1 passed barrier 1 before it was opened"},
		{"back and never told", "1:waiting+died:0 1:rejoined:1 1:waiting:0 0:opening+opened:0",
			"client 1 never passed barrier 0, which was opened"},
		{"not told of the opening of one that died", "1:waiting:0 0:opening+died:0 0:rejoined+opening+opened:1",
			"client 1 never passed barrier 0, which was opened"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 2 comes when the barrier is open: its wait is no passage",
		"1:waiting:0 0:opening+opened:0 2:waiting+passed:0 1:passed:0",
		"wait(2)=1ms wait(1)=5ms open(0)=1ms passage(1)=4ms",
	}, {
		"the opener dies before the barrier is open: the passage begins with its second attempt",
		"1:waiting:0 0:opening+died:0 0:rejoined:1 0:opening:0 1:passed:0 0:opened:0",
		"passage(1)=1ms open(0)=2ms wait(1)=5ms",
	}})
}

// Three clients take turns to open, and one of the others is slow.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("%[2]d:waiting:%[4]d %[1]d:opening:%[4]d %[3]d:waiting+passed:%[4]d %[1]d:opened:%[4]d %[2]d:passed:%[4]d",
			i%3, (i+1)%3, (i+2)%3, i)
	})
}

// An opener dies in each round, half of the time after it has opened the barrier, and so does a client that waits.
func TestObserverMemoryWithLives(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		again := ""
		if i%2 == 0 {
			again = fmt.Sprintf("%d:opening+opened:%d", i%3, i)
		}
		return fmt.Sprintf("%[2]d:waiting+died:%[4]d %[3]d:waiting:%[4]d %[1]d:opening+died+rejoined:%[4]d %[5]s %[3]d:passed:%[4]d %[2]d:rejoined",
			i%3, (i+1)%3, (i+2)%3, i, again)
	})
}

// script is a barrier that records its calls.
type script struct {
	calls  []string
	err    error
	number int64
}

func (s *script) Wait(context.Context) error { return s.pass("wait") }
func (s *script) Open(context.Context) error { return s.pass("open") }
func (s *script) Number() int64              { return s.number }

func (s *script) pass(call string) error {
	s.calls = append(s.calls, call)
	if s.err == nil {
		s.number++
	}
	return s.err
}

// Each barrier is opened by one participant, each in its turn; and one that could not be passed is tried again.
func TestParticipantsTakeTurns(t *testing.T) {
	broken := errors.New("broken")
	for index, want := range []string{"open wait wait open wait wait", "wait open wait wait open wait", "wait wait open wait wait open"} {
		s := &script{err: broken}
		p := &participant{barrier: s, env: variants.Env{
			Clients: 3, Index: index,
			Record: func(variants.EventKind, int64) {},
			Hold:   func(context.Context, <-chan struct{}) error { return nil },
		}}
		if err := p.Step(t.Context()); !errors.Is(err, broken) {
			t.Errorf("participant %d: Step returned %v, want %v", index, err, broken)
		}
		s.calls, s.err = nil, nil
		for range 6 {
			if err := p.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(s.calls, " "); got != want {
			t.Errorf("participant %d did %q, want %q", index, got, want)
		}
	}
}
