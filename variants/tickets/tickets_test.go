package tickets_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants/tickets"
)

const marker = "-lock-"

func TestParseTickets(t *testing.T) {
	for _, tt := range []struct {
		name     string
		children []string
		want     string
	}{
		{"none", nil, ""},
		{"by sequence, not by GUID", []string{"A-lock-0000000010", "Z-lock-0000000009"}, "Z A"},
		{"foreign znodes", []string{"fence", "x-lock-", "x-lock-abc", "B-lock-0000000001", "x-lock-99999999999"}, "B"},
		{"a marker in the GUID", []string{"C-lock-D-lock-0000000001"}, "C-lock-D"},
		// After 2^31-1 the server's counter goes on with -2^31: still later, not first.
		{"the counter wraps", []string{"N-lock--2147483648", "O-lock--2147483647", "M-lock-2147483647"}, "M N O"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, ticket := range tickets.Sorted(tt.children, marker) {
				got = append(got, ticket.Name[:strings.LastIndex(ticket.Name, marker)])
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("order = %v, want %s", got, tt.want)
			}
		})
	}
}

func TestBehind(t *testing.T) {
	children := []string{"b-lock-0000000002", "a-lock-0000000001", "d-lock-0000000004"}
	l := tickets.Line{Marker: marker}
	mine := func(name string) tickets.Ticket { x, _ := tickets.Parse(name, marker); return x }
	if _, waiting, err := l.Predecessor(mine(children[1]), children); waiting || err != nil {
		t.Errorf("the first: waiting %v, %v", waiting, err)
	}
	if p, waiting, err := l.Predecessor(mine(children[2]), children); !waiting || err != nil || p.Name != children[0] {
		t.Errorf("behind a gap: %v, %v, %v; want %s", p, waiting, err, children[0])
	}
	if _, _, err := l.Predecessor(mine("c-lock-0000000003"), children); err == nil {
		t.Error("a ticket that is gone went unnoticed")
	}
}
