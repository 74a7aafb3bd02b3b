package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/doublebarrier"
)

// doubleBarrierVariant is a variant under test.
type doubleBarrierVariant struct {
	name string
	open func(t testing.TB, c *client, g doublebarrier.Group) doublebarrier.Barrier
	late bool // who comes while a round is under way waits until it is over
}

func (v doubleBarrierVariant) label() string { return v.name }

var doubleBarrierVariants = []doubleBarrierVariant{
	{"children-watch", func(t testing.TB, c *client, g doublebarrier.Group) doublebarrier.Barrier {
		b, err := doublebarrier.NewChildrenWatch(t.Context(), c.session(), g)
		if err != nil {
			t.Fatal(err)
		}
		return opened(c, b)
	}, false},
	{"ready-race", func(t testing.TB, c *client, g doublebarrier.Group) doublebarrier.Barrier {
		b, err := doublebarrier.NewReadyRace(t.Context(), c.session(), g)
		if err != nil {
			t.Fatal(err)
		}
		return opened(c, b)
	}, true},
	{"ready-node", func(t testing.TB, c *client, g doublebarrier.Group) doublebarrier.Barrier {
		return opened(c, readyNode(t, c.session(), g))
	}, true},
	{"counted", func(t testing.TB, c *client, g doublebarrier.Group) doublebarrier.Barrier {
		b, err := doublebarrier.NewCounted(t.Context(), c.session(), g)
		if err != nil {
			t.Fatal(err)
		}
		return opened(c, b)
	}, true},
}

type doubleBarrierCheck = func(t *testing.T, v venue, dir string, variant doubleBarrierVariant)

// doubleBarrierChecks are what every variant must pass, on every ensemble.
var doubleBarrierChecks = []check[doubleBarrierCheck]{
	{"keep the promise", barriersKeepThePromise},
	{"go on after a cancellation", barriersGoOnAfterACancellation},
	{"survive a death before all have entered", barriersSurviveADeathBeforeAllHaveEntered},
	{"survive a death inside", barriersSurviveADeathInside},
	{"survive a death that is waited for", barriersSurviveADeathThatIsWaitedFor},
	{"survive the death of all", barriersSurviveTheDeathOfAll},
	{"keep out who comes late", barriersKeepOutWhoComesLate},
	{"report a lost session", barriersReportALostSession},
	{"recover a lost reply", barriersRecoverALostReply},
	{"recover a lost request", barriersRecoverALostRequest},
	{"recover any request and reply that is lost", barriersRecoverAnyLoss},
	{"honour a deadline of a silent server", barriersHonourADeadlineOfASilentServer},
	{"refuse what makes no sense", barriersRefuseWhatMakesNoSense},
}

func TestDoubleBarrier(t *testing.T) { onEmbedded(t, checkDoubleBarriers) }

func checkDoubleBarriers(t *testing.T, at place) {
	checkAll(t, at, doubleBarrierChecks, doubleBarrierVariants,
		func(t *testing.T, v venue, do doubleBarrierCheck, variant doubleBarrierVariant) {
			do(t, v, directory(t, v), variant)
		})
}

// barriersFor gives each client its view of one barrier.
func barriersFor(t testing.TB, dir string, variant doubleBarrierVariant, cs ...*client) []doublebarrier.Barrier {
	t.Helper()
	bs := make([]doublebarrier.Barrier, len(cs))
	for i, c := range cs {
		bs[i] = variant.open(t, c, doublebarrier.Group{Dir: dir, Size: len(cs)})
	}
	return bs
}

// doubleBarrierWait does in the background something that must wait, and returns when it waits.
func doubleBarrierWait(ctx context.Context, t testing.TB, object any, do func(context.Context) error) <-chan error {
	t.Helper()
	return untilWaiting(ctx, t, object, func(ctx context.Context) <-chan error {
		return background(func() error { return do(ctx) })
	})
}

