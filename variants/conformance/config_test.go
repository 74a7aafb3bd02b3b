package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/config"
	"github.com/zkbench/zkbench/variants/session"
)

// configSize is the number of znodes of the configurations here.
const configSize = 3

type configOpener func(s session.Conn, dir string, lost <-chan struct{}) config.Configuration

// configBy makes an opener of a constructor.
func configBy[C config.Configuration](construct func(s *session.Session, dir string, znodes int) C) configOpener {
	return func(s session.Conn, dir string, lost <-chan struct{}) config.Configuration {
		return construct(session.NewSession(s, lost), dir, configSize)
	}
}

// configVariants are the variants under test whose configurations are never torn, by name.
var configVariants = []underTest[configOpener]{
	{"invalid-flag", configBy(config.NewInvalidFlag)},
	{"read-through", configBy(config.NewReadThrough)},
	{"watched-cache", configBy(config.NewWatchedCache)},
}

// unprotectedConfig is the variant that does not promise whole configurations.
var unprotectedConfig = underTest[configOpener]{"unprotected", configBy(config.NewUnprotected)}

// allConfigs are the variants under test, also the one that tears configurations.
func allConfigs() []underTest[configOpener] {
	return append(slices.Clone(configVariants), unprotectedConfig)
}

type configCheck = func(t *testing.T, v venue, dir string, open configOpener)

// wholeChecks are what every variant must pass that promises whole configurations, on every ensemble.
var wholeChecks = []check[configCheck]{
	{"survives an update between two reads", configSurvivesAnUpdateBetweenTwoReads},
	{"notices a foreign write", configNoticesAForeignWrite},
	{"tells of changes", configTellsOfChanges},
}

// configChecks are what every variant must pass, on every ensemble.
var configChecks = []check[configCheck]{
	{"withdraws", configWithdraws},
	{"changes nothing if there is nothing to write", configChangesNothingIfThereIsNothingToWrite},
	{"finishes what it began", configFinishesWhatItBegan},
}

func TestConfig(t *testing.T) { onEmbedded(t, checkConfigs) }

// checkConfigs runs every check on every variant, each in a directory of its own that has the configuration "0".
func checkConfigs(t *testing.T, at place) {
	run := func(t *testing.T, v venue, do configCheck, variant underTest[configOpener]) {
		do(t, v, configDirectory(t, v), variant.open)
	}
	checkAll(t, at, wholeChecks, configVariants, run)
	checkAll(t, at, configChecks, allConfigs(), run)
}

// configDirectory returns a directory with the configuration "0".
func configDirectory(t *testing.T, v venue) string {
	t.Helper()
	dir := directory(t, v)
	must(t, config.Create(testContext(t), clients(t, v, 1)[0].session(), dir, configOf("0")))
	return dir
}

func configOf(value string) [][]byte {
	values := make([][]byte, configSize)
	for i := range values {
		values[i] = []byte(value)
	}
	return values
}

func mustUpdate(t testing.TB, c config.Configuration, value string) {
	t.Helper()
	must(t, c.Update(testContext(t), func(context.Context) ([][]byte, error) { return configOf(value), nil }))
}

// mustRead reads a configuration, which must be the one of this value.
func mustRead(t testing.TB, c config.Configuration, want string) {
	t.Helper()
	values, err := c.Read(testContext(t))
	must(t, err)
	for _, value := range values {
		if string(value) != want {
			t.Fatalf("read %s, want %s everywhere", values, want)
		}
	}
}

func mustNotBeInvalid(t testing.TB, c *client, dir string) {
	t.Helper()
	if slices.Contains(children(t, c, dir), "invalid") {
		t.Error("the flag is still up")
	}
}

// An update that takes place between two reads of one configuration does not tear it.
func configSurvivesAnUpdateBetweenTwoReads(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	writer := open(cs[0].conn, dir, cs[0].monitor.Lost())
	var once sync.Once
	meddle := func(op, path string) {
		if op == "get" && strings.HasSuffix(path, "/m2") {
			once.Do(func() {
				mustUpdate(t, writer, "1")
				catchUp(t, cs[1], dir)
			})
		}
	}
	reader := open(hooked{cs[1].conn, meddle}, dir, cs[1].monitor.Lost())
	mustRead(t, reader, "1")
}

// Variants that can detect it do not act on a write that is not an update, until the next update.
func configNoticesAForeignWrite(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	for i, name := range []string{"/m1", "/m2", "/m3"} {
		must(t, errorOf(cs[0].conn.Set(dir+name, []byte("foreign"), -1)))
		catchUp(t, cs[1], dir)
		reader := open(cs[1].conn, dir, cs[1].monitor.Lost())
		_, err := reader.Read(testContext(t))
		if _, flagged := reader.(*config.InvalidFlag); !flagged && !errors.Is(err, config.ErrForeign) {
			t.Errorf("Read after a foreign write to %s returned %v, want ErrForeign", name, err)
		}
		value := strconv.Itoa(i + 1)
		mustUpdate(t, open(cs[0].conn, dir, cs[0].monitor.Lost()), value)
		catchUp(t, cs[1], dir)
		mustRead(t, reader, value)
	}
}

