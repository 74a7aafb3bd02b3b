package rwlock

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/holding"
)

// sharing reports readers that wait although no writer is ahead of them, as where readers exclude each other.
//
// A reader that waits has seen the znode of a writer, created before its own and gone when the reader acquires the lock. So
// one of these is in the history by then:
//
//   - A writer holds or releases the lock, or has released it since the reader's request.
//   - An earlier operation of a client has failed as a writer, or ended with a life of the client, and may have left its znode
//     behind. That ends when the client acquires the lock, which excuses those who waited by then.
//   - A writer has requested the lock and has not recorded more. It excuses the reader if it then withdraws, and does not if
//     it is granted a larger token than the reader. Until this is known the reader is suspect.
//
// The reader's own wait is certain: it is recorded where the session's handle has begun one.
type sharing struct {
	out      variants.Findings
	clients  map[int]*client
	place    int              // of the event in the history
	released int              // the place at which a writer has released last, or what a writer had left behind was gone
	suspects map[int]*suspect // by reader, the first one of each that is still open
}

// client is what is known of a client.
type client struct {
	mode      Mode // of its last operation
	stage     variants.EventKind
	requested int // the place of the request in the history
	waited    bool
	leftover  bool // it may have a writer's znode from an operation that failed
}

// suspect is a reader's acquisition that only open requests of writers excuse.
type suspect struct {
	acquisition variants.Event
	excuses     map[int]bool // by client
}

// Observe implements [variants.Observer].
func (s *sharing) Observe(e variants.Event) {
	s.place++
	switch {
	case e.EndsLife():
		s.endLife(e.Client)
		return
	case e.Kind > waited: // of no recipe
		return
	}
	mode, _ := unstamp(e.Value)
	c := s.clients[e.Client]
	if c == nil {
		c = &client{mode: mode, stage: holding.Released}
		s.clients[e.Client] = c
	}
	switch e.Kind {
	case waited:
		c.waited = true
		return
	case holding.Requested:
		s.abandon(e.Client, c)
		c.mode, c.requested, c.waited = mode, s.place, false
	case holding.Withdrew:
		s.abandon(e.Client, c)
	case holding.Acquired:
		if mode == Read {
			s.judge(e, c)
		} else {
			s.convict(e)
		}
		if c.leftover { // it has just gone, and others may have waited for it, too
			c.leftover, s.released = false, s.place
		}
	case holding.Released:
		if mode == Write {
			s.released = s.place
		}
	}
	c.stage = e.Kind
}

// Complete implements [variants.Observer]. The requests that are still open may have been given up.
func (s *sharing) Complete() {}

// endLife is called when a client's operation, if there is one, never ends.
func (s *sharing) endLife(id int) {
	if c := s.clients[id]; c != nil {
		s.abandon(id, c)
		c.stage = holding.Withdrew
	}
}

// abandon is called when a client's operation has not ended with a release. If it wrote, its znode may still be there.
func (s *sharing) abandon(id int, c *client) {
	if c.mode != Write || c.stage == holding.Released || c.stage == holding.Withdrew {
		return
	}
	c.leftover = true
	for reader, suspect := range s.suspects {
		if suspect.excuses[id] {
			delete(s.suspects, reader)
		}
	}
}

// judge looks for a writer that a reader may have waited for.
func (s *sharing) judge(e variants.Event, c *client) {
	if !c.waited || s.released >= c.requested || s.suspects[e.Client] != nil {
		return
	}
	excuses := map[int]bool{}
	for id, other := range s.clients {
		writes := other.mode == Write && other.stage != holding.Withdrew && other.stage != holding.Released
		switch {
		case other.leftover, writes && other.stage != holding.Requested:
			return
		case writes:
			excuses[id] = true
		}
	}
	s.suspects[e.Client] = &suspect{e, excuses}
	s.close(e.Client)
}

// convict takes a writer that has acquired the lock from the excuses of readers with smaller tokens: it was behind them.
// Readers with larger tokens are excused. That it acquires the lock only now is a breach of another kind.
func (s *sharing) convict(e variants.Event) {
	_, token := unstamp(e.Value)
	for _, reader := range slices.Sorted(maps.Keys(s.suspects)) {
		suspect := s.suspects[reader]
		if !suspect.excuses[e.Client] {
			continue
		}
		if _, before := unstamp(suspect.acquisition.Value); token < before {
			delete(s.suspects, reader)
			continue
		}
		delete(suspect.excuses, e.Client)
		s.close(reader)
	}
}

// close reports a suspect that nothing excuses.
func (s *sharing) close(reader int) {
	suspect := s.suspects[reader]
	if len(suspect.excuses) > 0 {
		return
	}
	delete(s.suspects, reader)
	s.out.Breach(suspect.acquisition, "client %d waited for the lock as a reader although no writer was ahead of it", reader)
}
