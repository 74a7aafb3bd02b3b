package rwlock

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

// sharing reports readers that wait although no writer is ahead of them, as where readers exclude each other.
//
// A reader that waits has seen the znode of a writer, created before its own and gone when the reader acquires the lock. So
// one of these is in the history by then:
//
//   - A writer holds or releases the lock, or has released it since the reader's request.
//   - An earlier operation of a client has failed as a writer, or ended with a life of the client, and may have left its znode
//     behind. That ends when the client acquires the lock, and explains the waits until then.
//   - A writer has requested the lock and has not recorded more. It explains the wait if it then withdraws, and does not if
//     it is granted a larger token than the reader. Until this is known the breach is pending; a request that is still open in
//     the end may have been given up.
//
// The reader's own wait is certain: it is recorded where the session's handle has begun one.
type sharing struct {
	out      variants.Findings
	clients  map[int]*client
	place    int           // of the event in the history
	released int           // the place of a writer's last release, or at which a znode that a writer had left behind was gone
	pending  map[int]*wait // by reader, the first one of each that may be a breach
}

type client struct {
	mode      Mode // of its last operation
	stage     variants.EventKind
	requested int // the place of the request in the history
	waited    bool
	leftover  bool // it may have a writer's znode from an operation that failed
}

// wait is a reader's wait, until its acquisition, that can only be explained by open requests of writers.
type wait struct {
	acquisition variants.Event
	writers     map[int]bool // the writers that may explain it
}

func (s *sharing) observe(e variants.Event) {
	s.place++
	switch {
	case e.EndsLife():
		if c := s.clients[e.Client]; c != nil {
			s.abandon(e.Client, c)
			c.stage = exclusion.Withdrew
		}
		return
	case e.Kind > waited: // an event that is not the recipe's
		return
	}
	mode, _ := unstamp(e.Value)
	c := variants.StateOr(s.clients, e.Client, func() *client { return &client{mode: mode, stage: exclusion.Released} })
	switch e.Kind {
	case waited:
		c.waited = true
		return
	case exclusion.Requested:
		s.abandon(e.Client, c)
		c.mode, c.requested, c.waited = mode, s.place, false
	case exclusion.Withdrew:
		s.abandon(e.Client, c)
	case exclusion.Acquired:
		if mode == Read {
			s.check(e, c)
		} else {
			s.ruleOut(e)
		}
		if c.leftover { // it has just gone, and others may have waited for it, too
			c.leftover, s.released = false, s.place
		}
	case exclusion.Released:
		if mode == Write {
			s.released = s.place
		}
	}
	c.stage = e.Kind
}

// abandon is called when a client's operation has not ended with a release. A writer's znode may still be there.
func (s *sharing) abandon(id int, c *client) {
	if c.mode != Write || c.stage == exclusion.Released || c.stage == exclusion.Withdrew {
		return
	}
	c.leftover = true
	for reader, wait := range s.pending {
		if wait.writers[id] {
			delete(s.pending, reader)
		}
	}
}

func (s *sharing) check(e variants.Event, c *client) {
	if !c.waited || s.released >= c.requested || s.pending[e.Client] != nil {
		return
	}
	writers := map[int]bool{}
	for id, other := range s.clients {
		writes := other.mode == Write && other.stage != exclusion.Withdrew && other.stage != exclusion.Released
		switch {
		case other.leftover, writes && other.stage != exclusion.Requested:
			return
		case writes:
			writers[id] = true
		}
	}
	s.pending[e.Client] = &wait{e, writers}
	s.confirm(e.Client)
}

// ruleOut removes a writer that has acquired the lock from the explanations of readers' waits with smaller tokens: it
// was behind them. The waits of readers with larger tokens are explained. That the writer acquires the lock only now is
// a breach of another kind.
func (s *sharing) ruleOut(e variants.Event) {
	_, token := unstamp(e.Value)
	for _, reader := range slices.Sorted(maps.Keys(s.pending)) {
		wait := s.pending[reader]
		if !wait.writers[e.Client] {
			continue
		}
		if _, before := unstamp(wait.acquisition.Value); token < before {
			delete(s.pending, reader)
			continue
		}
		delete(wait.writers, e.Client)
		s.confirm(reader)
	}
}

func (s *sharing) confirm(reader int) {
	wait := s.pending[reader]
	if len(wait.writers) > 0 {
		return
	}
	delete(s.pending, reader)
	s.out.Breach(wait.acquisition, "client %d waited for the lock as a reader although no writer was ahead of it", reader)
}
