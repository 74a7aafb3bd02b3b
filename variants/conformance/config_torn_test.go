package conformance_test

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants/config"
)

// A variant without protection tears the configuration, as its comment says, and is whole again after the next update.
func TestUnprotectedConfigIsTorn(t *testing.T) { onEmbedded(t, checkTornConfigs) }

func checkTornConfigs(t *testing.T, at place) {
	for _, c := range []check[configCheck]{
		{"between two writes", configIsTornBetweenTwoWrites},
		{"by a writer that dies", configIsTornByAWriterThatDies},
	} {
		at.run(t, c.name, func(t *testing.T, v venue) {
			c.do(t, v, configDirectory(t, v), unprotectedConfig.open)
		})
	}
}

// mustReadTorn reads a configuration, which must be this one.
func mustReadTorn(t *testing.T, c config.Configuration, want string) {
	t.Helper()
	values, err := c.Read(testContext(t))
	if got := fmt.Sprintf("%s", values); err != nil || got != want {
		t.Errorf("read %s (%v), want %s", got, err, want)
	}
}

// A reader is notified of the first znode of an update, and acts on it, before the writer comes to the third.
func configIsTornBetweenTwoWrites(t *testing.T, v venue, dir string, open configOpener) {
	cs := clients(t, v, 2)
	reader := open(cs[1].conn, dir, cs[1].monitor.Lost())
	mustRead(t, reader, "0")
	must(t, configUpdateHooked(testContext(t), cs[0], dir, open, func() {
		must(t, reader.Changed(testContext(t)))
		catchUp(t, cs[1], dir)
		mustReadTorn(t, reader, "[1 1 0]")
	}))
	must(t, reader.Changed(testContext(t)))
	mustRead(t, reader, "1")
}

// The successor of a writer that dies between two znodes makes the configuration whole.
func configIsTornByAWriterThatDies(t *testing.T, v venue, dir string, open configOpener) {
	dying := connect(t, v.Servers()[0], v.shortest, nil)
	if err := configUpdateHooked(testContext(t), dying, dir, open, dying.Close); err == nil {
		t.Fatal("the update of a writer that died succeeded: the test tests nothing")
	}
	cs := clients(t, v, 2)
	reader, successor := open(cs[0].conn, dir, cs[0].monitor.Lost()), open(cs[1].conn, dir, cs[1].monitor.Lost())
	catchUp(t, cs[0], dir)
	mustReadTorn(t, reader, "[1 1 0]")
	mustUpdate(t, successor, "2")
	catchUp(t, cs[0], dir)
	mustRead(t, reader, "2")
}
