package doublebarrier

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// ReadyRace is the double barrier of the recipes page, in which each client that counts enough znodes creates ready.
//
// The barrier znode b is <dir>/round-<k>. To enter:
//
//  1. Look for b/ready with a watch.
//  2. Create the ephemeral znode b/process-<name>, without a sequence number.
//  3. List b. If it has fewer than N children, wait for the watch.
//  4. Otherwise create b/ready, a persistent znode. All have entered, even if another client has created it before.
//
// To leave:
//
//  5. List b. If no process is left, all have finished.
//  6. If the client's own znode is that of the only process left, delete it: all have finished. The same multi deletes ready
//     and b, and creates the next round's b.
//  7. If the client's own znode is the lowest, read the highest with a watch, wait until it is gone, and go to 5.
//  8. Otherwise read the lowest with a watch, delete the client's own znode unless that has been done, wait until the lowest is
//     gone, and go to 5.
//
// All clients that list b after the last znode was created race to create ready. All but one of them fail, each with a write of the
// whole ensemble. In ready-node, sequence numbers show which client is the N-th, and it alone creates ready.
//
// This differs from the page, whose barrier is for one use. Here each round has a znode of its own, at no extra request. Step 5
// of the page asks for "no children", and ready is a child that stays, so that no client could ever leave: its text speaks of
// process nodes. In step 3, ready counts as a child, as written. In step 8 the page deletes first: whether the last to leave then
// still finds the lowest, and is notified, is a matter of chance. The page does not say what to do if ready exists in step 1: the
// client enters the next round.
//
// Cost of one round in lockstep, where the clients come and go in the order of their names:
//
//	requests       N looks for ready, N creates, N lists, 1 create of ready; to leave, the lowest lists, reads the
//	               highest, lists again, and sends the multi, and each other one lists, reads the lowest, deletes, and
//	               lists again: 4N  =  7N+1. Alone, the client finds out at once: 6
//	writes         N creates, 1 create of ready, N-1 deletes, 1 multi  =  2N+1
//	notifications  N of ready, one of them to its creator, 1 of the highest, N-1 of the lowest  =  2N, or 1 alone
//
// In closed mode up to N clients create ready, of which N-1 fail. The lowest may be notified by each of the others, if the highest
// is always the next to leave.
//
// The znode of a dead client counts until its session has ended. A client that is back earlier takes that znode's place. If the
// round begins just before, the client may not see it yet, and starts a round that had begun before it was back.
//
// Bound: to enter and to leave, any algorithm needs one write of the last client and one notification of all others. If a client is
// to be notified only when all have entered, the last one must first learn that it is the last, and then say so: two writes and a
// read. The path of this variant is that of ready-node. The failed writes are not on it, but each goes through the leader.
//
// Source: as written, but with a znode of its own for each round, process nodes where the page has children in step 5, and the
// watch before the delete in step 8: ZooKeeper recipes page, Double Barriers.
type ReadyRace struct {
	client
	own string // the name of the client's znode
}

// The names below the directory, and below a round.
const (
	roundPrefix   = "round-"
	processPrefix = "process-"
)

// NewReadyRace returns one client's view of a barrier.
func NewReadyRace(ctx context.Context, session *variants.Session, group Group) (*ReadyRace, error) {
	b := &ReadyRace{own: processPrefix + cmp.Or(group.Member, rand.Text())}
	err := b.init(ctx, session, group, b)
	if err == nil {
		err = b.orient(ctx)
	}
	return b, err
}

// orient finds the round that the client enters next: the last one that there is, or the one after it if that has begun.
func (b *ReadyRace) orient(ctx context.Context) error {
	children, _, err := b.list(ctx)
	rounds := roundsAmong(children)
	switch {
	case err != nil:
		return err
	case len(rounds) == 0:
		return b.session.Ensure(ctx, b.znode(), nil, 0)
	}
	b.round.Store(slices.Max(rounds))
	if err := b.forget(ctx, rounds); err != nil {
		return err
	}
	begun, _, err := b.session.Exists(ctx, b.ready())
	if begun {
		b.round.Add(1)
	}
	return variants.Attempted("look for "+b.ready(), err)
}

