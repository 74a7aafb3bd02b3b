package conformance_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/membership"
	"github.com/zkbench/zkbench/variants/session"
)

type membershipOpener func(s *session.Session, dir string) *membership.Group

// membershipVariants are the variants under test, by name.
var membershipVariants = []underTest[membershipOpener]{
	{"relist-and-reread", membership.RelistAndReread},
	{"diff-cache", membership.DiffCache},
}

type membershipCheck = func(t *testing.T, v venue, dir string, open membershipOpener)

// membershipChecks are what every variant must pass, on every ensemble.
var membershipChecks = []check[membershipCheck]{
	{"joins once", membershipJoinsOnce},
	{"leaves while it waits", membershipLeavesWhileItWaits},
	{"withdraws", membershipWithdraws},
	{"forgets who leaves while it reads", membershipForgetsWhoLeavesWhileItReads},
	{"honours a deadline of a silent server", membershipHonoursADeadline},
	{"respects foreign znodes", membershipRespectsForeignZnodes},
}

func TestMembership(t *testing.T) { onEmbedded(t, checkMemberships) }

func checkMemberships(t *testing.T, at place) {
	checkAll(t, at, membershipChecks, membershipVariants,
		func(t *testing.T, v venue, do membershipCheck, variant underTest[membershipOpener]) {
			do(t, v, directory(t, v), variant.open)
		})
}

func memberships(open membershipOpener, dir string, cs ...*client) []*membership.Group {
	var groups []*membership.Group
	for _, c := range cs {
		groups = append(groups, open(c.session(), dir))
	}
	return groups
}

func mustJoin(t testing.TB, g *membership.Group, data string) {
	t.Helper()
	must(t, g.Join(testContext(t), []byte(data)))
}

func mustLeave(t testing.TB, groups ...*membership.Group) {
	t.Helper()
	for _, g := range groups {
		must(t, g.Leave(testContext(t)))
	}
}

// membershipData returns the data of the members in a view, in order.
func membershipData(view membership.View) string {
	var data []string
	for _, m := range view {
		data = append(data, string(m.Data))
	}
	return strings.Join(data, " ")
}

// mustConverge follows groups until each view is as wanted.
func mustConverge(t testing.TB, want string, groups ...*membership.Group) {
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

// A client that gives up waiting can look, and wait again; one that is cancelled before it joins is not a member.
func membershipWithdraws(t *testing.T, v venue, dir string, open membershipOpener) {
	cs := clients(t, v, 2)
	groups := memberships(open, dir, cs...)
	mustConverge(t, "", groups...)
	gone := mustWithdraw(t, "Changed", cs[0], groups[0].Changed)
	wantError(t, "a cancelled Join", groups[0].Join(gone, []byte("a")), context.Canceled)
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
	watching := open(session.NewSession(hooked{cs[2].conn, func(op, _ string) {
		if op == "get" {
			once.Do(func() {
				mustLeave(t, groups[0])
				catchUp(t, cs[2], dir)
			})
		}
	}}, cs[2].monitor.Lost()), dir)
	mustConverge(t, "b", watching)
	mustLeave(t, groups...)
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

// A foreign znode in the directory is not a member, and is not deleted.
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
