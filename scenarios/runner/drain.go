package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/variants"
)

// settlePoll is how often the ledgers are asked whether they have; asking costs nothing on the wire.
const settlePoll = 100 * time.Microsecond

// drain is a load that zkbench conducts step by step; see [variants.CountFrom].
type drain struct {
	*measurement
	mu      sync.Mutex
	working map[*member]bool // who has started, and neither holds nor is done
	holding []*heldMember    // in the order of coming to hold
	ranked  int              // how many of them have their place
}

// heldMember is one who holds until its turn has come.
type heldMember struct {
	*member
	turn     chan struct{}
	lost     <-chan struct{} // closed when the hold is cut short
	notified int             // how many notifications it had received when it began to hold
}

// cutShort tells that the holder is asked to go on.
func (h *heldMember) cutShort() bool {
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

// listens tells that others may cut the hold short, and not only the end of the session.
func (h *heldMember) listens() bool { return h.lost != nil && h.lost != h.monitor.Lost() }

// runDrain lets the clients start one after another, then those who hold go on one by one. Before each step everybody
// has received what the last one caused, and has nothing left to do but to wait: so no two events meet one watch, and
// the counts are exact.
func (m *measurement) runDrain(ctx context.Context) (observation, error) {
	d := &drain{measurement: m, working: map[*member]bool{}}
	m.crowd.setHold(d.hold)
	group, ctx := errgroup.WithContext(ctx)
	var o observation
	group.Go(func() error {
		var err error
		o, err = d.conduct(ctx, group)
		return err
	})
	err := group.Wait()
	return o, err
}

func (d *drain) conduct(ctx context.Context, group *errgroup.Group) (observation, error) {
	var begin reading
	var err error
	scales := newScales(d.measurement)
	if err := scales.before(ctx); err != nil {
		return observation{}, err
	}
	if d.recipe.CountFrom == variants.FromStart {
		if begin, err = d.begin(ctx); err != nil {
			return observation{}, err
		}
	}
	if err := d.lineUp(ctx, group); err != nil {
		return observation{}, err
	}
	if err := scales.after(ctx); err != nil {
		return observation{}, err
	}
	if d.recipe.CountFrom == variants.FromLineUp {
		if begin, err = d.begin(ctx); err != nil {
			return observation{}, err
		}
	}
	if err := d.serve(ctx, d.first); err != nil {
		return observation{}, err
	}
	if stuck := d.look(nil).members(); len(stuck) > 0 {
		return observation{}, stuck[0].explain(fmt.Errorf("it waits although no client holds: %w", ErrStuck))
	}
	end, err := d.quiesce(ctx)
	o := between(begin, end)
	o.heap, o.frozen = scales.heap, scales.frozen
	return o, err
}

// lineUp lets all members start. Where lining up is not counted, it is enough that the newcomer is at rest. Whoever it
// has asked to go on does so before the next one comes.
func (d *drain) lineUp(ctx context.Context, group *errgroup.Group) error {
	for _, m := range d.crowd.members {
		d.start(ctx, group, m)
		var err error
		if d.recipe.CountFrom == variants.FromStart {
			err = d.restAll(ctx)
		} else {
			err = d.rest(ctx, m)
		}
		if err != nil {
			return err
		}
		if err := d.serve(ctx, d.firstCutShort); err != nil {
			return err
		}
	}
	return d.restAll(ctx)
}

// serve lets those who hold go on one by one, as long as there is one to be picked.
func (d *drain) serve(ctx context.Context, pick func() *heldMember) error {
	for h := pick(); h != nil; h = pick() {
		if err := d.letGo(ctx, h); err != nil {
			return err
		}
		if err := d.restAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restAll returns when everybody is at rest. Those whom one step has made holders get their turns by number, or the
// counts would depend on whose goroutine was the fastest.
func (d *drain) restAll(ctx context.Context) error {
	if err := d.rest(ctx, nil); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortFunc(d.holding[d.ranked:], func(a, b *heldMember) int { return cmp.Compare(a.id, b.id) })
	d.ranked = len(d.holding)
	return nil
}

func (d *drain) start(ctx context.Context, group *errgroup.Group, m *member) {
	d.mu.Lock()
	d.working[m] = true
	d.mu.Unlock()
	group.Go(func() error {
		err := m.step(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.working, m)
		return m.explain(err)
	})
}

// hold announces a holder and waits for its turn to go on.
func (d *drain) hold(m *member) holdFunc {
	return func(ctx context.Context, lost <-chan struct{}) error {
		h := &heldMember{m, make(chan struct{}), lost, m.ledger.Notified()}
		d.mu.Lock()
		delete(d.working, m)
		d.holding = append(d.holding, h)
		d.mu.Unlock()
		select {
		case <-h.turn:
			return variants.WaitFor(ctx, lost, time.Duration(d.scenario.Hold))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// letGo lets a holder go on. Its server may lag behind those of the others: it must have caught up, or what it does now
// would depend on that.
func (d *drain) letGo(ctx context.Context, h *heldMember) error {
	if latest := d.crowd.latest(); h.ledger.LastZxid() < latest {
		if err := h.fence(ctx, latest); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.holding, h)
	d.holding = slices.Delete(d.holding, i, i+1)
	if i < d.ranked {
		d.ranked--
	}
	d.working[h.member] = true
	close(h.turn)
	return nil
}

// first returns whoever has held the longest, of those whose hold is cut short if there are any; nil if nobody holds.
func (d *drain) first() *heldMember {
	if h := d.firstCutShort(); h != nil {
		return h
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.holding) == 0 {
		return nil
	}
	return d.holding[0]
}

func (d *drain) firstCutShort() *heldMember {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.holding, (*heldMember).cutShort); i >= 0 {
		return d.holding[i]
	}
	return nil
}

// rest returns when all who are at work, or one of them, have received what has happened so far and drawn their
// conclusions: they wait for a notification and for nothing else.
//
// Whoever has been told of the last transaction needs no fence. In a herd that is nearly everybody, by the replies to the
// reads that re-armed their watches. If then nobody has done anything since the first look, nobody is going to.
func (d *drain) rest(ctx context.Context, only *member) error {
	for {
		if err := d.awaitSettled(ctx, only); err != nil {
			return err
		}
		before := d.look(only)
		latest := d.crowd.latest()
		behind := slices.DeleteFunc(before.members(), func(m *member) bool { return m.ledger.LastZxid() >= latest })
		if err := fenceAll(ctx, behind, latest); err != nil {
			return err
		}
		if after := d.look(only); slices.Equal(after, before) && after.atRest() {
			return nil
		}
	}
}

// look is what those at work have done so far, and holders who listen. Two looks are equal if nobody has done anything
// in between.
type look []progress

type progress struct {
	member        *member
	held          *heldMember // nil for one at work
	waits         int64       // how often it began or ended to wait
	notifications int
}

// atRest tells that nothing more comes of what has happened so far. What notifies a holder who listens cuts its hold
// short, and then it waits for its turn.
func (p progress) atRest() bool {
	if p.held == nil {
		return p.member.atRest()
	}
	return p.held.cutShort() || p.member.ledger.Notified() == p.held.notified
}

func (l look) members() []*member {
	members := make([]*member, len(l))
	for i, p := range l {
		members[i] = p.member
	}
	return members
}

func (l look) atRest() bool {
	return !slices.ContainsFunc(l, func(p progress) bool { return !p.atRest() })
}

// look looks at all who are at work or listen while they hold, or at one of them.
func (d *drain) look(only *member) look {
	d.mu.Lock()
	defer d.mu.Unlock()
	listening := map[*member]*heldMember{}
	for _, h := range d.holding {
		if h.listens() {
			listening[h.member] = h
		}
	}
	var l look
	for _, m := range d.crowd.members {
		held := listening[m]
		if (d.working[m] || held != nil) && (only == nil || m == only) {
			l = append(l, progress{m, held, m.waits(), m.ledger.Notified()})
		}
	}
	return l
}

func (d *drain) atWork(m *member) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.working[m]
}

// awaitSettled returns when all who are at work or listen, or one of them, wait for nothing but a notification.
func (d *drain) awaitSettled(ctx context.Context, only *member) error {
	for _, p := range d.look(only) {
		if err := d.awaitSettledMember(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// awaitSettledMember is the more patient the larger a step is.
func (d *drain) awaitSettledMember(ctx context.Context, p progress) error {
	patience := d.patience * time.Duration(max(d.scenario.Size, 1))
	deadline := time.Now().Add(patience)
	for !p.atRest() && (p.held != nil || d.atWork(p.member)) {
		if time.Now().After(deadline) {
			return p.member.explain(fmt.Errorf("it did not come to rest within %s: %w", patience, ErrStuck))
		}
		if err := sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
	return nil
}
