package conformance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/hiddenchannel"
	"github.com/zkbench/zkbench/variants/session"
)

type hiddenOpener func(ctx context.Context, s *session.Session, znode string, mail hiddenchannel.Mail) (hiddenchannel.Value, error)

// hiddenVariants are the variants under test, by name.
var hiddenVariants = []underTest[hiddenOpener]{
	{"message-then-read", func(ctx context.Context, s *session.Session, znode string, mail hiddenchannel.Mail) (hiddenchannel.Value, error) {
		return hiddenchannel.NewMessageThenRead(ctx, s, znode, mail)
	}},
	{"sync-then-read", func(ctx context.Context, s *session.Session, znode string, mail hiddenchannel.Mail) (hiddenchannel.Value, error) {
		return hiddenchannel.NewSyncThenRead(ctx, s, znode, mail)
	}},
	{"watch", func(ctx context.Context, s *session.Session, znode string, _ hiddenchannel.Mail) (hiddenchannel.Value, error) {
		return hiddenchannel.NewWatch(ctx, s, znode)
	}},
}

// hiddenSite is where one check takes place: a value "0", and the mailbox of its readers.
type hiddenSite struct {
	venue
	znode string
	mail  *hiddenchannel.Mailbox
	open  hiddenOpener
}

func (s hiddenSite) value(t testing.TB, c *client) hiddenchannel.Value {
	return s.valueOver(t, c, c.conn)
}

// valueOver opens one client's view over a session that a test has changed.
func (s hiddenSite) valueOver(t testing.TB, c *client, sess session.Conn) hiddenchannel.Value {
	t.Helper()
	v, err := s.open(testContext(t), c.handle.Through(sess), s.znode, s.mail)
	must(t, err)
	return v
}

type hiddenCheck = func(t *testing.T, s hiddenSite)

// hiddenChecks are what every variant must pass, on every ensemble.
var hiddenChecks = []check[hiddenCheck]{
	{"withdraws", hiddenWithdraws},
	{"finishes what it began", hiddenFinishesWhatItBegan},
	{"wants one writer", hiddenWantsOneWriter},
	{"honours a deadline of a silent server", hiddenHonoursADeadlineOfASilentServer},
}

func TestHiddenChannel(t *testing.T) { onEmbedded(t, checkHiddenChannels) }

// checkHiddenChannels runs every check on every variant, each with a value of its own, beside which no znode may be left.
func checkHiddenChannels(t *testing.T, at place) {
	checkAll(t, at, hiddenChecks, hiddenVariants, func(t *testing.T, v venue, do hiddenCheck, variant underTest[hiddenOpener]) {
		dir, keeper := directory(t, v), clients(t, v, 1)[0]
		must(t, keeper.session().Ensure(testContext(t), dir+"/value", []byte("0"), 0))
		do(t, hiddenSite{v, dir + "/value", hiddenchannel.NewMailbox(), variant.open})
		if left := children(t, keeper, dir); !slices.Equal(left, []string{"value"}) {
			t.Errorf("znodes %v, want the value alone", left)
		}
	})
}

func hiddenMustUpdate(t testing.TB, v hiddenchannel.Value, data string) {
	t.Helper()
	must(t, v.Update(testContext(t), []byte(data)))
}

// hiddenMustRead reads a value until it has the version of which the client has heard: its server may lag behind.
func hiddenMustRead(t testing.TB, v hiddenchannel.Value, version int64, want string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		r, err := v.Read(testContext(t))
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Version == version && string(r.Data) == want:
			return
		case r.Version >= version || time.Now().After(deadline):
			t.Fatalf("read %q, version %d, want %q, version %d", r.Data, r.Version, want, version)
		}
	}
}

// hiddenChanged waits for an update in the background.
func hiddenChanged(ctx context.Context, v hiddenchannel.Value) <-chan error {
	return background(func() error { return errorOf(v.Changed(ctx)) })
}

func hiddenMustBeTold(t testing.TB, done <-chan error) {
	t.Helper()
	if err := <-done; err != nil {
		t.Fatalf("Changed returned %v", err)
	}
}

// A reader that gives up waiting has missed nothing, and a writer that was not allowed to begin has changed nothing.
func hiddenWithdraws(t *testing.T, s hiddenSite) {
	cs := clients(t, s, 2)
	writer, reader := s.value(t, cs[0]), s.value(t, cs[1])
	hiddenMustRead(t, reader, 0, "0")
	ctx, cancel := context.WithCancel(testContext(t))
	waiting := hiddenChanged(ctx, reader)
	cancel()
	wantError(t, "a cancelled Changed", <-waiting, context.Canceled)
	wantError(t, "a cancelled Update", writer.Update(ctx, []byte("never")), context.Canceled)
	wantError(t, "a cancelled Read", errorOf(reader.Read(ctx)), context.Canceled)
	hiddenMustUpdate(t, writer, "1")
	hiddenMustBeTold(t, hiddenChanged(testContext(t), reader))
	hiddenMustRead(t, reader, 1, "1")
}

// A writer that is cancelled when it has begun updates, and the readers hear of it.
func hiddenFinishesWhatItBegan(t *testing.T, s hiddenSite) {
	cs := clients(t, s, 2)
	ctx, cancel := context.WithCancel(testContext(t))
	writer := s.valueOver(t, cs[0], hooked{cs[0].conn, func(op, _ string) {
		if op == "set" {
			cancel()
		}
	}})
	reader := s.value(t, cs[1])
	hiddenMustRead(t, reader, 0, "0")
	must(t, writer.Update(ctx, []byte("1")))
	hiddenMustBeTold(t, hiddenChanged(testContext(t), reader))
	hiddenMustRead(t, reader, 1, "1")
}

func hiddenWantsOneWriter(t *testing.T, s hiddenSite) {
	cs := clients(t, s, 2)
	one, other := s.value(t, cs[0]), s.value(t, cs[1])
	hiddenMustUpdate(t, one, "1")
	wantError(t, "a second writer", other.Update(testContext(t), []byte("2")), hiddenchannel.ErrOvertaken)
}

// A caller gets control back although the server does not answer, and an update that it did not learn of is still news.
func hiddenHonoursADeadlineOfASilentServer(t *testing.T, s hiddenSite) {
	frozen, cable := cabled(t, s, ensemble.SessionTimeout)
	other := s.value(t, clients(t, s, 1)[0])
	v := s.value(t, frozen)
	hiddenMustRead(t, v, 0, "0")
	hiddenMustUpdate(t, other, "1")
	cable.mustTimeOut(t, "Read", func(ctx context.Context) error { _, err := v.Read(ctx); return err })
	hiddenMustBeTold(t, hiddenChanged(testContext(t), v))
	hiddenMustRead(t, v, 1, "1")
	cable.mustTimeOut(t, "Update", func(ctx context.Context) error { return v.Update(ctx, []byte("2")) })
	hiddenMustUpdate(t, v, "3") // when the one before has been brought to an end
	hiddenMustRead(t, v, 3, "3")
}