// forget deletes what an earlier session of this member has left in the rounds: the others wait for it to leave.
func (b *ReadyRace) forget(ctx context.Context, rounds []int64) error {
	if b.group.Member == "" {
		return nil
	}
	for _, round := range rounds {
		if _, err := b.replace(ctx, path.Join(b.znodeOf(round), b.own)); err != nil {
			return err
		}
	}
	return nil
}

// znode returns the barrier znode of the current round.
func (b *ReadyRace) znode() string { return b.znodeOf(b.round.Load()) }

func (b *ReadyRace) znodeOf(round int64) string {
	return path.Join(b.group.Dir, roundPrefix+strconv.FormatInt(round, 10))
}

func (b *ReadyRace) ready() string { return path.Join(b.znode(), readyName) }

func (b *ReadyRace) process(name string) string { return path.Join(b.znode(), name) }

func (b *ReadyRace) enter(ctx context.Context) error {
	created, err := b.gather(ctx)
	if err != nil {
		return err
	}
	children, _, err := b.session.Children(ctx, b.znode())
	switch {
	case err != nil:
		return fmt.Errorf("list %s: %w", b.znode(), err)
	case !slices.Contains(children, b.own):
		return variants.ErrSessionLost
	case len(children) < b.group.Size:
		_, err := b.awaitCreation(ctx, b.ready(), created)
		return err
	default:
		return b.open(ctx)
	}
}

// gather registers the client in the first round that has not begun, and returns the watch on that round's ready.
func (b *ReadyRace) gather(ctx context.Context) (*variants.Watch, error) {
	for {
		begun, created, err := b.lookFor(ctx, b.ready())
		switch {
		case err != nil:
			return nil, err
		case begun:
			b.round.Add(1) // the round has begun without this client
			continue
		}
		if err = b.register(ctx); !errors.Is(err, zk.ErrNoNode) {
			return created, err
		}
		if err = b.catchUp(ctx); err != nil { // the watch may have fired for a round that is over: look again
			return nil, err
		}
	}
}

// catchUp goes to the last round, since the client's own has no znode. If there is no later one, a client that has died has left
// the round's creation undone.
func (b *ReadyRace) catchUp(ctx context.Context) error {
	children, _, err := b.list(ctx)
	if err != nil {
		return err
	}
	if last := slices.Max(append(roundsAmong(children), b.round.Load())); last > b.round.Load() {
		b.round.Store(last)
		return nil
	}
	return b.session.Ensure(ctx, b.znode(), nil, 0)
}

// register creates the client's znode. A znode that exists belongs to this session if the reply of an earlier attempt was lost, and
// otherwise to an earlier session.
func (b *ReadyRace) register(ctx context.Context) error {
	own := b.process(b.own)
	b.held = true // also if the outcome is unknown
	for {
		_, err := b.session.Create(ctx, own, nil, zk.FlagEphemeral)
		if !errors.Is(err, zk.ErrNodeExists) {
			return variants.Attempted("create "+own, err)
		}
		if ours, err := b.replace(ctx, own); err != nil || ours {
			return err
		}
	}
}

// replace deletes the client's znode unless it belongs to this session.
func (b *ReadyRace) replace(ctx context.Context, own string) (ours bool, err error) {
	exists, stat, err := b.session.Exists(ctx, own)
	switch {
	case err != nil || !exists:
		return false, variants.Attempted("look for "+own, err)
	case stat.EphemeralOwner == b.session.ID():
		return true, nil
	default:
		return false, b.session.Discard(ctx, own)
	}
}

// open creates ready, unless another client has.
func (b *ReadyRace) open(ctx context.Context) error {
	_, err := b.session.Create(ctx, b.ready(), nil, 0)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return variants.Attempted("create "+b.ready(), err)
}

func (b *ReadyRace) leave(ctx context.Context) error {
	for {
		processes, ready, err := b.left(ctx)
		if err != nil {
			return err
		}
		if len(processes) == 0 && !b.held {
			return b.sweep(ctx, ready)
		}
		if over, err := b.yield(ctx, processes); err != nil || over {
			return err
		}
	}
}

