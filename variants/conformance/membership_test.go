package conformance_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/membership"
)

// membershipOpener makes one client's view of a group, in one variant.
type membershipOpener func(s *variants.Session, dir string) membership.Group

// membershipVariants are the variants under test, by name.
var membershipVariants = []underTest[membershipOpener]{
	{"relist-and-reread", func(s *variants.Session, dir string) membership.Group { return membership.NewRelistAndReread(s, dir) }},
	{"diff-cache", func(s *variants.Session, dir string) membership.Group { return membership.NewDiffCache(s, dir) }},
}

type membershipCheck = func(t *testing.T, v venue, dir string, open membershipOpener)

// membershipChecks are what every variant must pass, on every ensemble.
var membershipChecks = []check[membershipCheck]{
	{"knows who is in the group", membershipKnowsWhoIsInTheGroup},
	{"joins once", membershipJoinsOnce},
	{"leaves while it waits", membershipLeavesWhileItWaits},
	{"withdraws", membershipWithdraws},
	{"forgets who leaves while it reads", membershipForgetsWhoLeavesWhileItReads},
	{"survives a member that dies", membershipSurvivesAMemberThatDies},
	{"survives a member whose session expires", membershipSurvivesAMemberWhoseSessionExpires},
	{"reports a lost session", membershipReportsALostSession},
	{"recovers a lost reply", func(t *testing.T, v venue, dir string, open membershipOpener) {
		membershipRecovers(t, v, dir, open, dropReply)
	}},
	{"recovers a lost request", func(t *testing.T, v venue, dir string, open membershipOpener) {
		membershipRecovers(t, v, dir, open, dropRequest)
	}},
	{"recovers a lost delete", membershipRecoversALostDelete},
	{"follows on after an outage", membershipFollowsOnAfterAnOutage},
	{"honours a deadline of a silent server", membershipHonoursADeadline},
	{"respects foreign znodes", membershipRespectsForeignZnodes},
}

func TestMembership(t *testing.T) { onEmbedded(t, checkMemberships) }

func checkMemberships(t *testing.T, at place) {
	checkAll(t, at, membershipChecks, membershipVariants,
		func(t *testing.T, v venue, do membershipCheck, variant underTest[membershipOpener]) {
			do(t, v, directory(t, v), variant.open)
		})
	t.Run("keeps its promise", func(t *testing.T) { keepsItsPromise(t, at, membership.Recipe(), 5, 6) })
}

// memberships lets each client open its view of a group.
func memberships(open membershipOpener, dir string, cs ...*client) []membership.Group {
	var groups []membership.Group
	for _, c := range cs {
		groups = append(groups, open(c.session(), dir))
	}
	return groups
}

func mustJoin(t testing.TB, g membership.Group, data string) {
	t.Helper()
	must(t, g.Join(testContext(t), []byte(data)))
}

func mustLeave(t testing.TB, groups ...membership.Group) {
	t.Helper()
	for _, g := range groups {
		must(t, g.Leave(testContext(t)))
	}
}

// membershipData returns what those in a view have written, in order.
func membershipData(view membership.View) string {
	var data []string
	for _, m := range view {
		data = append(data, string(m.Data))
	}
	return strings.Join(data, " ")
}

// mustConverge follows a group until its view is what is wanted.
func mustConverge(t testing.TB, want string, groups ...membership.Group) {
	t.Helper()
	for i, g := range groups {
		for ctx := testContext(t); ; {
			view, err := g.View(ctx)
			if err != nil {
				t.Fatalf("client %d: %v", i, err)
			}
			if membershipData(view) == want {
				break
			}
			if err := g.Changed(ctx); err != nil {
				t.Fatalf("client %d has the view %q, want %q: %v", i, membershipData(view), want, err)
			}
		}
	}
}

