package hiddenchannel

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// SyncThenRead is the value whose readers, when a message says that it has changed, let their server catch up first.
//
// The writer:
//
//  1. Set the znode, with the version that it has.
//  2. When that is acknowledged, send the new version to all readers.
//
// A reader:
//
//  1. Wait for a message.
//  2. Sync: the reader's server asks the leader, and answers when it has applied what the leader had committed.
//  3. Read the znode.
//
// That is a round trip to the leader for each read, though not a write. It does not exclude all stale reads: the leader
// answers the syncs of its own clients at once, even if it has not yet applied what it has just committed, while a
// follower has applied it already and acknowledged it to the writer. On three local servers, some 3 reads in 45,000 were
// stale for that reason. So a stale read is not a breach of this variant's promise. Only a write of the reader's own
// would exclude it, or [Watch].
//
// Cost of one update with N-1 readers, if the writer makes S updates in a row, and readers look into their mail after the last:
//
//	requests       1 write, and a sync and a read of each reader for S updates  =  1 + 2(N-1)/S
//	notifications  none
//
// Freely, a reader syncs and reads at most once for each message: 1 + 2(N-1) requests.
//
// Grows: with the readers, because each of them must learn of each update and read it from a server that has it: 2 requests of each reader.
//
// Bound: in the phase propagation, one quorum write, one message and one read must lie one after another, and a read that
// no server may answer with what is older must reach the leader. Here, a sync lies between the message and the read: a
// round trip to the leader, without a quorum. The message is not part of ZooKeeper and costs it nothing.
//
// Source: as written: ZooKeeper programmer's guide, Consistency Guarantees, which says that a client may sync before it
// reads. The problem comes from Junqueira and Reed, ZooKeeper, chapter 4, figure 4-2, which does not mention sync.
type SyncThenRead struct{ *follower }

// NewSyncThenRead returns one client's view of the value at an existing znode. mail is the client's end of the channel.
func NewSyncThenRead(ctx context.Context, s *session.Session, znode string, mail Mail) (SyncThenRead, error) {
	f, err := follow(ctx, s, znode, mail, (*follower).syncThenGet)
	return SyncThenRead{f}, err
}

func syncThenReadVariant() variants.Variant {
	v := messageThenReadVariant()
	v.Name, v.Kind = "sync-then-read", variants.Optimized
	v.Summary = "the writer sends a message, upon which readers sync and then read the znode"
	v.BadAt = "many readers, whose syncs all go to the leader; and sessions on the leader, whose syncs do not exclude a stale read"
	v.Lockstep.Requests, v.Free.Requests = "1 + 2(N-1)/S", "1 + 2(N-1)"
	v.Join = join(func(ctx context.Context, env variants.Env, mail Mail) (Value, error) {
		return NewSyncThenRead(ctx, env.Session, znode(env), mail)
	})
	return v
}
