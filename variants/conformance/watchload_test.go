package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/watchload"
)

// watchloadTopics is the number of topics of the feeds here.
const watchloadTopics = 2

type watchloadVariant struct {
	name   string
	open   func(ctx context.Context, s *session.Session, g watchload.Group) (watchload.Feed, error)
	shared bool // the publisher's death is told to all, as the znodes are its own
}

func (v watchloadVariant) label() string { return v.name }

var watchloadVariants = []watchloadVariant{
	{"one-znode", by[watchload.Feed](watchload.NewOneZnode), true},
	{"znode-per-watch", by[watchload.Feed](watchload.NewZnodePerWatch), false},
}

type watchloadCheck = func(t *testing.T, v venue, dir string, variant watchloadVariant)

// watchloadChecks are what every variant must pass, on every ensemble.
var watchloadChecks = []check[watchloadCheck]{
	{"goes on after a cancellation", watchloadGoesOnAfterACancellation},
	{"completes a publication that was cut short", watchloadCompletesAPublication},
	{"survives a watcher whose session expires", watchloadSurvivesAWatcherThatExpires},
	{"survives a publisher that dies", watchloadSurvivesAPublisherThatDies},
	{"reports a lost session", watchloadReportsALostSession},
	{"honours a deadline of a silent server", watchloadHonoursADeadline},
	{"respects foreign znodes", watchloadRespectsForeignZnodes},
	{"refuses what makes no sense", watchloadRefuses},
}

func TestWatchload(t *testing.T) { onEmbedded(t, checkWatchload) }

func checkWatchload(t *testing.T, at place) {
	checkAll(t, at, watchloadChecks, watchloadVariants, func(t *testing.T, v venue, do watchloadCheck, variant watchloadVariant) {
		do(t, v, directory(t, v), variant)
	})
}

// watchloadFeeds opens the feeds of all clients, client 0 first.
func watchloadFeeds(t testing.TB, dir string, variant watchloadVariant, cs ...*client) []watchload.Feed {
	t.Helper()
	var feeds []watchload.Feed
	for i, c := range cs {
		group := watchload.Group{Dir: dir, Clients: len(cs), Client: i, Topics: watchloadTopics}
		feed, err := variant.open(testContext(t), c.session(), group)
		must(t, err)
		feeds = append(feeds, feed)
	}
	catchUpAll(t, dir, cs...) // what one has created, all see
	return feeds
}

func watchloadWatch(t testing.TB, want int, feeds ...watchload.Feed) {
	t.Helper()
	for i, f := range feeds {
		for topic := range watchloadTopics {
			if got, err := f.Watch(testContext(t), topic); err != nil || got != want {
				t.Fatalf("client %d found %d publications of topic %d (%v), want %d", i, got, topic, err, want)
			}
		}
	}
}

func watchloadPublish(t testing.TB, publisher watchload.Feed) {
	t.Helper()
	for topic := range watchloadTopics {
		must(t, publisher.Publish(testContext(t), topic))
	}
}

func watchloadMustBeTold(t testing.TB, feeds ...watchload.Feed) {
	t.Helper()
	for i, f := range feeds {
		for topic := range watchloadTopics {
			if err := f.Changed(testContext(t), topic); err != nil {
				t.Fatalf("client %d was not told of topic %d: %v", i, topic, err)
			}
		}
	}
}

func watchloadGoesOnAfterACancellation(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 2)
	feeds := watchloadFeeds(t, dir, variant, cs...)
	watchloadWatch(t, 0, feeds...)
	mustWithdraw(t, "Changed", cs[1], func(ctx context.Context) error { return feeds[1].Changed(ctx, 0) })
	watchloadPublish(t, feeds[0])
	watchloadMustBeTold(t, feeds...)
	watchloadWatch(t, 1, feeds...)
	mustClose(t, v, dir, feeds...)
}

// A publication whose context ends between two of its writes is completed by the next call, and no client is notified twice.
func watchloadCompletesAPublication(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 12) // which is two multis
	feeds := watchloadFeeds(t, dir, variant, cs...)
	watchloadWatch(t, 0, feeds...)
	ctx, cancel := context.WithCancel(testContext(t))
	publisher, cable := cabled(t, v, ensemble.SessionTimeout)
	must(t, feeds[0].Close(testContext(t)))
	writes, cut := 0, 3 // the multi that creates, and one that publishes, come before
	if variant.shared {
		cut = 2 // one set publishes to all
	}
	hook := hooked{publisher.conn, func(op, _ string) {
		if op != "multi" && op != "set" {
			return
		}
		if writes++; writes == cut {
			cable.unplug()
			cancel()
		}
	}}
	group := watchload.Group{Dir: dir, Clients: len(cs), Topics: watchloadTopics}
	var err error
	if feeds[0], err = variant.open(testContext(t), publisher.handle.Through(hook), group); err != nil {
		t.Fatal(err)
	}
	catchUpAll(t, dir, cs...) // the znodes of the first publisher are gone, and those of the second are there
	for _, f := range feeds {
		for topic := range watchloadTopics {
			must(t, errorOf(f.Watch(testContext(t), topic)))
		}
	}
	if err := feeds[0].Publish(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("a publication that was cut short returned %v, want context.Canceled", err)
	}
	cable.replug()
	watchloadPublish(t, feeds[0])
	watchloadMustBeTold(t, feeds...)
	watchloadWatch(t, 1, feeds...)
	mustClose(t, v, dir, feeds...)
}