// A client that waits for a change is notified, reads the new values, and is notified of the next one, too.
func configTellsOfChanges(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 4)
	writer := open(cs[0].conn, dir, cs[0].monitor.Lost())
	var readers []config.Configuration
	for _, c := range cs[1:] {
		r := open(c.conn, dir, c.monitor.Lost())
		mustRead(t, r, "0")
		readers = append(readers, r)
	}
	for _, value := range []string{"1", "2", "3"} {
		var wait sync.WaitGroup
		for _, r := range readers {
			wait.Go(func() {
				if err := r.Changed(testContext(t)); err != nil {
					t.Error(err)
				}
			})
		}
		awaitWaiting(t, cs[1:]...)
		mustUpdate(t, writer, value)
		wait.Wait()
		for _, r := range readers {
			mustRead(t, r, value)
			mustRead(t, r, value)
		}
	}
	mustNotBeInvalid(t, cs[0], dir)
}

// A reader that gives up waiting can read, and wait again.
func configWithdraws(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	writer, reader := open(cs[0].conn, dir, cs[0].monitor.Lost()), open(cs[1].conn, dir, cs[1].monitor.Lost())
	mustRead(t, reader, "0")
	gone := mustWithdraw(t, "Changed", cs[1], reader.Changed)
	mustRead(t, reader, "0")
	mustUpdate(t, writer, "1")
	if err := reader.Changed(testContext(t)); err != nil {
		t.Error(err)
	}
	catchUp(t, cs[1], dir) // with all of the update
	mustRead(t, reader, "1")
	if _, err := reader.Read(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Read after its context ended returned %v", err)
	}
	wantError(t, "Update after its context ended", writer.Update(gone, nil), context.Canceled)
}

// A writer that finds no values, is cancelled while it prepares them, or has the wrong number of them, leaves the
// configuration as it is, and readers read on.
func configChangesNothingIfThereIsNothingToWrite(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	writer, reader := open(cs[0].conn, dir, cs[0].monitor.Lost()), open(cs[1].conn, dir, cs[1].monitor.Lost())
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(testContext(t))
	for _, tt := range []struct {
		name    string
		prepare func(context.Context) ([][]byte, error)
		want    error // nil: any
	}{
		{"no values", func(context.Context) ([][]byte, error) { return nil, broken }, broken},
		{"too few", func(context.Context) ([][]byte, error) { return configOf("1")[:1], nil }, nil},
		{"cancelled", func(context.Context) ([][]byte, error) { cancel(); return configOf("1"), nil }, context.Canceled},
	} {
		err := writer.Update(ctx, tt.prepare)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: Update returned %v, want %v", tt.name, err, tt.want)
		}
		mustRead(t, reader, "0")
		mustNotBeInvalid(t, cs[1], dir)
	}
	mustUpdate(t, writer, "1")
}

// configUpdateHooked updates to "1" and calls back just before the last request that changes a value.
func configUpdateHooked(ctx context.Context, c *client, dir string, open configOpener, callback func()) error {
	writer := open(hooked{c.conn, func(op, path string) {
		if op == "multi" || op == "set" && strings.HasSuffix(path, "/m3") {
			callback()
		}
	}}, dir, c.monitor.Lost())
	return writer.Update(ctx, func(context.Context) ([][]byte, error) { return configOf("1"), nil })
}

// A writer that is cancelled in the middle of its writes completes them.
func configFinishesWhatItBegan(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	ctx, cancel := context.WithCancel(testContext(t))
	must(t, configUpdateHooked(ctx, cs[0], dir, open, cancel))
	mustNotBeInvalid(t, cs[1], dir)
	mustRead(t, open(cs[1].conn, dir, cs[1].monitor.Lost()), "1")
}

// An update that begins and ends while a reader is cut off is noticed by those that watch a version, and not by those
// that watch a flag, as the comment of the variant says.
func TestUpdateDuringAnOutage(t *testing.T) { onEmbedded(t, checkOutages) }

func checkOutages(t *testing.T, at place) {
	onEach(t, at, allConfigs(), func(t *testing.T, v venue, variant underTest[configOpener]) {
		dir, other := configDirectory(t, v), clients(t, v, 1)[0]
		cut, cable := cabled(t, v, ensemble.SessionTimeout)
		reader := variant.open(cut.conn, dir, cut.monitor.Lost())
		mustRead(t, reader, "0")
		cable.unplug()
		mustUpdate(t, variant.open(other.conn, dir, other.monitor.Lost()), "1")
		cable.replug()
		for range 10 { // which leaves time to set the watches again
			must(t, cut.session().Sync(testContext(t), dir))
		}
		if variant.name == "invalid-flag" {
			mustRead(t, reader, "0")
			mustUpdate(t, variant.open(other.conn, dir, other.monitor.Lost()), "1")
		}
		must(t, reader.Changed(testContext(t)))
		mustRead(t, reader, "1")
	})
}
