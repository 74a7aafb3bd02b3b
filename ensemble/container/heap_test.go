package container

import "testing"

// The log since a time begins with the line of that very time, which may be the end of an earlier histogram.
func TestLoggedAfter(t *testing.T) {
	const text = "2026-01-01T10:00:00.000000001Z Total 1 2\n" +
		"2026-01-01T10:00:00.000000002Z Full thread dump\n2026-01-01T10:00:00.100000000Z Total 3 4\ntorn\n"
	if got, want := loggedAfter(text, "2026-01-01T10:00:00.000000001Z"), "Full thread dump\nTotal 3 4\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
