package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/config"
)

// configSize is of how many znodes the configurations here are.
const configSize = 3

// configOpener makes one client's view of a configuration, in one variant.
type configOpener func(s variants.Conn, dir string, lost <-chan struct{}) config.Configuration

// configVariants are the variants under test whose configurations are never torn, by name.
var configVariants = []underTest[configOpener]{
	{"invalid-flag", func(s variants.Conn, dir string, lost <-chan struct{}) config.Configuration {
		return config.NewInvalidFlag(variants.NewSession(s, lost), dir, configSize)
	}},
	{"read-through", func(s variants.Conn, dir string, lost <-chan struct{}) config.Configuration {
		return config.NewReadThrough(variants.NewSession(s, lost), dir, configSize)
	}},
	{"watched-cache", func(s variants.Conn, dir string, lost <-chan struct{}) config.Configuration {
		return config.NewWatchedCache(variants.NewSession(s, lost), dir, configSize)
	}},
}

// unprotectedConfig is the variant that does not promise whole configurations.
var unprotectedConfig = underTest[configOpener]{"unprotected", func(s variants.Conn, dir string, lost <-chan struct{}) config.Configuration {
	return config.NewUnprotected(variants.NewSession(s, lost), dir, configSize)
}}

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
	{"survives a writer that dies", configSurvivesAWriterThatDies},
	{"survives a writer whose session expires", configSurvivesAWriterWhoseSessionExpires},
}

// configChecks are what every variant must pass, on every ensemble.
var configChecks = []check[configCheck]{
	{"withdraws", configWithdraws},
	{"changes nothing if there is nothing to write", configChangesNothingIfThereIsNothingToWrite},
	{"finishes what it began", configFinishesWhatItBegan},
	{"reports a lost session", configReportsALostSession},
	{"survives a reader that dies", configSurvivesAReaderThatDies},
	{"recovers a lost reply", configRecoversALostReply},
	{"recovers a lost request", configRecoversALostRequest},
}

func TestConfig(t *testing.T) { onEmbedded(t, checkConfigs) }

// checkConfigs runs every check on every variant, each in a directory of its own that has the configuration "0".
func checkConfigs(t *testing.T, at place) {
	run := func(t *testing.T, v venue, do configCheck, variant underTest[configOpener]) {
		do(t, v, configDirectory(t, v), variant.open)
	}
	checkAll(t, at, wholeChecks, configVariants, run)
	checkAll(t, at, configChecks, allConfigs(), run)
	t.Run("keeps its promise", func(t *testing.T) { keepsItsPromise(t, at, config.Recipe(), 6, 15) })
	t.Run("keeps its promise to readers", func(t *testing.T) { keepsItsPromise(t, at, config.ReadRecipe(), 6, 15) })
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
	if err != nil {
		t.Fatal(err)
	}
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

// The check above must be able to fail: a reader that cannot tell which transaction wrote a value mixes two updates, and
// the recipe's check says so.
func TestReaderThatCannotTellUpdatesApartTearsTheConfiguration(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		recipe := config.ReadRecipe()
		for _, variant := range recipe.Variants {
			c := clients(t, v, 1)[0]
			env := variants.Env{Clients: 2, Index: 1, Root: directory(t, v), Session: c.session()}
			must(t, variant.Prepare(t.Context(), env))
			log := variants.NewLog(time.Now(), env.Index)
			env.Record, env.Session = log.Record, c.handle.Through(unseeing{c.conn, &sync.Once{}})
			must(t, errorOf(variant.Join(t.Context(), env))) // a reader, which reads at once
			violations := recipe.Violations(log.Take(nil))
			if len(violations) == 0 || !strings.Contains(violations[0].Text, "torn") {
				t.Errorf("%s: violations %v, want a torn configuration", variant.Name, violations)
			}
		}
	})
}

// unseeing is a session to which all transactions are the same, and in which the configuration changes before the second
// of its znodes is read for the first time.
type unseeing struct {
	*zk.Conn
	meddle *sync.Once
}

func (u unseeing) Get(path string) ([]byte, *zk.Stat, error) {
	if dir, ok := strings.CutSuffix(path, "/m2"); ok {
		u.meddle.Do(func() {
			for _, name := range []string{"/m1", "/m2", "/m3"} {
				_, _ = u.Set(dir+name, []byte("1"), -1)
			}
		})
	}
	data, stat, err := u.Conn.Get(path)
	return data, sameTransaction(stat), err
}

func (u unseeing) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := u.Conn.GetW(path)
	return data, sameTransaction(stat), watch, err
}

func sameTransaction(stat *zk.Stat) *zk.Stat {
	if stat != nil {
		stat.Mzxid = 1
	}
	return stat
}

// What somebody has written who does not know how is not acted on, by those who can tell, until the next update.
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

// Whoever waits for a change is told, reads the new values, and is told of the next one, too.
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
	ctx, cancel := context.WithCancel(testContext(t))
	var wait sync.WaitGroup
	wait.Go(func() {
		wantError(t, "a cancelled Changed", reader.Changed(ctx), context.Canceled)
	})
	awaitWaiting(t, cs[1])
	cancel()
	wait.Wait()
	mustRead(t, reader, "0")
	mustUpdate(t, writer, "1")
	if err := reader.Changed(testContext(t)); err != nil {
		t.Error(err)
	}
	catchUp(t, cs[1], dir) // with all of the update
	mustRead(t, reader, "1")
	if _, err := reader.Read(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Read after its context ended returned %v", err)
	}
	wantError(t, "Update after its context ended", writer.Update(ctx, nil), context.Canceled)
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

