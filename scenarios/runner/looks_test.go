package runner_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/observe"
	"github.com/zkbench/zkbench/variants/catalog"
)

// tapped is an ensemble whose connections an observer sees, as through a proxy, also in virtual time.
type tapped struct {
	ensemble.Ensemble
	observer *observe.Observer
	epoch    time.Time
}

func (o tapped) Servers() []ensemble.Server {
	servers := slices.Clone(o.Ensemble.Servers())
	for i := range servers {
		servers[i].Dialer = tappingDialer{servers[i], o}
	}
	return servers
}

type tappingDialer struct {
	server ensemble.Server
	tapped
}

func (d tappingDialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := d.server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConn{conn, wire.NewTapped(d.epoch, d.observer).Tapped()}, nil
}

type tappedConn struct {
	net.Conn
	copied *wire.Tapped
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.copied.Sent(p)
	return c.Conn.Write(p)
}

func (c *tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.copied.Received(p[:n])
	return n, err
}

func (c *tappedConn) Close() error {
	c.copied.End()
	return c.Conn.Close()
}

// acceptedLooks has what observe may say about the traffic of a recipe's variants, apart from the recipe itself and its variants.
var acceptedLooks = map[string]map[string]string{
	"election": {
		"lock/znode":             "names election/master-znode as what looks the same: leaders that resign release",
		"lock/predecessor-watch": "names election/predecessor-watch as what looks the same",
		"lock/released-mark":     "names election/resigned-mark as what looks the same",
	},
	"queue": {
		"lock/predecessor-watch":  "the tickets of queue-wide-lock are a lock",
		"blockingqueue":           "the consumers watch the list, as those that wait do",
		"blockingqueue/all-watch": "all consumers watch the list",
	},
	"blockingqueue": {
		"queue":                  "the consumers do not watch the list, but poll, or wait for their ticket",
		"lock/predecessor-watch": "the tickets are a lock of the consumers",
		"lock/released-mark":     "the tickets are a lock of the consumers",
	},
	"priorityqueue": {"lock/released-mark": "the tickets of marked-ticket are a lock of the takers"},
	"enqueue":       {"queue": "what is enqueued is taken from a queue"},
	"configread":    {"config": "the readers watch the version of a configuration"},
	"hiddenchannel": {"config": "the readers watch a value"},
	"masterworker":  {"blockingqueue": "the tasks that wait for the master are a queue with one consumer"},
}

// What observe says of the traffic of each variant is its recipe, or one that was accepted, or nothing.
func TestLooksNameTheRecipe(t *testing.T) {
	var table strings.Builder
	named := map[string]bool{}
	for _, r := range catalog.Recipes() {
		for _, v := range r.Variants {
			t.Run(r.Name+"/"+v.Name, func(t *testing.T) {
				words := ""
				for _, l := range looksOf(t, r.Name, v.Name) {
					recipe, _, _ := strings.Cut(l.Variant, "/")
					if recipe != r.Name && acceptedLooks[r.Name][l.Variant] == "" {
						t.Errorf("looks like %s", l)
					}
					named[r.Name] = named[r.Name] || recipe == r.Name || strings.HasPrefix(l.Equal, r.Name)
					words += " " + l.Variant
				}
				fmt.Fprintf(&table, "%-45s %s\n", r.Name+"/"+v.Name, cmp.Or(words, " nothing"))
			})
		}
	}
	t.Logf("%d of %d recipes are named:\n%s", len(slices.DeleteFunc(slices.Collect(maps.Keys(named)), func(r string) bool { return !named[r] })),
		len(catalog.Recipes()), table.String())
}

// looksOf returns what observe says about clients of a variant, apart from the sessions and znodes by which zkbench measures.
func looksOf(t *testing.T, recipe, variant string) (looks []observe.Look) {
	t.Helper()
	s := closedOf(recipe, 6, variant)
	s.Operations, s.Hold = 40, 5*time.Millisecond
	bubbleOn(t, paced, func(t *testing.T, e *embedded.Ensemble) {
		epoch := time.Now()
		o := observe.New(epoch, results.Environment{ZooKeeper: "3.9.3"})
		mustMeasure(t, tapped{e, o, epoch}, s, catalog.Recipes())
		time.Sleep(10 * time.Second)
		for _, l := range o.Report().Looks {
			if !slices.Contains(looks, l) && !strings.Contains(l.Path, "-floor-") {
				looks = append(looks, l)
			}
		}
	})
	return looks
}
