package watchload

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value is the topic.
const (
	arming     variants.EventKind = iota // just before it asks for a watch
	armed                                // the watch is set
	missed                               // ... but the topic had been published already, so that the watch is not waited for
	publishing                           // the publisher, just before its first write
	published                            // the publisher, when the last one has been answered
	told                                 // its watch has fired
	failed                               // it gave up; value 0
)

const (
	phaseDelivery = "delivery"
	phaseFanOut   = "fan-out"
	phaseWatch    = "watch"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseDelivery, Meaning: "from just before a topic is published until one client is notified", Floor: variants.FloorHandoff},
		{Name: phaseFanOut, Meaning: "from the first publication of a round until the last client is notified"},
		{Name: "arm", From: arming, To: armed, Meaning: "the request that sets a watch", Floor: variants.FloorRead},
		{Name: phaseWatch, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a watch is asked for until it has fired, or is found to be too late"},
	}
}

// participant watches all topics, and client 0 publishes each of them, once in each step.
type participant struct {
	feed  Feed
	env   variants.Env
	round int
}

func join[F Feed](open func(context.Context, *session.Session, Group) (F, error)) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		env.Size = max(env.Size, 1)
		feed, err := open(ctx, env.Session, Group{Dir: env.Root, Clients: env.Clients, Client: env.Index, Topics: env.Size})
		if err != nil {
			return nil, fmt.Errorf("open the feed: %w", err)
		}
		return &participant{feed: feed, env: env}, nil
	}
}

// The k-th step is about the k-th publication of each topic.
func (p *participant) Step(ctx context.Context) error {
	late, err := p.arm(ctx)
	if err == nil && p.env.Index == 0 {
		err = p.env.Hold(ctx, nil)
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

// follow takes one topic through its publication. The publisher is notified of each before it publishes the next: its own
// notification arrives before the reply to its write.
func (p *participant) follow(ctx context.Context, topic int, late bool) error {
	if p.env.Index == 0 {
		err := p.env.Timed(ctx, "publish", publishing, published, int64(topic), func(ctx context.Context) error {
			return p.feed.Publish(ctx, topic)
		})
		if err != nil {
			return err
		}
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

func (p *participant) Leave(ctx context.Context) error { return p.feed.Close(ctx) }