// A writer that closes its session between two writes tears nothing, and its successor puts everything right. Readers
// may have to wait for that.
func configSurvivesAWriterThatDies(t *testing.T, v venue, dir string, open configOpener) {
	dying := connect(t, v.Servers()[0], v.shortest, nil)
	configSurvives(t, v, dir, open, dying, dying.Close)
}

// The same with a session that expires because its client is cut off. Closing it is then up to the monitor.
func configSurvivesAWriterWhoseSessionExpires(t *testing.T, v venue, dir string, open configOpener) {
	dying, cable := cabled(t, v, v.shortest)
	configSurvives(t, v, dir, open, dying, func() { cable.unplug(); <-dying.monitor.Lost() })
}

func configSurvives(t *testing.T, v venue, dir string, open configOpener, dying *client, die func()) {
	t.Helper()
	var once sync.Once
	err := configUpdateHooked(testContext(t), dying, dir, open, func() { once.Do(die) })
	if err == nil {
		t.Fatal("the update of a writer that died succeeded: the test tests nothing")
	}
	cs := clients(t, v, 2)
	reader, successor := open(cs[0].conn, dir, cs[0].monitor.Lost()), open(cs[1].conn, dir, cs[1].monitor.Lost())
	read := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(read)
		values, err := reader.Read(testContext(t))
		if err != nil || string(values[0]) != string(values[configSize-1]) {
			t.Errorf("read %s (%v), want a whole configuration", values, err)
		}
	})
	for waiting := true; waiting; { // the reader has read, or waits for the flag to go
		select {
		case <-read:
			waiting = false
		case <-time.After(time.Millisecond):
			waiting = !cs[0].ledger.Idle()
		}
	}
	mustUpdate(t, successor, "2")
	wait.Wait()
	mustNotBeInvalid(t, cs[1], dir)
	catchUp(t, cs[0], dir)
	mustRead(t, reader, "2")
}

// Readers that wait for a change, and writers, are told that their session is lost.
func configReportsALostSession(t *testing.T, v venue, dir string, open configOpener) {
	cut, cable := cabled(t, v, v.shortest)
	c := open(cut.conn, dir, cut.monitor.Lost())
	mustRead(t, c, "0")
	waited := background(func() error { return c.Changed(testContext(t)) })
	awaitWaiting(t, cut)
	cable.unplug()
	wantError(t, "Changed", await(t, "the reader was not told that its session is lost", waited), variants.ErrSessionLost)
	wantError(t, "Read", errorOf(c.Read(testContext(t))), variants.ErrSessionLost)
	err := c.Update(testContext(t), func(context.Context) ([][]byte, error) { return configOf("1"), nil })
	if !errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("Update returned %v, want ErrSessionLost", err)
	}
}

// A reader that dies while it waits is nobody else's business.
func configSurvivesAReaderThatDies(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 3)
	writer, dying, other := open(cs[0].conn, dir, cs[0].monitor.Lost()), open(cs[1].conn, dir, cs[1].monitor.Lost()), open(cs[2].conn, dir, cs[2].monitor.Lost())
	mustRead(t, dying, "0")
	mustRead(t, other, "0")
	ctx, cancel := context.WithCancel(testContext(t))
	var wait sync.WaitGroup
	wait.Go(func() { _ = dying.Changed(ctx) })
	wait.Go(func() {
		if err := other.Changed(testContext(t)); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, cs[1], cs[2])
	cs[1].Close()
	mustUpdate(t, writer, "1")
	cancel()
	wait.Wait()
	catchUp(t, cs[2], dir) // with all of the update
	mustRead(t, other, "1")
}

// The connection is cut around the first write of an update, which takes effect all the same, and leaves nothing behind.
func configRecoversALostReply(t *testing.T, v venue, dir string, open configOpener) {
	configRecovers(t, v, dir, open, dropReply)
}

func configRecoversALostRequest(t *testing.T, v venue, dir string, open configOpener) {
	configRecovers(t, v, dir, open, dropRequest)
}

func configRecovers(t *testing.T, v venue, dir string, open configOpener, fault fault) {
	t.Helper()
	c, cutter := cutting(t, v, fault)
	cutter.sets = true
	writer := open(c.conn, dir, c.monitor.Lost())
	cutter.arm()
	mustUpdate(t, writer, "1")
	cutter.mustHaveCutOnce(t, c)
	other := clients(t, v, 1)[0]
	mustNotBeInvalid(t, other, dir)
	mustRead(t, open(other.conn, dir, other.monitor.Lost()), "1")

	// A writer whose create was lost, and which then has nothing to write, takes its own flag down.
	cutter.arm()
	broken := errors.New("broken")
	err := writer.Update(testContext(t), func(context.Context) ([][]byte, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("Update returned %v, want %v", err, broken)
	}
	mustNotBeInvalid(t, other, dir)
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

// unnotified is a session whose watches never fire.
type unnotified struct{ *zk.Conn }

func (u unnotified) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, _, err := u.Conn.GetW(path)
	return data, stat, make(chan zk.Event), err
}

// A cache that is never refreshed is caught, once no server can be so far behind.
func TestCacheThatIsNeverRefreshedBreaksThePromise(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		recipe, cs := config.ReadRecipe(), clients(t, v, 2)
		c := newCompany(t.Context(), variantOf(recipe, "watched-cache"), variants.Env{Clients: 2, Root: directory(t, v)})
		c.prepare(t, cs[0])
		c.join(t, cs[0].conn, cs[0].monitor.Lost())
		c.join(t, unnotified{cs[1].conn}, cs[1].monitor.Lost())
		for range 5 {
			for _, p := range c.members {
				must(t, p.Step(testContext(t)))
			}
		}
		mustBreak(t, recipe, slowed(c.history()), "acted on configuration 0, more than 20s after")
	})
}
