package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// siteLives are what every variant must do when a site or the coordinator joins again.
var siteLives = []check[siteCheck]{
	{"a site joins again before its vote", sitesJoinAgainBeforeTheVote},
	{"a site joins again after its vote", sitesJoinAgainAfterTheVote},
	{"a site joins again after the outcome", sitesJoinAgainAfterTheOutcome},
	{"a site joins again after it was missed", sitesJoinAgainAfterTheyWereMissed},
	{"a site joins again before the first transaction", sitesJoinAgainBeforeTheFirst},
	{"a site waits for the end of its former session", sitesWaitForTheirFormerSession},
	{"the coordinator joins again before its vote", coordinatorJoinsAgainBeforeItsVote},
	{"the coordinator joins again after it was missed", coordinatorJoinsAgainAfterItWasMissed},
	{"the coordinator joins again after the outcome", coordinatorJoinsAgainAfterTheOutcome},
	{"the first outcome stands", theFirstOutcomeStands},
}

func TestTwoPhaseCommitLives(t *testing.T) { onEmbedded(t, checkSiteLives) }

func checkSiteLives(t *testing.T, at place) {
	checkAll(t, at, siteLives, siteVariants, func(t *testing.T, v venue, do siteCheck, variant siteVariant) {
		do(t, v, transactionDirectory(t, v), variant)
	})
}

// again lets a site join its group again with a new session, and checks what it finds.
func (v siteVariant) again(t testing.TB, c *client, g twophasecommit.Group, next int64, known ...twophasecommit.Outcome) twophasecommit.Site {
	t.Helper()
	g.Again = true
	s := v.open(t, c, g)
	outcomes, got, err := s.Resume(testContext(t))
	if err != nil || got != next || !slices.Equal(outcomes, known) {
		t.Fatalf("site %d goes on with transaction %d (%v) and knows of %v, want %d and %v", g.Site, got, err, outcomes, next, known)
	}
	return s
}

// prepareAgain lets a site prepare the transaction with which it goes on.
func prepareAgain(t testing.TB, s twophasecommit.Site, round int64) {
	t.Helper()
	transaction, err := s.Prepare(testContext(t), []byte("query"))
	if err != nil || transaction.Round != round || string(transaction.Query) != "query" {
		t.Fatalf("prepared transaction %d, %q (%v), want %d", transaction.Round, transaction.Query, err, round)
	}
}

// transactTogether lets sites commit one more transaction.
func transactTogether(t testing.TB, sites ...twophasecommit.Site) {
	t.Helper()
	mustPrepare(t, sites...)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
}

func outcome(round int64, d twophasecommit.Decision) twophasecommit.Outcome {
	return twophasecommit.Outcome{Round: round, Decision: d}
}

// Where the death is not noticed, the others wait until the site is back. Elsewhere it learns that it was missed.
func sitesJoinAgainBeforeTheVote(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	transactTogether(t, sites...)
	mustPrepare(t, sites...)
	cs[2].Close()
	group := twophasecommit.Group{Dir: dir, Sites: 3, Site: 2}
	if variant.ephemeral {
		mustDecide(t, twophasecommit.Abort, voteAll(t, sites[:2]...)...)
		sites[2] = variant.again(t, cs[3], group, 2, outcome(0, twophasecommit.Commit), outcome(1, twophasecommit.Abort))
	} else {
		waiting := []<-chan decision{voteAndWait(testContext(t), t, sites[0], twophasecommit.Commit), vote(testContext(t), sites[1], twophasecommit.Commit)}
		sites[2] = variant.again(t, cs[3], group, 1, outcome(0, twophasecommit.Commit))
		prepareAgain(t, sites[2], 1)
		mustDecide(t, twophasecommit.Commit, append(waiting, voteAll(t, sites[2])...)...)
	}
	transactTogether(t, sites...)
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// A vote that outlives its site cannot be taken back in another life.
func sitesJoinAgainAfterTheVote(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	mustPrepare(t, sites...)
	dying, stop := context.WithCancel(testContext(t))
	dead := voteAndWait(dying, t, sites[2], twophasecommit.Commit)
	cs[2].Close()
	stop()
	<-dead
	sites[2] = variant.again(t, cs[3], twophasecommit.Group{Dir: dir, Sites: 3, Site: 2}, 0)
	prepareAgain(t, sites[2], 0)
	second := twophasecommit.Abort
	if variant.ephemeral {
		second = twophasecommit.Commit // its vote is gone, so that it votes as it did before
	}
	mustDecide(t, twophasecommit.Commit, append(voteAll(t, sites[:2]...), vote(testContext(t), sites[2], second))...)
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// A site that has voted and died learns what became of the transaction.
func sitesJoinAgainAfterTheOutcome(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 5)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	mustPrepare(t, sites...)
	dying, stop := context.WithCancel(testContext(t))
	dead := voteAndWait(dying, t, sites[2], twophasecommit.Commit)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites[:2]...)...)
	stop()
	<-dead
	cs[2].Close()
	group := twophasecommit.Group{Dir: dir, Sites: 3, Site: 2}
	sites[2] = variant.again(t, cs[3], group, 1, outcome(0, twophasecommit.Commit))
	cs[3].Close() // once more, in the next transaction
	mustPrepare(t, sites[0])
	sites[2] = variant.again(t, cs[4], group, 1, outcome(0, twophasecommit.Commit))
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

