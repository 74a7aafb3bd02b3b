package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// teller's values are numbers, or memberships: "round.client", with an apostrophe for each former life of the client.
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"enrolled": enrolled, "joining": joining, "joined": joined, "leaving": leaving, "left": left, "lost": lost,
			"following": following, "gained": gained, "dropped": dropped, "viewed": viewed, "settled": settled,
			"sessionlost": variants.SessionLost,
		},
		Verbatim: true,
		Value: func(t testing.TB, _ string, parts []string) int64 {
			round, client, ok := strings.Cut(parts[0], ".")
			if !ok {
				return variantstest.Number(t, parts[0])
			}
			number := strings.TrimRight(client, "'")
			return stamp(variantstest.Number(t, round), int(variantstest.Number(t, number)), len(client)-len(number))
		},
	}
}

func TestCheck(t *testing.T) {
	// Two clients, both of whom see both.
	const two = "0-1:enrolled:2 0:joining+joined:0.0 1:joining+joined:0.1 " +
		"0:gained:0.0 0:gained:0.1 0:viewed:2 1:gained:0.0 1:gained:0.1 1:viewed:2 "
	// Client 2 sees client 1, and not client 0.
	const overlooked = "0:enrolled:3 0:joining+joined:0.0 1:joining+joined:0.1 2:gained:0.1 2:viewed:1 "
	// Client 0 dies in round 1 and joins again, in round 0, while client 1 joins in round 1.
	const behind = two + "0:leaving+left:0.0 0:joining+joined:1.0 " +
		"1:dropped:0.0 1:gained:1.0 1:viewed:2 1:leaving+left:0.1 " +
		"0:died:0 0:rejoined:1 0:enrolled:2 0:joining:0.0' 1:joining+joined:1.1 1:dropped:0.1 1:dropped:1.0 1:gained:1.1 1:viewed:1 "
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"one who has joined again, and is behind", behind + "1:settled:1 1:gained:0.0' 1:viewed:2", ""},
		{
			"one who has joined again, and is seen again",
			behind + "1:gained:0.0' 0:joined+leaving:0.0' 1:dropped:0.0' 1:viewed+settled:1 1:gained:0.0' 1:viewed:2",
			"client 1 sees client 0 of round 0 again, whom it had seen leave",
		},
		{"both", two, ""},
		{"one leaves", two + "0:leaving+left:0.0 1:dropped:0.0 1:viewed:1", ""},
		{"one comes back", two + "0:leaving+left:0.0 0:joining+joined:1.0 1:dropped:0.0 1:gained:1.0 1:viewed:2", ""},
		{"a view that lags behind", two + "0:leaving+left:0.0 1:viewed:2", ""},
		{"seen before the reply to the create", "0:enrolled:2 0:joining:0.0 1:gained:0.0 1:viewed:1 0:joined:0.0", ""},
		{"not seen before a later one is", two + "2:joining+joined:0.2 0:viewed:2", ""},
		{"gone from a view while it leaves", two + "0:leaving:0.0 1:dropped:0.0 1:viewed:1 0:left:0.0", ""},
		{"a round", two + "0-1:settled:0", ""},
		{"a round, one of which has left since", two + "0:leaving:0.0 1:dropped:0.0 1:viewed:1 1:settled:0", ""},
		{"a phantom", two + "0:gained:0.7 0:viewed:3", "client 0 sees client 7 of round 0, who has never joined"},
		{"one who had left", two + "0:leaving+left:0.0 0:joining+joined:1.0 1:gained:1.0 1:viewed:3",
			"client 1 sees client 0 of round 0, who had left before client 0 of round 1 joined"},
		{"one who is seen again", two + "0:leaving+left:0.0 1:dropped:0.0 1:viewed:1 1:gained:0.0 1:viewed:2",
			"client 1 sees client 0 of round 0 again, whom it had seen leave"},
		{"one who is missing", "0:enrolled:3 0:joining+joined:0.0 1:joining+joined:0.1 2:gained:0.1 2:viewed:1",
			"client 2 does not see client 0 of round 0, who had joined before client 1 of round 0"},
		{"one who is missing to itself", "0:enrolled:1 0:joining+joined:0.0 0:viewed:0", "client 0 does not see itself"},
		{"one who is never seen", "0-1:enrolled:2 1:joining+joined+gained:0.1 1:viewed:1 1:settled:0",
			"client 1 has not seen client 0 of round 0 when the round ends"},
		{
			"one who is seen for ever", two + "0:leaving:0.0 0:joining:1.0 1:leaving:0.1 1:joining:1.1 0:gained:1.0 0:gained:1.1 0:dropped:0.0 0:settled:1",
			"client 0 still sees client 1 of round 0 when round 1 ends",
		},
		{"a death", two + "0:following:0 1:died:0 0:dropped:0.1 0:viewed:1", ""},
		{"a death that is never noticed", two + "0:following:0 1:died:0", "client 0 never noticed the loss of client 1 of round 0"},
		{"a death of one who has left", two + "0:leaving+left:0.0 0:died:0 1:dropped:0.0 1:viewed:1", ""},
		{"a client that joins again", two + "1:died:0 0:dropped:0.1 0:viewed:1 1:rejoined:1 1:enrolled:2 1:gained:0.0 1:viewed:1 1:joining+joined:0.1' " +
			"0:gained:0.1' 0:viewed:2 1:gained:0.1' 1:viewed:2 0-1:settled:0", ""},
		{"a former life that is seen again", two + "1:died:0 0:dropped:0.1 0:viewed:1 1:rejoined:1 1:enrolled:2 1:joining+joined:0.1' 0:gained:0.1 0:viewed:2",
			"client 0 sees client 1 of round 0 again, whom it had seen leave"},
		{"gone before its client knows", overlooked + "0:sessionlost:0", ""},
		{"one who joins again and is overlooked", overlooked + "0:sessionlost:0 0:rejoined:1 0:enrolled:3 0:joining+joined:0.0' 1:joining:1.1 2:gained:1.1 2:viewed:2",
			"client 2 does not see client 0 of round 0, who had joined before client 1 of round 1"},
		{"a loss that is noticed", two + "0:following:0 1:lost:0.1 0:dropped:0.1 0:viewed:1", ""},
		{"a loss that a client need not notice that has done all that it was going to do", two + "1:lost:0.1", ""},
		{"a loss that is never noticed", two + "0:following:0 1:lost:0.1", "client 0 never noticed the loss of client 1 of round 0"},
		{"a loss that is noticed before its client knows", overlooked + "0:lost:0.0", ""},
		{"one who is missing, and leaves later", overlooked + "0:leaving+left:0.0",
			"client 2 does not see client 0 of round 0, who had joined before client 1 of round 0"},
		{"one who is missing, and is seen later", overlooked + "2:gained:0.0 2:viewed:2",
			"client 2 does not see client 0 of round 0, who had joined before client 1 of round 0"},
		{
			"one who had left before one who was seen earlier joined", two + "2:joining+joined+leaving+left:0.2 " +
				"0:leaving+left:0.0 0:joining:1.0 1:dropped:0.0 1:gained:1.0 1:viewed:2 0:joined+leaving:1.0 1:dropped:1.0 1:viewed:1 1:gained:0.2 1:viewed:2",
			"client 1 sees client 2 of round 0, who had left before client 0 of round 1 joined",
		},
		{
			"one of a round that all have seen through", two + "0:leaving+left:0.0 0:joining+joined:1.0 0:dropped:0.0 0:gained:1.0 0:viewed:2 " +
				"1:dropped:0.0 1:gained:1.0 1:leaving+left:0.1 1:joining+joined:1.1 1:dropped:0.1 1:gained:1.1 1:viewed:2 1:settled:1 " +
				"0:dropped:0.1 0:gained:1.1 0:viewed:2 0:settled:1 0:gained:0.0 0:viewed:3",
			"client 0 sees client 0 of round 0 again, whom it had seen leave | client 0 sees client 0 of round 0, who had left before client 1 of round 1 joined",
		},
	})
}

