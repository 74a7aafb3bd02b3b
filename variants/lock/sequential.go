package lock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// marker is in the names of a lock's tickets.
const marker = "-lock-"

// sequential is what the variants with tickets share: one client's place in the line and its life cycle. They differ
// in how they wait.
type sequential struct {
	*exclusive
	line.Line
}

// init makes a sequential lock of a way to wait.
func (s *sequential) init(session variants.Session, dir string, lost <-chan struct{}, wait func(context.Context, line.Ticket) error) {
	s.Line = line.New(session, dir, marker, lost)
	s.exclusive = line.NewExclusive(&s.Line, ErrHeld, wait, func(mine line.Ticket) Grant {
		return Grant{Token: int64(mine.Seq), Lost: lost}
	})
}