// Members and clients that only watch see who is there, with their data and in the order of joining.
func membershipKnowsWhoIsInTheGroup(t *testing.T, v venue, dir string, open membershipOpener) {
	groups := memberships(open, dir, clients(t, v, 4)...)
	mustConverge(t, "", groups...)
	mustJoin(t, groups[0], "a")
	mustJoin(t, groups[1], "b")
	mustJoin(t, groups[2], "c")
	mustConverge(t, "a b c", groups...)
	earlier, err := groups[3].View(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	mustLeave(t, groups[0])
	mustConverge(t, "b c", groups...)
	mustJoin(t, groups[0], "d")
	mustConverge(t, "b c d", groups...)
	now, err := groups[3].View(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if joined, left := now.Changes(earlier); membershipData(joined) != "d" || membershipData(left) != "a" {
		t.Errorf("joined %q and left %q, want d and a", membershipData(joined), membershipData(left))
	}
	mustLeave(t, groups...)
	mustConverge(t, "", groups...)
	mustBeEmpty(t, v, dir)
}

func membershipJoinsOnce(t *testing.T, v venue, dir string, open membershipOpener) {
	g := memberships(open, dir, clients(t, v, 1)...)[0]
	mustLeave(t, g)
	mustJoin(t, g, "a")
	wantError(t, "a member that joins again", g.Join(testContext(t), []byte("b")), membership.ErrMember)
	mustConverge(t, "a", g)
	mustLeave(t, g, g)
	mustBeEmpty(t, v, dir)
}

// A client that waits for a change can leave, which is a change.
func membershipLeavesWhileItWaits(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 1)
	g := memberships(open, dir, cs...)[0]
	mustJoin(t, g, "a")
	mustConverge(t, "a", g)
	var wait sync.WaitGroup
	wait.Go(func() { mustConverge(t, "", g) })
	awaitWaiting(t, cs...)
	mustLeave(t, g)
	wait.Wait()
}

// A client that gives up waiting can look, and wait again; one that is cancelled before it joins is no member.
func membershipWithdraws(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 2)
	groups := memberships(open, dir, cs...)
	mustConverge(t, "", groups...)
	ctx, cancel := context.WithCancel(testContext(t))
	var wait sync.WaitGroup
	wait.Go(func() {
		wantError(t, "a cancelled Changed", groups[0].Changed(ctx), context.Canceled)
	})
	awaitWaiting(t, cs[0])
	cancel()
	wait.Wait()
	wantError(t, "a cancelled Join", groups[0].Join(ctx, []byte("a")), context.Canceled)
	mustJoin(t, groups[1], "b")
	mustConverge(t, "b", groups...)
	mustLeave(t, groups...)
	mustBeEmpty(t, v, dir)
}

// A member that leaves between the listing and the read is in no view.
func membershipForgetsWhoLeavesWhileItReads(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 3)
	groups := memberships(open, dir, cs...)
	mustJoin(t, groups[0], "a")
	mustJoin(t, groups[1], "b")
	var once sync.Once
	watching := open(variants.NewSession(hooked{cs[2].conn, func(string, string) {
		once.Do(func() {
			mustLeave(t, groups[0])
			catchUp(t, cs[2], dir)
		})
	}}, cs[2].monitor.Lost()), dir)
	mustConverge(t, "b", watching)
	mustLeave(t, groups...)
}

func membershipSurvivesAMemberThatDies(t *testing.T, v venue, dir string, open membershipOpener) {
	dying := connect(t, v.Servers()[0], v.shortest, nil)
	membershipSurvives(t, v, dir, open, dying, dying.Close)
}

// The same with a session that expires because its client is cut off. Closing it is then up to the monitor.
func membershipSurvivesAMemberWhoseSessionExpires(t *testing.T, v venue, dir string, open membershipOpener) {
	dying, cable := cabled(t, v, v.shortest)
	membershipSurvives(t, v, dir, open, dying, func() { cable.unplug(); <-dying.monitor.Lost() })
}

// membershipSurvives lets a member die while it waits, and another one be away when that happens.
func membershipSurvives(t *testing.T, v venue, dir string, open membershipOpener, dying *client, die func()) {
	t.Helper()
	cs := append(clients(t, v, 2), dying)
	groups := memberships(open, dir, cs...)
	for i, data := range []string{"a", "b", "c"} {
		mustJoin(t, groups[i], data)
	}
	mustConverge(t, "a b c", groups...)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { _ = groups[2].Changed(ctx) })
	awaitWaiting(t, dying)
	mustLeave(t, groups[1])
	die()
	mustConverge(t, "a", groups[:2]...)
	mustJoin(t, groups[1], "d")
	mustConverge(t, "a d", groups[:2]...)
	mustLeave(t, groups[:2]...)
	mustBeEmpty(t, v, dir)
	cancel()
	wait.Wait()
}