func TestSpans(t *testing.T) {
	teller().Intervals(t, Recipe(), []variantstest.Case{{
		"client 0 joins, client 1 joins, and client 0 leaves",
		"0-1:enrolled:2 0:joining+joined+gained:0.0 0:viewed:1 " + // 3 to 6
			"0:following:0 1:joining:0.1 0:gained:0.1 0:viewed:2 1:joined:0.1 1:gained:0.0 1:gained:0.1 1:viewed:2 " + // 7 to 14
			"1:following:0 0:leaving+left:0.0 1:dropped:0.0 1:viewed:1 0:dropped:0.0 0:viewed:1", // 15 to 21
		"join(0)=3-4 join(1)=8-11 leave(0)=16-17 follow(0)=7-10 follow(1)=15-19 " +
			"converge(0)=3-12 converge(1)=8-13 converge(0)=16-18",
	}, {
		"client 1 dies, and the others notice one after the other",
		"0:enrolled:3 1:joining:0.1 0:gained:0.1 2:gained:0.1 1:died:0 0:dropped:0.1 2:dropped:0.1", "notice(1)=5-7",
	}})
}

// Two clients leave and come back in turn.
func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		round, client := i/2, i%2
		story := fmt.Sprintf("%d:enrolled:2 ", client)
		if round > 0 {
			story = fmt.Sprintf("%[1]d:leaving+left:%[2]d.%[1]d 0-1:dropped+viewed:%[2]d.%[1]d ", client, round-1)
		}
		story += fmt.Sprintf("%[1]d:joining+joined:%[2]d.%[1]d ", client, round)
		if i == 1 { // client 1 could not see client 0 before
			story += "1:gained:0.0 "
		}
		story += fmt.Sprintf("0-1:gained+viewed:%[2]d.%[1]d ", client, round)
		if client == 1 {
			story += fmt.Sprintf("0-1:settled:%d", round)
		}
		return story
	})
}