func watchloadSurvivesAWatcherThatExpires(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 4)
	mortal, cable := cabled(t, v, v.shortest)
	cs[2] = mortal
	feeds := watchloadFeeds(t, dir, variant, cs...)
	watchloadWatch(t, 0, feeds...)
	watchloadPublish(t, feeds[0]) // once with all, so that the next must find out that one has gone
	watchloadMustBeTold(t, feeds...)
	watchloadWatch(t, 1, feeds...)
	cable.unplug()
	<-cs[2].monitor.Lost()
	watchloadPublish(t, feeds[0]) // perhaps before the server knows
	watchloadMustBeTold(t, feeds[0], feeds[1], feeds[3])
	watchloadWatch(t, 2, feeds[0], feeds[1], feeds[3])
	watchloadAwaitGone(t, v, dir, "-c-2")
	watchloadPublish(t, feeds[0])
	watchloadMustBeTold(t, feeds[0], feeds[1], feeds[3])
	mustClose(t, v, dir, feeds[0], feeds[1], feeds[3])
}

// watchloadAwaitGone returns when no znode with such a name is left.
func watchloadAwaitGone(t testing.TB, v venue, dir, suffix string) {
	t.Helper()
	c := clients(t, v, 1)[0]
	its := func(name string) bool { return strings.HasSuffix(name, suffix) }
	eventually(t, "a dead client's znodes stay", func() bool { return !slices.ContainsFunc(children(t, c, dir), its) })
}

// Where the znodes are the publisher's, all learn that it has gone; elsewhere they wait.
func watchloadSurvivesAPublisherThatDies(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 3)
	feeds := watchloadFeeds(t, dir, variant, cs...)
	watchloadWatch(t, 0, feeds...)
	cs[0].Close()
	for _, f := range feeds[1:] {
		ctx, want := testContext(t), watchload.ErrClosed
		if !variant.shared {
			want = context.DeadlineExceeded
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
		}
		if err := f.Changed(ctx, 0); !errors.Is(err, want) {
			t.Errorf("Changed returned %v, want %v", err, want)
		}
	}
	mustClose(t, v, dir, feeds[1:]...)
}

func watchloadReportsALostSession(t *testing.T, v venue, dir string, variant watchloadVariant) {
	publisher, publishers := cabled(t, v, v.shortest)
	watcher, watchers := cabled(t, v, v.shortest)
	feeds := watchloadFeeds(t, dir, variant, publisher, watcher)
	watchloadWatch(t, 0, feeds...)
	waited := background(func() error { return feeds[1].Changed(testContext(t), 0) })
	awaitWaiting(t, watcher)
	watchers.unplug()
	wantError(t, "Changed without a session", <-waited, session.ErrSessionLost)
	publishers.unplug()
	<-publisher.monitor.Lost()
	wantError(t, "Publish without a session", feeds[0].Publish(testContext(t), 0), session.ErrSessionLost)
	wantError(t, "Watch without a session", errorOf(feeds[1].Watch(testContext(t), 0)), session.ErrSessionLost)
	wantError(t, "Close without a session", feeds[0].Close(testContext(t)), session.ErrSessionLost)
	watchloadAwaitGone(t, v, dir, "")
}

func watchloadHonoursADeadline(t *testing.T, v venue, dir string, variant watchloadVariant) {
	frozen, cable := cabled(t, v, ensemble.SessionTimeout)
	feeds := watchloadFeeds(t, dir, variant, frozen, clients(t, v, 1)[0])
	watchloadWatch(t, 0, feeds...)
	cable.mustTimeOut(t, "Publish", func(ctx context.Context) error { return feeds[0].Publish(ctx, 0) })
	cable.mustTimeOut(t, "Watch", func(ctx context.Context) error { _, err := feeds[0].Watch(ctx, 1); return err })
	if err := feeds[1].Changed(testContext(t), 0); err != nil { // the publication continued in the background
		t.Error(err)
	}
	mustClose(t, v, dir, feeds...)
}

// Znodes of another session in the directory are neither adopted nor deleted.
func watchloadRespectsForeignZnodes(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 2)
	feeds := watchloadFeeds(t, dir, variant, cs[0])
	group := watchload.Group{Dir: dir, Clients: 1, Topics: watchloadTopics}
	wantError(t, "opening what is another session's", errorOf(variant.open(testContext(t), cs[1].session(), group)), watchload.ErrTaken)
	watchloadWatch(t, 0, feeds...)
	mustClose(t, v, dir, feeds...)
}

func watchloadRefuses(t *testing.T, v venue, dir string, variant watchloadVariant) {
	cs := clients(t, v, 2)
	feeds := watchloadFeeds(t, dir, variant, cs...)
	wantError(t, "client 1 publishes", feeds[1].Publish(testContext(t), 0), watchload.ErrNotPublisher)
	wantError(t, "Changed without Watch", feeds[1].Changed(testContext(t), 0), watchload.ErrNotWatched)
	mustClose(t, v, dir, feeds...)
	catchUp(t, cs[1], dir)
	wantError(t, "Watch after the end", errorOf(feeds[1].Watch(testContext(t), 0)), watchload.ErrClosed)
}
