package hiddenchannel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Answered: []string{"written"},
		Events: map[string]variants.EventKind{
			"writing": writing, "written": written, "awaiting": awaiting, "told": told, "read": read, "fresh": fresh,
		},
		Verbatim: true,
	}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"the first value", "1:read:0 1:read:0", ""},
		{"told and read", "1:read:0 0:writing:1 0:written:1 1:told:1 1:read:1", ""},
		{"told before the writer knows", "0:writing:1 1:told:1 1:read:1 0:written:1", ""},
		{"a later one", "0:writing:1 1:told:1 0:writing:2 1:read:2", ""},
		{"readers differ", "0:writing:1 1:told:1 1:read:1 2:told:1 2:read:0 2:read:1", ""},
		{"stale, where nothing else is promised", "0:writing:1 0:written:1 1:told:1 1:read:0", ""},
		{"a promise, kept", "1:fresh:0 1:read:0 0:writing:1 1:told:1 1:read:1", ""},
		{"a promise, and no reader told", "1:fresh:0 1:read:0 0:writing:1 0:written:1 1:read:0", ""},
		{"stale against the promise", "1:fresh:0 0:writing:1 1:told:1 1:read:0", "client 1 read update 0 when it had been told of 1"},
		{"never written", "0:writing:1 1:read:2", "client 1 read update 2 when the last was 1"},
		{"not written yet", "1:told:1 1:read:1 0:writing:1", "client 1 read update 1 when the last was 0"},
		{"backwards", "0:writing:1 0:writing:2 1:read:2 1:read:1", "client 1 read update 1 after 2"},
		{"older in a new life", "0:writing:1 1:read:1 1:died:0 1:rejoined:1 1:read:0", ""},
		{"backwards in a new life", "0:writing:1 1:died:0 1:rejoined:1 1:read:1 1:read:0", "client 1 read update 0 after 1"},
		{"backwards in two steps", "0:writing:1 0:writing:2 1:read:2 2:read:0 1:read:0", "client 1 read update 0 after 2"},
	})
}

// A follower that returns its first value forever does not go back in time. It is caught when no server can be so far behind.
func TestCheckOfValuesThatStayOld(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"by a server that lags behind", "0:writing:1 0:written:1 1:told:1 1:read:0 1:sees 1:told:1 1:read:1", ""},
		{"of a state that was shown", "0:writing:1 0:written:1 1:told:1 1:read:0 1:sees 1:told:1 1:read:0", "client 1 read update 0, although its server had shown a state with update 1 before"},
		{"a later one", "0:writing:1 0:written:1 0:writing:2 0:written:2 1:sees 1:told:2 1:read:1", "client 1 read update 1, although its server had shown a state with update 2 before"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 reads the old value first, which is a stale read, and no propagation; client 2 reads without being told",
		"1:awaiting:1 0:writing:1 1:told:1 0:written:1 1:read:0 2:read:1 1:awaiting:1 1:told:1 1:read:1",
		"update(0)=2ms await(1)=2ms await(1)=1ms read(1)=2ms read(1)=1ms stale(1)=2ms propagation(2)=4ms propagation(1)=7ms",
	}})
}

// script is a value with given results.
type script struct {
	Value
	tells, reads []int64
}

func (s *script) Changed(context.Context) (int64, error) {
	version := s.tells[0]
	s.tells = s.tells[1:]
	return version, nil
}

func (s *script) Update(context.Context, []byte) error { return nil }

func (s *script) Read(context.Context) (Reading, error) {
	number := s.reads[0]
	s.reads = s.reads[1:]
	return Reading{Version: number, Data: numbered(number)}, nil
}

// A reader takes one step for each update, whether its read is stale or not, and none that it would never hear of.
func TestReaderKeepsStep(t *testing.T) {
	for _, tt := range []struct {
		name         string
		tells, reads []int64
		left         []int // tells that are left after each step
	}{
		{"in step", []int64{1, 2, 3}, []int64{1, 2, 3}, []int{2, 1, 0}},
		{"stale", []int64{1, 2}, []int64{0, 1}, []int{1, 0}},
		{"reads a later one", []int64{1, 4}, []int64{3, 4}, []int{1, 1, 1, 0}},
		{"told of a later one", []int64{3}, []int64{2}, []int{0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{tells: tt.tells, reads: tt.reads}
			r := &reader{value: s, env: variants.Env{Record: func(variants.EventKind, int64) {}}}
			for step, want := range tt.left {
				if err := r.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				if len(s.tells) != want {
					t.Errorf("%d messages are left after step %d, want %d", len(s.tells), step+1, want)
				}
			}
		})
	}
}

// A reader of bursts is busy with each notification before it reads, and takes one step for each burst.
func TestReaderOfBursts(t *testing.T) {
	s, held := &script{tells: []int64{1, 3, 4}, reads: []int64{2, 3, 4}}, 0
	r := &reader{value: s, env: variants.Env{Size: 2, Record: func(variants.EventKind, int64) {}, Hold: func(context.Context, <-chan struct{}) error { held++; return nil }}}
	for step, want := range []int{2, 0} {
		if err := r.Step(t.Context()); err != nil || len(s.tells) != want || held != 3-want || r.Round() != int64(step)+1 {
			t.Errorf("step %d: %v, %d notifications are left, and it held %d times; want %d and %d", step+1, err, len(s.tells), held, want, 3-want)
		}
	}
}

// A writer that joins again completes the burst that its former life has begun.
func TestWriterCompletesItsBurst(t *testing.T) {
	var written []int64
	w := &writer{value: &script{}, number: 3, env: variants.Env{Size: 2, Hold: func(context.Context, <-chan struct{}) error { return nil }, Record: func(kind variants.EventKind, number int64) {
		if kind == writing {
			written = append(written, number)
		}
	}}}
	for range 2 {
		if err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(written, []int64{4, 5, 6}) {
		t.Errorf("wrote updates %d, want 4, 5 and 6", written)
	}
}

func TestMailbox(t *testing.T) {
	m := NewMailbox()
	var wait sync.WaitGroup
	for after := range int64(3) {
		wait.Go(func() {
			if version, err := m.Receive(t.Context(), after); err != nil || version <= after || version > 3 {
				t.Errorf("received %d (%v) after %d, want a later one", version, err, after)
			}
		})
	}
	for _, version := range []int64{1, 3, 2} {
		if err := m.Send(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	if version, err := m.Receive(t.Context(), 0); err != nil || version != 3 {
		t.Errorf("received %d (%v), want the newest, 3", version, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Receive(ctx, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive without news returned %v, want context.Canceled", err)
	}
}
