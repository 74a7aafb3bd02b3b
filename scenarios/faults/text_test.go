package faults_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/faults"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"kill: leader, at: 2s, for: 3s", ""},
		{"cut: any, after: create, every: 500ms", ""},
		{"stop: holder, at: 1s, every: 5s", ""},
		{"expire: client 3, at: 1m", ""},
		{"{kill: zoo1,at: 90s}", "kill: zoo1, at: 1m30s"},
		{" { for: 1s, at: 60m, pause: any } ", "pause: any, at: 1h, for: 1s"},
		{"cut: 'any', at: 1s", "cut: any, at: 1s"},
	} {
		f, err := faults.Parse(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if tt.want == "" {
			tt.want = tt.text
		}
		if f.String() != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.text, f, tt.want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "what fails? One of the fields kill, pause, partition, expire, cut, stop or deaf is missing"},
		{"at: 1s", "what fails? One of the fields kill, pause, partition, expire, cut, stop or deaf is missing"},
		{"kil: leader, at: 1s", `there is no field "kil"; did you mean "kill"?`},
		{"kill: leader, cut: any, at: 1s", "kill and cut are different faults: each wants a line of its own"},
		{"kill: leader, kill: any, at: 1s", "kill: is given twice"},
		{"kill: leader", "when? at or every is missing"},
		{"kill: , at: 1s", "kill: wants whom, such as leader, follower, any, zoo1, zoo2, zoo3"},
		{"stop: null, at: 1s", "stop: wants whom, such as any, holder, waiter, idle, client 0, not \"null\""},
		{"stop: 'null', at: 1s", "stop: wants whom, such as any, holder, waiter, idle, client 0, not \"null\""},
		{"cut: client 07, at: 1s", "cut: wants whom"},
		{"cut: client 9999999, at: 1s", "cut: wants whom"},
		{"cut: [any, all], at: 1s", "cut: wants whom, such as any, all, holder, waiter, idle, client 0"},
		{"cut: any, at: 1", "at: wants a duration with its unit, such as 3s"},
		{"cut: any, at: 0s", "at: wants a duration above 0, not 0s"},
		{"cut: any, every: -1s", "every: wants a duration above 0, not -1s"},
		{"cut: any, at: 25h", "at wants at most 24h, not 25h"},
		{"cut: any, every: 1ms", "every wants at least 10ms for cut, not 1ms"},
		{"kill: any, every: 500ms, for: 100ms", "every wants at least 1s for kill, not 500ms"},
		{"kill: any, every: 5s", "every wants for, too: without it, kill lasts to the end of the measurement and cannot happen again"},
		{"deaf: any, every: 5s, for: 5s", "it lasts 5s, but would happen again after 5s"},
		{"stop: any, at: 5s, for: 1s", "for means nothing to stop, which happens at once"},
		{"expire: any, at: 5s, after: create", "after means nothing to expire: it is for cut and stop"},
		{"cut: any, at: 5s, after: create, before: delete", "before and after exclude each other"},
		{"cut: any, at: 5s, before: creat", `before: there is no operation "creat"; did you mean "create"?`},
		{"kill: any, at: 1s}, {cut: any", "wants fields such as `kill: leader, at: 2s, for: 3s`, not \"kill: any, at: 1s}, {cut: any\""},
		{"- kill", "wants fields such as `kill: leader, at: 2s, for: 3s`, not \"- kill\""},
	} {
		if _, err := faults.Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

// A fault that can be read is written in a form that is read as the same fault.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"kill: leader, at: 2s, for: 3s", "cut: any, after: create, every: 500ms", "expire: client 7, at: 1m0.5s", "{deaf: 'any', every: 61s, for: 1h}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := faults.Parse(text)
		if err != nil {
			return
		}
		if again, err := faults.Parse(first.String()); err != nil || again != first {
			t.Errorf("%q is %+v, which is written as %q and read as %+v (%v)", text, first, first, again, err)
		}
	})
}
