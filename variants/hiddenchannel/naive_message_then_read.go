package hiddenchannel

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// MessageThenRead is the value whose readers read it when a message says that it has changed.
//
// The writer:
//
//  1. Set the znode, with the version that it has.
//  2. When that is acknowledged, send the new version to all readers.
//
// A reader:
//
//  1. Wait for a message.
//  2. Read the znode.
//
// An update is acknowledged when a majority of the servers has it on disk, and the writer's own server has applied it. The
// reader's server may be another: then a message that is faster than the commit on its way to that server makes the
// reader read the version before. Nothing that the reader does at its own server alone can exclude that.
//
// As the message carries the version, a reader can at least notice that what it has read is stale. Without a version in
// the message it could not.
//
// Cost of one update with N-1 readers, if the writer makes S updates in a row, and readers look into their mail after the last:
//
//	requests       1 write, and a read of each reader for S updates  =  1 + (N-1)/S
//	notifications  none
//
// Freely, a reader reads at most once for each message: N requests.
//
// Source: as written, but the message carries the version: Junqueira and Reed, ZooKeeper, chapter 4 (Order of Reads, figure 4-2).
type MessageThenRead struct{ *follower }

// NewMessageThenRead returns one client's view of the value at an existing znode. mail is the client's end of the channel.
func NewMessageThenRead(ctx context.Context, s *session.Session, znode string, mail Mail) (MessageThenRead, error) {
	f, err := follow(ctx, s, znode, mail, (*follower).get)
	return MessageThenRead{f}, err
}

func messageThenReadVariant() variants.Variant {
	return variants.Variant{
		Name:     "message-then-read",
		Kind:     variants.Naive,
		Summary:  "the writer sends a message, upon which readers read the znode",
		BadAt:    "clients that must not act on an old value: a reader whose server lags behind reads it and goes on",
		Lockstep: updates("1 + (N-1)/S", "0", "0"),
		Free:     updates("N", "0", "0"),
		Join: join(func(ctx context.Context, env variants.Env, mail Mail) (Value, error) {
			return NewMessageThenRead(ctx, env.Session, znode(env), mail)
		}),
	}
}