// doubleBarrierMustBeDone waits for the ends of what was begun, which must be good ones.
func doubleBarrierMustBeDone(t testing.TB, what string, ends ...<-chan error) {
	t.Helper()
	for _, done := range ends {
		if err := <-done; err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// doubleBarrierEnter lets all enter, one after another, so that it is known who is first and who is last.
func doubleBarrierEnter(t testing.TB, bs ...doublebarrier.Barrier) {
	t.Helper()
	var waiting []<-chan error
	for _, b := range bs[:len(bs)-1] {
		waiting = append(waiting, doubleBarrierWait(testContext(t), t, b, b.Enter))
	}
	if err := bs[len(bs)-1].Enter(testContext(t)); err != nil {
		t.Fatalf("enter as the last: %v", err)
	}
	doubleBarrierMustBeDone(t, "enter", waiting...)
}

// doubleBarrierLeave lets some leave at once.
func doubleBarrierLeave(t testing.TB, bs ...doublebarrier.Barrier) {
	t.Helper()
	var ends []<-chan error
	for _, b := range bs {
		ends = append(ends, background(func() error { return b.Leave(testContext(t)) }))
	}
	doubleBarrierMustBeDone(t, "leave", ends...)
}

// doubleBarrierMustBeClean closes all, after which nothing may be left.
func doubleBarrierMustBeClean(t testing.TB, v venue, dir string, bs ...doublebarrier.Barrier) {
	t.Helper()
	closeAll(t, bs...)
	mustBeEmpty(t, v, dir)
}

// doubleBarrierJoin lets clients join as the participants of a run that believes in so many of them.
func doubleBarrierJoin(t *testing.T, dir, variant string, cs []*client, believed func(int) int, wrap func(int, variants.Conn) variants.Conn, hold func(int) error) *company {
	t.Helper()
	group := newCompany(t.Context(), variantOf(doublebarrier.Recipe(), variant), variants.Env{Root: dir})
	for i, c := range cs {
		group.env.Clients = believed(i)
		group.env.Hold = func(context.Context, <-chan struct{}) error { return hold(i) }
		group.join(t, wrap(i, c.conn), c.monitor.Lost())
	}
	return group
}

// doubleBarrierRounds lets clients go through a number of rounds as the participants of a run, and returns their history.
func doubleBarrierRounds(t *testing.T, dir, variant string, rounds int, cs []*client) (variants.History, error) {
	t.Helper()
	// Some are slower than others, so that who is early for one thing is not for the next.
	hold := func(i int) error {
		time.Sleep(time.Duration(i%3) * time.Millisecond)
		return nil
	}
	group := doubleBarrierJoin(t, dir, variant, cs, func(int) int { return len(cs) }, doubleBarrierHonest, hold)
	err := group.step(rounds)
	group.leave(t)
	return group.history(), err
}

func doubleBarrierHonest(_ int, s variants.Conn) variants.Conn { return s }

func barriersKeepThePromise(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	const rounds = 20
	for _, n := range []int{1, 2, 5} {
		h, err := doubleBarrierRounds(t, dir, variant.name, rounds, clients(t, v, n))
		if err != nil {
			t.Errorf("%d participants: %v", n, err)
		}
		for _, violation := range doublebarrier.Recipe().Violations(h) {
			t.Errorf("%d participants: %s", n, violation.Text)
		}
		if left := phasesIn(doublebarrier.Recipe(), h)[doublebarrier.Recipe().Operation]; left != n*rounds {
			t.Errorf("%d participants left %d times in %d rounds", n, left, rounds)
		}
		doubleBarrierMustBeClean(t, v, dir)
	}
}

// A client that is cancelled can enter again, or wait on to leave.
func barriersGoOnAfterACancellation(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	cs := clients(t, v, 3)
	bs := barriersFor(t, dir, variant, cs...)
	for range 2 {
		ctx, cancel := context.WithCancel(testContext(t))
		other := doubleBarrierWait(testContext(t), t, bs[0], bs[0].Enter)
		entering := doubleBarrierWait(ctx, t, bs[1], bs[1].Enter)
		cancel()
		wantError(t, "a cancelled Enter", <-entering, context.Canceled)
		if left := children(t, cs[0], dir); len(left) != 1 {
			t.Errorf("znodes %v, want that of the one who still waits", left)
		}
		late := doubleBarrierWait(testContext(t), t, bs[2], bs[2].Enter)
		must(t, bs[1].Enter(testContext(t)))
		doubleBarrierMustBeDone(t, "enter", other, late)
		ctx, cancel = context.WithCancel(testContext(t))
		var ends []<-chan error
		for _, b := range bs[:2] {
			ends = append(ends, doubleBarrierWait(ctx, t, b, b.Leave))
		}
		cancel()
		for _, done := range ends {
			wantError(t, "a cancelled Leave", <-done, context.Canceled)
		}
		doubleBarrierLeave(t, bs...)
	}
	doubleBarrierMustBeClean(t, v, dir, bs...)
}

// doubleBarrierDeaths are the ways in which a participant may go.
var doubleBarrierDeaths = []struct {
	name string
	die  func(c *client, cable *cable)
}{
	{"closed", func(c *client, _ *cable) { c.Close() }},
	{"expired", func(_ *client, cable *cable) { cable.unplug() }},
}

// doubleBarrierMortals is four clients, of which one can be unplugged.
func doubleBarrierMortals(t testing.TB, v venue, victim int) ([]*client, *cable) {
	t.Helper()
	cs := clients(t, v, 4)
	mortal, cable := cabled(t, v, v.shortest)
	cs[victim] = mortal
	return cs, cable
}

// doubleBarrierReplace puts a new client in the place of a dead one, and goes through a round to see that all is well.
func doubleBarrierReplace(t testing.TB, v venue, dir string, variant doubleBarrierVariant, bs []doublebarrier.Barrier, victim int) {
	t.Helper()
	bs[victim] = variant.open(t, clients(t, v, 1)[0], doublebarrier.Group{Dir: dir, Size: len(bs)})
	for range 2 {
		doubleBarrierEnter(t, bs...)
		doubleBarrierLeave(t, bs...)
	}
	doubleBarrierMustBeClean(t, v, dir, bs...)
}

// doubleBarrierAwaitTickets waits until so many participants' znodes are left: the servers have noticed a death.
func doubleBarrierAwaitTickets(t testing.TB, c *client, dir string, want int) {
	t.Helper()
	ctx := testContext(t)
	for {
		n := doubleBarrierTickets(t, c, dir)
		if n == want {
			return
		}
		if err := variants.WaitFor(ctx, 10*time.Millisecond, nil, nil); err != nil {
			t.Fatalf("%d participants' znodes, want %d", n, want)
		}
	}
}

// doubleBarrierTickets counts the participants' znodes, which ready-race has one level lower.
func doubleBarrierTickets(t testing.TB, c *client, dir string) (n int) {
	t.Helper()
	catchUp(t, c, dir)
	names, _, err := c.conn.Children(dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) { // a round may end meanwhile
		t.Fatal(err)
	}
	for _, name := range names {
		switch {
		case strings.Contains(name, "-member-"), strings.HasPrefix(name, "process-"):
			n++
		case strings.HasPrefix(name, "round-"):
			n += doubleBarrierTickets(t, c, dir+"/"+name)
		}
	}
	return n
}

// One that dies while others are missing is missing, too, until another takes its place.
func barriersSurviveADeathBeforeAllHaveEntered(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	for _, death := range doubleBarrierDeaths {
		cs, cable := doubleBarrierMortals(t, v, 1)
		bs := barriersFor(t, dir, variant, cs...)
		dying, stop := context.WithCancel(testContext(t))
		first := doubleBarrierWait(testContext(t), t, bs[0], bs[0].Enter)
		dead := doubleBarrierWait(dying, t, bs[1], bs[1].Enter)
		third := doubleBarrierWait(testContext(t), t, bs[2], bs[2].Enter)
		death.die(cs[1], cable)
		doubleBarrierAwaitTickets(t, cs[0], dir, 2)
		stop()
		<-dead
		last := doubleBarrierWait(testContext(t), t, bs[3], bs[3].Enter)
		bs[1] = variant.open(t, clients(t, v, 1)[0], doublebarrier.Group{Dir: dir, Size: len(bs)})
		if err := bs[1].Enter(testContext(t)); err != nil {
			t.Fatalf("%s: %v", death.name, err)
		}
		doubleBarrierMustBeDone(t, "enter", first, third, last)
		doubleBarrierLeave(t, bs...)
		doubleBarrierMustBeClean(t, v, dir, bs...)
	}
}

// One that dies inside, whichever it is, keeps no other from leaving, nor from the next round.
func barriersSurviveADeathInside(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	for _, death := range doubleBarrierDeaths {
		for _, victim := range []int{0, 1, 3} { // the lowest; any; the last to enter
			cs, cable := doubleBarrierMortals(t, v, victim)
			bs := barriersFor(t, dir, variant, cs...)
			doubleBarrierEnter(t, bs...)
			death.die(cs[victim], cable)
			doubleBarrierLeave(t, doubleBarrierOthers(bs, victim)...)
			doubleBarrierReplace(t, v, dir, variant, bs, victim)
		}
	}
}

// As above, with all others waiting for the one that dies.
func barriersSurviveADeathThatIsWaitedFor(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	for _, death := range doubleBarrierDeaths {
		for _, victim := range []int{0, 1, 3} {
			cs, cable := doubleBarrierMortals(t, v, victim)
			bs := barriersFor(t, dir, variant, cs...)
			doubleBarrierEnter(t, bs...)
			var ends []<-chan error
			for _, b := range doubleBarrierOthers(bs, victim) {
				ends = append(ends, doubleBarrierWait(testContext(t), t, b, b.Leave))
			}
			death.die(cs[victim], cable)
			doubleBarrierMustBeDone(t, "leave", ends...)
			doubleBarrierReplace(t, v, dir, variant, bs, victim)
		}
	}
}

func doubleBarrierOthers(bs []doublebarrier.Barrier, victim int) []doublebarrier.Barrier {
	return slices.Delete(slices.Clone(bs), victim, victim+1)
}

// A group of which no client is left stands in no other group's way.
func barriersSurviveTheDeathOfAll(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	for _, finished := range []bool{false, true} {
		cs := clients(t, v, 3)
		bs := barriersFor(t, dir, variant, cs...)
		doubleBarrierEnter(t, bs...)
		dying, stop := context.WithCancel(testContext(t))
		var ends []<-chan error
		if finished {
			ends = append(ends, doubleBarrierWait(dying, t, bs[1], bs[1].Leave))
		}
		for _, c := range cs {
			c.Close()
		}
		stop()
		for _, done := range ends {
			<-done
		}
		next := barriersFor(t, dir, variant, clients(t, v, 3)...)
		for range 2 {
			doubleBarrierEnter(t, next...)
			doubleBarrierLeave(t, next...)
		}
		doubleBarrierMustBeClean(t, v, dir, next...)
	}
}

// A client that takes the place of a dead one while the round is under way waits for the next round.
func barriersKeepOutWhoComesLate(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	if !variant.late {
		t.Skip("it cannot tell a round under way from one that gathers, as its description says")
	}
	for _, victim := range []int{0, 1, 3} {
		cs := clients(t, v, 4)
		bs := barriersFor(t, dir, variant, cs...)
		doubleBarrierEnter(t, bs...)
		cs[victim].Close()
		others := doubleBarrierOthers(bs, victim)
		bs[victim] = variant.open(t, clients(t, v, 1)[0], doublebarrier.Group{Dir: dir, Size: len(bs)})
		late := doubleBarrierWait(testContext(t), t, bs[victim], bs[victim].Enter)
		doubleBarrierLeave(t, others...)
		var waiting []<-chan error
		for _, b := range others[:2] {
			waiting = append(waiting, doubleBarrierWait(testContext(t), t, b, b.Enter))
		}
		mustStillWait(t, "the one that came late", late)
		must(t, others[2].Enter(testContext(t)))
		doubleBarrierMustBeDone(t, "enter", append(waiting, late)...)
		doubleBarrierLeave(t, bs...)
		doubleBarrierMustBeClean(t, v, dir, bs...)
	}
}

// A client that loses its session gets ErrSessionLost, whether it waits to enter or to leave.
func barriersReportALostSession(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	cs, cable := doubleBarrierMortals(t, v, 1)
	bs := barriersFor(t, dir, variant, cs...)
	entering := doubleBarrierWait(testContext(t), t, bs[1], bs[1].Enter)
	cable.unplug()
	wantError(t, "Enter without a session", <-entering, variants.ErrSessionLost)
	wantError(t, "Enter after the session was lost", bs[1].Enter(testContext(t)), variants.ErrSessionLost)
	doubleBarrierAwaitTickets(t, cs[0], dir, 0)
	for _, victim := range []int{0, 1, 3} {
		cs, cable := doubleBarrierMortals(t, v, victim)
		bs := barriersFor(t, dir, variant, cs...)
		doubleBarrierEnter(t, bs...)
		leaving := doubleBarrierWait(testContext(t), t, bs[victim], bs[victim].Leave)
		cable.unplug()
		if err := <-leaving; !errors.Is(err, variants.ErrSessionLost) {
			t.Errorf("Leave of participant %d without a session returned %v, want ErrSessionLost", victim, err)
		}
		doubleBarrierLeave(t, doubleBarrierOthers(bs, victim)...)
		doubleBarrierMustBeClean(t, v, dir, doubleBarrierOthers(bs, victim)...)
	}
}

// The connection is cut around the creation of each znode that stands for a participant. The group takes no notice.
func barriersRecoverALostReply(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	barriersRecover(t, v, dir, variant, dropReply)
}

func barriersRecoverALostRequest(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	barriersRecover(t, v, dir, variant, dropRequest)
}

func barriersRecover(t *testing.T, v venue, dir string, variant doubleBarrierVariant, fault fault) {
	t.Helper()
	first, firstCutter := cutting(t, v, fault)
	second, secondCutter := cutting(t, v, fault)
	bs := barriersFor(t, dir, variant, first, second)
	firstCutter.arm()
	secondCutter.arm()
	doubleBarrierEnter(t, bs...)
	if !firstCutter.fired() || !secondCutter.fired() {
		t.Fatal("the connection was not cut: the test tests nothing")
	}
	doubleBarrierLeave(t, bs...)
	doubleBarrierEnter(t, bs...)
	doubleBarrierLeave(t, bs...)
	doubleBarrierMustBeClean(t, v, dir, bs...)
}

// The connection is cut around every kind of request, of the first to enter and of the last, and nothing is noticed but
// that it takes longer.
func barriersRecoverAnyLoss(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	fired := 0
	for _, op := range []wire.Opcode{wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData, wire.OpGetChildren2, wire.OpMulti} {
		for _, action := range []embedded.Action{embedded.DropBefore, embedded.DropAfter} {
			fired += doubleBarrierCut(t, v, directory(t, v), variant, op, action)
		}
	}
	if fired < 10 {
		t.Errorf("the connection was cut %d times: the test tests too little", fired)
	}
	doubleBarrierMustBeClean(t, v, dir)
}

// doubleBarrierCut cuts the connections of the first to enter and of the last around one kind of request, and returns how often
// that happened: a variant may do without it.
func doubleBarrierCut(t *testing.T, v venue, dir string, variant doubleBarrierVariant, op wire.Opcode, do embedded.Action) (fired int) {
	t.Helper()
	server, cs := embeddedServer(t, v), clients(t, v, 3)
	bs := barriersFor(t, dir, variant, cs...)
	for _, c := range []*client{cs[0], cs[2]} {
		trap := inject(server, c, op, do)
		doubleBarrierEnter(t, bs...)
		doubleBarrierLeave(t, bs...)
		if hasFired(trap) {
			fired++
		}
	}
	closeAll(t, bs...)
	if left := children(t, cs[1], dir); len(left) > 0 {
		t.Errorf("%s: znodes are left: %v", op, left)
	}
	return fired
}

// A caller gets control back although the server does not answer at all.
func barriersHonourADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	frozen, cable := cabled(t, v, ensemble.SessionTimeout)
	bs := barriersFor(t, dir, variant, frozen, clients(t, v, 1)[0])
	cable.mustTimeOut(t, "Enter", bs[0].Enter)
	doubleBarrierEnter(t, bs...)
	cable.mustTimeOut(t, "Leave", bs[0].Leave)
	doubleBarrierLeave(t, bs...)
	doubleBarrierMustBeClean(t, v, dir, bs...)
}

func barriersRefuseWhatMakesNoSense(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	b := barriersFor(t, dir, variant, clients(t, v, 1)...)[0]
	for range 2 {
		wantError(t, "Leave before Enter", b.Leave(testContext(t)), doublebarrier.ErrOutside)
		must(t, b.Enter(testContext(t)))
		wantError(t, "Enter after Enter", b.Enter(testContext(t)), doublebarrier.ErrInside)
		doubleBarrierLeave(t, b)
	}
	must(t, b.Enter(testContext(t)))
	doubleBarrierMustBeClean(t, v, dir, b, b)
}

// meddled is a session in which something happens before the first listing after it has joined.
type meddled struct {
	*zk.Conn
	joined *atomic.Bool
	once   *sync.Once
	do     func()
}

func (m meddled) Children(path string) ([]string, *zk.Stat, error) {
	if m.joined.Load() {
		m.once.Do(m.do)
	}
	return m.Conn.Children(path)
}

// Between the look for ready and the listing, another client may have cleared up and be the first of the next round: a
// client that waited for that one to go would wait for ever.
func TestReadyNodeSeesThatTheRoundIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		cs := clients(t, v, 2)
		must(t, errorOf(cs[0].conn.Create(dir+"/ready", nil, 0, variants.WorldACL()))) // of a round of which no client is left
		group := doublebarrier.Group{Dir: dir, Size: 2}
		first := opened(cs[0], readyNode(t, cs[0].session(), group))
		var entered <-chan error
		session := meddled{cs[1].conn, new(atomic.Bool), new(sync.Once), func() {
			entered = doubleBarrierWait(testContext(t), t, first, first.Enter)
		}}
		second := readyNode(t, cs[1].handle.Through(session), group)
		session.joined.Store(true)
		ctx, cancel := context.WithTimeout(testContext(t), 10*time.Second)
		defer cancel()
		must(t, second.Enter(ctx))
		must(t, <-entered)
	})
}