// A client that waits, looks, joins or leaves gets ErrSessionLost when its session is lost.
func membershipReportsALostSession(t *testing.T, v venue, dir string, open membershipOpener) {
	cut, cable := cabled(t, v, v.shortest)
	g := open(cut.session(), dir)
	mustJoin(t, g, "a")
	mustConverge(t, "a", g)
	waited := background(func() error { return g.Changed(testContext(t)) })
	awaitWaiting(t, cut)
	cable.unplug()
	got := map[string]error{"Changed": <-waited}
	_, got["View"] = g.View(testContext(t))
	got["Leave"] = g.Leave(testContext(t))
	got["Join"] = g.Join(testContext(t), []byte("b"))
	for what, err := range got {
		if !errors.Is(err, variants.ErrSessionLost) {
			t.Errorf("%s returned %v, want ErrSessionLost", what, err)
		}
	}
	mustConverge(t, "", memberships(open, dir, clients(t, v, 1)...)...)
}

// The connection is cut around the create. The client is a member once, and follows the group as before.
func membershipRecovers(t *testing.T, v venue, dir string, open membershipOpener, fault fault) {
	t.Helper()
	cut, cutter := cutting(t, v, fault)
	other := clients(t, v, 1)[0]
	groups := memberships(open, dir, cut, other)
	mustJoin(t, groups[1], "b")
	cutter.arm()
	mustJoin(t, groups[0], "a")
	cutter.mustHaveCutOnce(t, cut)
	mustConverge(t, "b a", groups...)
	mustLeave(t, groups[1])
	mustConverge(t, "a", groups...)
	mustLeave(t, groups[0])
	mustConverge(t, "", groups...)
	mustBeEmpty(t, v, dir)
}

// The connection is cut around the delete. The client is no member any more, and its own view says so.
func membershipRecoversALostDelete(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 2)
	groups := memberships(open, dir, cs...)
	for _, action := range []embedded.Action{embedded.DropBefore, embedded.DropAfter} {
		mustJoin(t, groups[0], "a")
		mustConverge(t, "a", groups...)
		trap := inject(embeddedServer(t, v), cs[0], wire.OpDelete, action)
		mustLeave(t, groups[0])
		mustHaveFired(t, trap)
		mustConverge(t, "", groups...)
	}
	mustBeEmpty(t, v, dir)
}

// The connection is cut around the read of a member, and the group changes before it is up again.
func membershipFollowsOnAfterAnOutage(t *testing.T, v venue, dir string, open membershipOpener) {
	for _, action := range []embedded.Action{embedded.DropBefore, embedded.DropAfter} {
		cs := clients(t, v, 3)
		groups := memberships(open, dir, cs...)
		mustJoin(t, groups[0], "a")
		trap := inject(embeddedServer(t, v), cs[2], wire.OpGetData, action)
		var wait sync.WaitGroup
		wait.Go(func() { mustConverge(t, "a b", groups[2]) })
		<-trap.Fired()
		mustJoin(t, groups[1], "b")
		wait.Wait()
		mustLeave(t, groups...)
		mustConverge(t, "", groups...)
	}
}

// A caller gets control back although the server does not answer at all, and what it began is undone.
func membershipHonoursADeadline(t *testing.T, v venue, dir string, open membershipOpener) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	g := open(c.session(), dir)
	cable.mustTimeOut(t, "View after Join", func(ctx context.Context) error {
		wantError(t, "Join at a silent server", g.Join(ctx, []byte("a")), context.DeadlineExceeded)
		_, err := g.View(ctx)
		return err
	})
	mustJoin(t, g, "b") // when the clean-up is through
	mustConverge(t, "b", g)
	mustLeave(t, g)
	mustBeEmpty(t, v, dir)
}

// A foreign znode in the directory is no member, and is not deleted.
func membershipRespectsForeignZnodes(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 1)
	must(t, errorOf(cs[0].conn.Create(dir+"/foreign", []byte("x"), 0, zk.WorldACL(zk.PermAll))))
	g := memberships(open, dir+"/", cs...)[0]
	mustJoin(t, g, "a")
	mustConverge(t, "a", g)
	mustLeave(t, g)
	if left := children(t, cs[0], dir); !slices.Equal(left, []string{"foreign"}) {
		t.Errorf("znodes %v, want the foreign one alone", left)
	}
}

// clinging is a session that goes on seeing members that have left.
type clinging struct {
	variants.Conn
	names map[string]bool
	data  map[string][]byte
}

func (c clinging) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := c.Conn.ChildrenW(path)
	for _, name := range names {
		c.names[name] = true
	}
	return slices.Collect(maps.Keys(c.names)), stat, watch, err
}

