package runner_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/config"
	"github.com/zkbench/zkbench/variants/session"
)

// late is a connection to which the last znode of each update comes late: the first read of it returns the value before, and
// a watch that has fired.
type late struct {
	session.Conn

	mu   sync.Mutex
	seen string // the newest value
}

func (l *late) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := l.Conn.GetW(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	number, notNumber := strconv.Atoi(string(data))
	if err != nil || notNumber != nil || number == 0 || !strings.HasSuffix(path, "/m3") || l.seen == string(data) {
		return data, stat, watch, err
	}
	l.seen = string(data)
	fired := make(chan zk.Event, 1)
	fired <- zk.Event{Type: zk.EventNodeDataChanged, Path: path}
	close(fired)
	return strconv.AppendInt(nil, int64(number-1), 10), stat, fired, nil
}

// torn returns the recipe with a variant whose readers act on half of every update, and that forgoes these losses always.
func torn(always []variants.Loss) variants.Recipe {
	recipe := config.Recipe()
	v := recipe.Variants[slices.IndexFunc(recipe.Variants, func(v variants.Variant) bool { return v.Name == "unprotected" })]
	join := v.Join
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		env.Session = session.NewSession(&late{Conn: env.Session.Conn()}, env.Session.Lost())
		return join(ctx, env)
	}
	v.ForgoesAlways = always
	recipe.Variants = []variants.Variant{v}
	return recipe
}

// A loss without a failure is counted if the variant always forgoes it. Otherwise it breaks the promise.
func TestLossesWithoutFaults(t *testing.T) {
	t.Parallel()
	const readers, updates = 2, 5
	for _, tt := range []struct {
		name   string
		always []variants.Loss
		broken bool
	}{
		{"forgone always", []variants.Loss{variants.TornReads}, false},
		{"forgone in failures", nil, true},
		{"another one is forgone always", []variants.Loss{variants.Blocked}, true},
	} {
		s := closedOf("config", readers+1)
		s.Size, s.Operations = 3, updates
		d := measureInBubble(t, s, []variants.Recipe{torn(tt.always)})[0]
		if broken := len(d.Violations) > 0 && strings.Contains(d.Violations[0].Text, "torn"); broken != tt.broken {
			t.Errorf("%s: violations %v", tt.name, d.Violations)
		}
		n, counted := d.Losses[metric.TornReads]
		metric := d.Metrics[metric.TornReads]
		if counted == tt.broken || metric.Value != float64(n) || counted && n < readers {
			t.Errorf("%s: losses %v, torn-reads %v", tt.name, d.Losses, metric)
		}
	}
}