func TestChanges(t *testing.T) {
	view := func(names ...string) View {
		var v View
		for _, name := range names {
			v = append(v, Member{Name: name})
		}
		return v
	}
	for _, tt := range []struct {
		name                       string
		earlier, now, joined, left View
	}{
		{"no members", nil, nil, nil, nil},
		{"the first", nil, view("a"), view("a"), nil},
		{"the last", view("a"), nil, nil, view("a")},
		{"no change", view("a", "b"), view("a", "b"), nil, nil},
		{"one for another", view("a", "b"), view("b", "c"), view("c"), view("a")},
	} {
		names := func(v View) string { return fmt.Sprint(v) }
		joined, left := tt.now.Changes(tt.earlier)
		if names(joined) != names(tt.joined) || names(left) != names(tt.left) {
			t.Errorf("%s: joined %s, left %s, want %s and %s", tt.name, joined, left, tt.joined, tt.left)
		}
	}
}

// flaky is a session that has one member, whose data is read at the second attempt, on another connection, and on which no watch ever fires.
type flaky struct {
	session.Conn
	monitor         *session.Monitor
	listings, reads int
}

func (f *flaky) ChildrenW(string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	f.listings++
	return []string{"guid" + marker + "0000000000"}, nil, make(chan zk.Event), nil
}

func (f *flaky) Get(string) ([]byte, *zk.Stat, error) {
	if f.reads++; f.reads == 1 {
		f.monitor.Observe(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
		f.monitor.Observe(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
		return nil, nil, zk.ErrConnectionClosed
	}
	return []byte("a"), nil, nil
}

// A watch that was set before an outage is not waited for.
func TestNoWatchIsTrustedAcrossAnOutage(t *testing.T) {
	f := &flaky{monitor: session.NewMonitor(time.Hour)}
	g := DiffCache(session.NewMonitoredSession(f, f.monitor), "/group")
	for range 2 {
		if view, err := g.View(t.Context()); err != nil || len(view) != 1 {
			t.Fatalf("view %v, %v", view, err)
		}
		if f.listings == 1 {
			if err := g.Changed(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f.listings != 2 || f.reads != 2 {
		t.Errorf("%d listings and %d reads, want 2 of each", f.listings, f.reads)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Changed(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Changed returned %v, although nothing has", err)
	}
}