func sitesJoinAgainBeforeTheFirst(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:2]...)
	for site, c := range cs[:2] {
		c.Close()
		sites[site] = variant.again(t, cs[2+site], twophasecommit.Group{Dir: dir, Sites: 2, Site: site}, 0)
	}
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// The znode of a session that has not ended yet is neither adopted nor deleted.
func sitesWaitForTheirFormerSession(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs[:2]...)
	transactTogether(t, sites...)
	group := twophasecommit.Group{Dir: dir, Sites: 2, Site: 1, Again: true}
	joined := make(chan twophasecommit.Site, 1)
	go func() { joined <- variant.open(t, cs[2], group) }()
	if variant.ephemeral {
		awaitWaiting(t, cs[2])
	}
	cs[1].Close()
	sites[1] = await(t, "the site does not join again", joined)
	if _, next, err := sites[1].Resume(testContext(t)); err != nil || next != 1 {
		t.Fatalf("it goes on with transaction %d (%v), want 1", next, err)
	}
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// The sites wait for a dead coordinator. When it is back, it collects their votes.
func coordinatorJoinsAgainBeforeItsVote(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	for range 2 {
		transactTogether(t, sites...)
	}
	mustPrepare(t, sites...)
	cs[0].Close()
	waiting := []<-chan decision{
		voteAndWait(testContext(t), t, sites[1], twophasecommit.Commit), voteAndWait(testContext(t), t, sites[2], twophasecommit.Commit),
	}
	sites[0] = variant.again(t, cs[3], twophasecommit.Group{Dir: dir, Sites: 3}, 2, outcome(1, twophasecommit.Commit))
	prepareAgain(t, sites[0], 2)
	mustDecide(t, twophasecommit.Commit, append(waiting, vote(testContext(t), sites[0], twophasecommit.Commit))...)
	for range 3 {
		transactTogether(t, sites...)
	}
	mustClose(t, v, dir, sites...)
}

// The sites wait for the next transaction, which only the coordinator opens.
func coordinatorJoinsAgainAfterTheOutcome(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs[:2]...)
	for range 3 {
		transactTogether(t, sites...)
	}
	cs[0].Close()
	prepared := background(func() error { return errorOf(sites[1].Prepare(testContext(t), nil)) })
	sites[0] = variant.again(t, cs[2], twophasecommit.Group{Dir: dir, Sites: 2}, 3, outcome(1, twophasecommit.Commit), outcome(2, twophasecommit.Commit))
	prepareAgain(t, sites[0], 3)
	must(t, <-prepared)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// A former process of the coordinator writes the outcome just before its successor does.
func theFirstOutcomeStands(t *testing.T, v venue, dir string, variant siteVariant) {
	if !strings.HasPrefix(variant.name, "coordinator") {
		return // nothing but the votes decides
	}
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs[:2]...)
	mustPrepare(t, sites...)
	must(t, errorOf(cs[2].conn.Set(dir+"/tx-0", []byte(twophasecommit.Abort), 0)))
	mustDecide(t, twophasecommit.Abort, voteAll(t, sites...)...)
	mustClose(t, v, dir, sites...)
}

// A coordinator that dies between the writes that open a transaction goes on where it was. A site that is back meanwhile waits for the
// query, and so does one that has been there.
func TestSeparateWritesGoOnWithATransactionHalfOpened(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		variant := siteVariants[slices.IndexFunc(siteVariants, func(v siteVariant) bool { return v.name == "separate-writes" })]
		for _, written := range [][]string{{"/tx-1"}, {"/tx-1", "/tx-1/s-0"}, {"/tx-1", "/tx-1/s-0", "/tx-1/s-1", "/tx-1/s-2"}} {
			dir := transactionDirectory(t, v)
			cs := clients(t, v, 5)
			sites := assemble(t, dir, variant.open, cs[:3]...)
			transactTogether(t, sites...)
			cs[0].Close()
			for _, znode := range written {
				must(t, errorOf(cs[1].conn.Create(dir+znode, nil, 0, variants.WorldACL())))
			}
			cs[2].Close()
			known := outcome(0, twophasecommit.Commit)
			sites[2] = variant.again(t, cs[3], twophasecommit.Group{Dir: dir, Sites: 3, Site: 2}, 1, known)
			var prepared []<-chan error
			for _, s := range sites[1:] {
				prepared = append(prepared, background(func() error { return errorOf(s.Prepare(testContext(t), nil)) }))
			}
			awaitWaiting(t, cs[1], cs[3])
			sites[0] = variant.again(t, cs[4], twophasecommit.Group{Dir: dir, Sites: 3}, 1, known)
			for _, s := range sites {
				prepareAgain(t, s, 1)
			}
			for _, done := range prepared {
				must(t, <-done)
			}
			mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
			transactTogether(t, sites...)
			transactTogether(t, sites...)
			mustClose(t, v, dir, sites...)
		}
	})
}