func (c clinging) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := c.Conn.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return c.data[path], stat, nil
	}
	c.data[path] = data
	return data, stat, err
}

// blinking is a session that overlooks the eldest member in its first listing.
type blinking struct {
	variants.Conn
	once *sync.Once
}

func (b blinking) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := b.Conn.ChildrenW(path)
	b.once.Do(func() {
		number := func(name string) string { return name[strings.LastIndex(name, "-"):] }
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
		names = names[1:]
	})
	return names, stat, watch, err
}

// lying is a session in which no member is who it says.
type lying struct{ variants.Conn }

func (l lying) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := l.Conn.Get(path)
	return append([]byte("99"), data...), stat, err
}

// The promise must be able to be broken: a client with a wrong view is caught.
func TestMembershipWithAWrongViewIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		for _, tt := range []struct {
			name  string
			spoil broken
			want  string
			steps int
		}{
			{"sees who has left", func(s variants.Conn) variants.Conn {
				return clinging{s, map[string]bool{}, map[string][]byte{}}
			}, "who had left before", 2},
			{"overlooks a member", func(s variants.Conn) variants.Conn { return blinking{s, &sync.Once{}} }, "does not see client 0 of round 0", 1},
			{"takes members for others", func(s variants.Conn) variants.Conn { return lying{s} }, "who has never joined", 0},
		} {
			for _, variant := range membership.Recipe().Variants {
				join := variant.Join
				variant.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
					if env.Index == 1 {
						env.Session = variants.NewSession(tt.spoil(env.Session.Conn()), env.Session.Lost())
					}
					return join(ctx, env)
				}
				mustBreak(t, membership.Recipe(), historyOf(t, v, variant, 3, tt.steps), tt.want)
			}
		}
	})
}

// deafToLosses is a session that is not notified of changes in the group.
type deafToLosses struct{ variants.Conn }

func (d deafToLosses) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, _, err := d.Conn.ChildrenW(path)
	return names, stat, make(chan zk.Event), err
}

// A client that waits for a change while a member's session is lost must notice it.
func TestMembershipThatNeverNoticesALossIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range membership.Recipe().Variants {
		bubbles.run(t, variant.Name, func(t *testing.T, v venue) {
			if violations := membership.Recipe().Violations(membershipAfterALoss(t, v, variant, honest)); len(violations) > 0 {
				t.Errorf("violations %v of an honest session", violations)
			}
			deaf := func(s variants.Conn) variants.Conn { return deafToLosses{s} }
			mustBreak(t, membership.Recipe(), membershipAfterALoss(t, v, variant, deaf), "client 1 never noticed the loss of client 0 of round 0")
		})
	}
}

// membershipAfterALoss lets two clients join, of which the first loses its session and the second sees the group through a
// session that may be broken. It returns what they have done until the second, which waits for a change, has had its
// chance to notice.
func membershipAfterALoss(t *testing.T, v venue, variant variants.Variant, spoil broken) variants.History {
	t.Helper()
	var sessions []*variants.Session
	join := variant.Join
	variant.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		if env.Index == 1 {
			env.Session = variants.NewSession(spoil(env.Session.Conn()), env.Session.Lost())
		}
		sessions = append(sessions, env.Session)
		return join(ctx, env)
	}
	dying, cable := cabled(t, v, v.shortest)
	other := clients(t, v, 1)[0]
	c := newCompany(t.Context(), variant, variants.Env{
		Clients: 2, Root: directory(t, v),
		Hold: func(context.Context, <-chan struct{}) error { <-dying.monitor.Lost(); return nil },
	})
	c.joinAll(t, dying, other)
	ctx, cancel := context.WithCancel(testContext(t))
	losing := background(func() error { return c.members[0].Step(ctx) })
	following := background(func() error { return c.members[1].Step(ctx) })
	defer func() { cancel(); <-following }()
	rests := func() bool { wait, _ := sessions[1].Waiting(); return wait != nil && !wait.Fired() }
	eventually(t, "the second client does not wait", rests)
	cable.unplug()
	wantError(t, "the step of the client without a session", <-losing, variants.ErrSessionLost)
	eventually(t, "the lost member's znode stays", func() bool { return len(children(t, other, c.env.Root)) < 2 })
	catchUp(t, other, c.env.Root)
	eventually(t, "the second client does not wait", rests)
	return c.history()
}
