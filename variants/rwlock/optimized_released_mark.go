package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ReleasedMark is the read/write lock whose writers release it by writing to their own znode, so that the clients behind a
// writer hold the lock as soon as they are notified.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential, and delete in the same multi what step 5 has
//     left of this client, if anything. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is
//     lower than its own.
//  3. Read a lower znode with a watch: a writer the next lower one, a reader the next lower writer's. If it says "released",
//     the client holds the lock. If it is gone, go to 2.
//  4. Wait for the watch. If the data of a writer's znode has changed, the client holds the lock. Otherwise go to 2.
//  5. To release, a writer writes "released" to its own znode and leaves it there, and a reader deletes its own. To withdraw,
//     either deletes it.
//
// A writer's mark proves the same as in the lock released-mark: when the writer held the lock, each znode before its own was a
// marked one or gone. So a reader whose next lower writer is marked has nothing but readers before it, and a writer whose next
// lower znode is marked has nothing before it. A reader's end proves nothing for a writer, because other readers may still
// hold. Marks of readers would have to be read one by one, so that readers delete.
//
// Cost in lockstep, where ⌈N/3⌉ readers hold, w = ⌊(N+1)/3⌋ writers wait behind them, and r = ⌊N/3⌋ readers wait behind
// those. The last of the first readers is the only one whose release makes a client list:
//
//	notifications  1 for each client that waits  =  w+r
//	requests       N multis, N listings, N deletes and marks, a getData for each client that waits, and 1 listing if there is a writer
//	herd           r notifications from the last writer's release, 1 from any other
//
// Running free, the bounds of NearestWriterWatch apply to writes, notifications and herds. A client that a writer wakes
// saves its listing. One that lists before a marked znode is deleted and reads after must list again. All readers behind
// a writer read the same znode, so that this can happen to each client once for the znode of each other client: at most
// N-1 reads and N-1 listings more than the create, the first listing and the release, 2N+1 requests.
//
// Grows: in the bound, because the promise lets all readers behind a writer hold at once: all of them look at one znode, and each must look
// again if that is deleted between its listing and its read. This takes a read that is slower than a writer's next acquire. In lockstep it
// never happens, and an acquire and release cost at most 4 requests for any N.
//
// Bound: handing the lock from a writer to the next clients needs one quorum write and one notification to each of them. This
// variant's handoff has nothing else; nearest-writer-watch has a getChildren after them, by all readers at once. From the last
// of several readers to a writer, a listing comes on top.
//
// Source: ours: nearest-writer-watch (ZooKeeper recipes page, Shared Locks) with a writer's release that is a write.
type ReleasedMark struct {
	sequential
	marking tickets.Marking
}

// NewReleasedMark returns the lock of one client below an existing znode dir.
func NewReleasedMark(s *session.Session, dir string) *ReleasedMark {
	l := &ReleasedMark{marking: tickets.Marking{Line: tickets.New(s, dir, readMarker)}}
	l.init(s, dir, func(ctx context.Context, mine contender) (*revocation.Listening, error) {
		return nil, l.AwaitEachBy(ctx, next(mine, nearestWriter), l.AwaitMark)
	})
	l.leave = func(ctx context.Context, mine tickets.Ticket) error {
		if isWriter(l.mine) {
			return l.marking.Leave(ctx, mine)
		}
		return l.Leave(ctx, mine)
	}
	return l
}

// Acquire implements [Lock].
func (l *ReleasedMark) Acquire(ctx context.Context, mode Mode) (session.Grant, error) {
	return l.acquire(ctx, mode, func(ctx context.Context) (tickets.Ticket, error) {
		l.marking.Marker = markerFor(mode)
		return l.marking.Enter(ctx)
	})
}

func releasedMarkVariant() variants.Variant {
	v := nearestWriterWatchVariant()
	v.Name = "released-mark"
	v.Summary = "as nearest-writer-watch, but a writer releases by writing to its znode, so that those behind it need not list"
	v.BadAt = "writers that rarely come back: each leaves one released znode until its next acquire or the end of its session"
	v.Lockstep.Requests, v.Free.Requests = "3 + (w+r + min(1,w))/N"+withThirds, "2N+1"
	v.Join = join(NewReleasedMark)
	return v
}
