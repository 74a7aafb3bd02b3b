package watchload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value is the topic.
const (
	arming     variants.EventKind = iota // just before it asks for a watch
	armed                                // the watch is set
	missed                               // ... and the topic had been published already, so that nobody is waited for
	publishing                           // the publisher, just before its first write
	published                            // the publisher, when the last one has been answered
	told
	failed // it gave up; value 0
)

// The phases.
const (
	phaseDelivery = "delivery"
	phaseFanOut   = "fan-out"
	phaseArm      = "arm"
	phaseWatch    = "watch"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseDelivery, Meaning: "from just before a topic is published to the moment that one client knows", Floor: variants.FloorHandoff},
		{Name: phaseFanOut, Meaning: "from the first publication of a round to the last client that is told"},
		{Name: phaseArm, Meaning: "the request that sets a watch", Floor: variants.FloorRead},
		{Name: phaseWatch, Meaning: "from when a watch is asked for until it is of no use any more", Waits: true, UntimedInLockstep: true},
	}
}

// participant watches all topics, and client 0 publishes each of them, once in each step.
type participant struct {
	feed  Feed
	env   variants.Env
	round int
}

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor.
func join[F Feed](open func(context.Context, variants.Session, Group, <-chan struct{}) (F, error)) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		env.Size = max(env.Size, 1)
		feed, err := open(ctx, s, Group{Dir: env.Root, Clients: env.Clients, Client: env.Index, Topics: env.Size}, env.Lost)
		if err != nil {
			return nil, fmt.Errorf("open the feed: %w", err)
		}
		return &participant{feed: feed, env: env}, nil
	}
}

// Step implements [variants.Participant]. The k-th one is about the k-th publication of each topic.
func (p *participant) Step(ctx context.Context) error {
	late, err := p.arm(ctx)
	if err == nil && p.env.Index == 0 {
		err = p.env.Hold(ctx, p.env.Lost)
	}
	for topic := 0; err == nil && topic < p.env.Size; topic++ {
		err = p.follow(ctx, topic, late[topic])
	}
	if err != nil {
		p.env.Record(failed, 0)
		return err
	}
	p.round++
	return nil
}

// arm watches all topics, and returns which have been published already.
func (p *participant) arm(ctx context.Context) (late []bool, err error) {
	late = make([]bool, p.env.Size)
	for topic := range late {
		p.env.Record(arming, int64(topic))
		publications, err := p.feed.Watch(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		p.env.Record(armed, int64(topic))
		if late[topic] = publications > p.round; late[topic] {
			p.env.Record(missed, int64(topic))
		}
	}
	return late, nil
}

// follow takes one topic through its publication. The publisher is told of each before it publishes the next: it has its
// own notification before the reply to its write.
func (p *participant) follow(ctx context.Context, topic int, late bool) error {
	if p.env.Index == 0 {
		p.env.Record(publishing, int64(topic))
		if err := p.feed.Publish(ctx, topic); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		p.env.Record(published, int64(topic))
	}
	if late {
		return nil
	}
	if err := p.feed.Changed(ctx, topic); err != nil {
		return fmt.Errorf("wait for a publication: %w", err)
	}
	p.env.Record(told, int64(topic))
	return nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	if err := p.feed.Close(ctx); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// key is one client's interest in one topic.
type key struct {
	client int
	topic  int64
}

// spans pairs the events of each client and topic. A client's k-th time with a topic is about its k-th publication.
func spans(h variants.History) []variants.Span {
	var out []variants.Span
	since := map[key]time.Duration{}
	begun := map[int64][]time.Duration{} // the publications of each topic
	seen := map[key]int{}
	rounds := &rounds{}
	for _, e := range h {
		k := key{e.Client, e.Value}
		book := func(phase string, start time.Duration) {
			out = append(out, variants.Span{Phase: phase, Client: e.Client, Start: start, End: e.At})
		}
		switch e.Kind {
		case arming:
			since[k] = e.At
		case armed:
			book(phaseArm, since[k])
		case publishing:
			rounds.begin(len(begun[e.Value]), e.At)
			begun[e.Value] = append(begun[e.Value], e.At)
		case told:
			if round := seen[k]; round < len(begun[e.Value]) {
				book(phaseDelivery, begun[e.Value][round])
				rounds.extend(round, e.At)
			}
			fallthrough
		case missed:
			book(phaseWatch, since[k])
			seen[k]++
		}
	}
	return append(out, rounds.spans...)
}

// rounds are the fan-outs of a history: each from the first publication of a round to the last who was told.
type rounds struct{ spans []variants.Span }

func (r *rounds) begin(round int, at time.Duration) {
	if round == len(r.spans) {
		r.spans = append(r.spans, variants.Span{Phase: phaseFanOut, Start: at, End: at})
	}
}

func (r *rounds) extend(round int, at time.Duration) {
	r.spans[round].End = max(r.spans[round].End, at)
}

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation { return append(checkPrefix(h), missing(h)...) }

// checkPrefix finds notifications that came too early or twice. That a topic is published is recorded before it is sent,
// and that a watch fired after it has: so a notification comes later in the history than its publication.
func checkPrefix(h variants.History) []variants.Violation {
	var out []variants.Violation
	sent := map[int64]int{}
	watching, seen := map[key]bool{}, map[key]int{}
	for _, e := range h {
		k := key{e.Client, e.Value}
		switch e.Kind {
		case armed:
			watching[k] = true
		case publishing:
			sent[e.Value]++
		case told, missed:
			if !watching[k] {
				out = append(out, e.Violation("client %d was told of topic %d twice", e.Client, e.Value))
				continue
			}
			watching[k] = false
			if seen[k]++; seen[k] > sent[e.Value] {
				out = append(out, e.Violation("client %d was told of publication %d of topic %d, and there had been %d", e.Client, seen[k], e.Value, sent[e.Value]))
			}
		}
	}
	return out
}

// missing finds notifications that have not come at the end of a whole history. That a topic was published is recorded
// when the reply has come, and so is that a watch is set: a watch that was set before a publication must have fired.
func missing(h variants.History) []variants.Violation {
	done, finished := map[int64]variants.Event{}, map[int64]int{}
	watching, seen := map[key]bool{}, map[key]int{}
	gone := map[int]bool{}
	for _, e := range h {
		k := key{e.Client, e.Value}
		switch e.Kind {
		case armed:
			watching[k] = true
		case published:
			finished[e.Value]++
			done[e.Value] = e
		case failed:
			gone[e.Client] = true
		case told, missed:
			if watching[k] {
				watching[k] = false
				seen[k]++
			}
		}
	}
	var out []variants.Violation
	for k := range watching {
		if watching[k] && !gone[k.client] && seen[k] < finished[k.topic] {
			out = append(out, done[k.topic].Violation("client %d was never told of publication %d of topic %d", k.client, seen[k]+1, k.topic))
		}
	}
	return out
}