// left lists the processes that are left in the round, in their order, and reports whether ready is there. A round without a
// znode is over.
func (b *ReadyRace) left(ctx context.Context) (processes []string, ready bool, err error) {
	children, _, err := b.session.Children(ctx, b.znode())
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return processesAmong(children), slices.Contains(children, readyName), variants.Attempted("list "+b.znode(), err)
}

// yield takes the step to leave that the processes left of the round ask for, and reports whether the round is over.
func (b *ReadyRace) yield(ctx context.Context, processes []string) (over bool, err error) {
	switch {
	case b.held && !slices.Contains(processes, b.own):
		return false, variants.ErrSessionLost
	case processes[0] != b.own:
		return false, b.outlast(ctx, b.process(processes[0]), b.deregister)
	case len(processes) == 1:
		return true, b.endRound(ctx)
	default:
		return false, b.outlast(ctx, b.process(processes[len(processes)-1]), func(context.Context) error { return nil })
	}
}

// deregister deletes the client's own znode, unless it has been deleted before.
func (b *ReadyRace) deregister(ctx context.Context) error {
	if !b.held {
		return nil
	}
	err := b.session.Remove(ctx, b.process(b.own))
	b.held = err != nil
	return err
}

// endRound deletes the client's own znode, which is that of the last process, and all of its round. A client that is late may have
// registered meanwhile: then the round is left to that one.
func (b *ReadyRace) endRound(ctx context.Context) error {
	repeated, err := b.retire(ctx, &zk.DeleteRequest{Path: b.process(b.own), Version: -1})
	switch {
	case errors.Is(err, zk.ErrNotEmpty):
		return b.deregister(ctx)
	case errors.Is(err, zk.ErrNoNode) && !repeated:
		return variants.ErrSessionLost
	case err != nil && !errors.Is(err, zk.ErrNoNode):
		return variants.Attempted("end "+b.znode(), err)
	}
	b.held = false
	return nil
}

// retire deletes the round with ready in it, after other operations, and creates the next round unless a client that came late for
// this one has done so.
func (b *ReadyRace) retire(ctx context.Context, first ...any) (repeated bool, err error) {
	ops := slices.Concat(first, []any{&zk.DeleteRequest{Path: b.ready(), Version: -1}, &zk.DeleteRequest{Path: b.znode(), Version: -1}})
	next := &zk.CreateRequest{Path: b.znodeOf(b.round.Load() + 1), Acl: variants.WorldACL()}
	_, repeated, err = b.session.Multi(ctx, append(slices.Clone(ops), next)...)
	if errors.Is(err, zk.ErrNodeExists) {
		_, repeated, err = b.session.Multi(ctx, ops...)
	}
	return repeated, err
}

// sweep deletes a round whose last process has died, unless another client has done so or a late one has registered.
func (b *ReadyRace) sweep(ctx context.Context, ready bool) error {
	if !ready {
		return nil
	}
	_, err := b.retire(ctx)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
		return nil
	}
	return variants.Attempted("end "+b.znode(), err)
}

// abandon deletes the client's znode, which may not exist.
func (b *ReadyRace) abandon(ctx context.Context) error {
	if !b.held {
		return nil
	}
	err := b.session.Discard(ctx, b.process(b.own))
	b.held = err != nil
	return err
}

func readyRaceVariant() variants.Variant {
	return variants.Variant{
		Name:     "ready-race",
		Kind:     variants.Optimized,
		Summary:  "as ready-node, but each client that counts enough znodes tries to create ready",
		BadAt:    "clients that enter at the same time: up to N-1 of them fail to create ready, each with a write of the whole ensemble",
		Forgoes:  []variants.Loss{variants.OutOfStep},
		Lockstep: readyNodeVariant().Lockstep,
		Free:     variants.Cost{Requests: "(10N-4)/N", Writes: "3", FailedWrites: "(N-1)/N", Notifications: "(3N-2)/N", HerdMax: "N"},
		Prepare:  prepare,
		Join:     join(NewReadyRace),
	}
}