// trusting is a session that reads the vote of a site that has none, or whose znode is gone, as one to commit.
type trusting struct {
	variants.Conn
	site string // the name of its znode
	vote string
}

func (s trusting) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := s.Conn.Get(path)
	data, stat, err = s.trust(path, data, stat, err)
	return data, stat, err
}

func (s trusting) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := s.Conn.GetW(path)
	data, stat, err = s.trust(path, data, stat, err)
	return data, stat, events, err
}

func (s trusting) trust(path string, data []byte, stat *zk.Stat, err error) ([]byte, *zk.Stat, error) {
	missing := errors.Is(err, zk.ErrNoNode) || err == nil && len(data) == 0
	if missing && path[len(path)-len(s.site):] == s.site {
		return []byte(s.vote), &zk.Stat{}, nil
	}
	return data, stat, err
}

// voteless are the znode and the vote of site 1 in the first transaction.
func (v siteVariant) voteless() (znode, vote string) {
	if v.ephemeral {
		return "/site-1", "0 commit"
	}
	return "/s-1", "commit"
}

// lifeOf lets one client take steps as the participant of a site, in one of its lives, and returns the history.
func lifeOf(t *testing.T, company *company, c *client, session variants.Conn, site, life, steps int) {
	t.Helper()
	env := company.env
	env.Index, env.Life, env.Session = site, life, c.handle.Through(session)
	env.Record = func(kind variants.EventKind, value int64) { company.record(site, nil, kind, kind, value) }
	if life > 0 {
		env.Record(variants.Rejoined, int64(life))
	}
	p, err := company.variant.Join(testContext(t), env)
	must(t, err)
	company.busy.Go(func() {
		for range steps {
			if err := p.Step(company.ctx); err != nil {
				return
			}
		}
	})
}

// A coordinator that commits without the vote of a dead site is caught.
func TestCommitWithoutADeadSiteIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		for _, variant := range siteVariants {
			dir, cs := transactionDirectory(t, v), clients(t, v, 2)
			group := newCompany(testContext(t), variantOf(twophasecommit.Recipe(), variant.name), variants.Env{Clients: 2, Root: dir})
			znode, vote := variant.voteless()
			lifeOf(t, group, cs[1], cs[1].conn, 1, 0, 0)
			group.record(1, nil, variants.Died, variants.Died, 0)
			lifeOf(t, group, cs[0], trusting{cs[0].conn, znode, vote}, 0, 0, 1)
			group.busy.Wait()
			violations, _ := findings(twophasecommit.Recipe(), group.history())
			const want = "site 0 committed transaction 0 before site 1 had voted"
			if len(violations) != 1 || violations[0].Text != want {
				t.Errorf("%s: violations %v, want %q", variant.name, violations, want)
			}
		}
	})
}

// contrary is a session that reads every commit as an abort.
type contrary struct{ variants.Conn }

func (c contrary) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := c.Conn.Get(path)
	return c.turn(data), stat, err
}

func (c contrary) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := c.Conn.GetW(path)
	return c.turn(data), stat, events, err
}

func (contrary) turn(data []byte) []byte {
	if string(data) == string(twophasecommit.Commit) {
		return []byte(twophasecommit.Abort)
	}
	return data
}

// A site that joins again and believes another outcome than that which the others know is caught.
func TestSiteThatLearnsAnotherOutcomeIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		for _, variant := range siteVariants {
			for name, tt := range map[string]struct {
				wrap   func(variants.Conn) variants.Conn
				breach bool
			}{
				"honest":   {honest, false},
				"contrary": {func(s variants.Conn) variants.Conn { return contrary{s} }, true},
			} {
				dir, cs := transactionDirectory(t, v), clients(t, v, 3)
				group := newCompany(testContext(t), variantOf(twophasecommit.Recipe(), variant.name), variants.Env{Clients: 2, Root: dir})
				for site, c := range cs[:2] {
					lifeOf(t, group, c, c.conn, site, 0, 1)
				}
				group.busy.Wait()
				cs[1].Close()
				group.record(1, nil, variants.Died, variants.Died, 0)
				lifeOf(t, group, cs[2], tt.wrap(cs[2].conn), 1, 1, 0)
				violations, _ := findings(twophasecommit.Recipe(), group.history())
				caught := slices.ContainsFunc(violations, func(v variants.Violation) bool {
					return strings.HasPrefix(v.Text, "site 1 decided to abort transaction 0, and site")
				})
				if caught != tt.breach || len(violations) > 1 {
					t.Errorf("%s, %s: violations %v", variant.name, name, violations)
				}
			}
		}
	})
}