// readyNode is a client's view of a double barrier.
func readyNode(t testing.TB, session *variants.Session, group doublebarrier.Group) *doublebarrier.ReadyNode {
	t.Helper()
	b, err := doublebarrier.NewReadyNode(t.Context(), session, group)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cutOff is a session whose first listing after it has joined meets a lost connection, and in which something happens just
// after the second.
type cutOff struct {
	*zk.Conn
	listings *atomic.Int64 // -1 before it joins
	do       func()
}

func (c cutOff) Children(path string) ([]string, *zk.Stat, error) {
	if c.listings.Add(1) == 1 {
		return nil, nil, zk.ErrConnectionClosed
	}
	names, stat, err := c.Conn.Children(path)
	if c.listings.Load() == 2 {
		c.do()
	}
	return names, stat, err
}

// A client cannot rely on a watch from before an outage. When it looks again, all may have entered already: if it waited
// for the deletion of ready, it would wait for itself.
func TestReadyNodeSeesAfterAnOutageThatAllHaveEntered(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		cs := clients(t, v, 2)
		group := doublebarrier.Group{Dir: directory(t, v), Size: 2}
		last := readyNode(t, cs[0].session(), group)
		session := cutOff{cs[1].conn, new(atomic.Int64), func() {
			if err := last.Enter(testContext(t)); err != nil {
				t.Error(err)
			}
		}}
		session.listings.Store(-1)
		first := readyNode(t, cs[1].handle.Through(session), group)
		ctx, cancel := context.WithTimeout(testContext(t), 10*time.Second)
		defer cancel()
		must(t, first.Enter(ctx))
		doubleBarrierLeave(t, first, last)
	})
}
