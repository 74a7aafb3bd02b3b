package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/faults"
)

// schedule parses faults that are separated by semicolons.
func schedule(t testing.TB, text string) []faults.Fault {
	t.Helper()
	var out []faults.Fault
	for one := range strings.SplitSeq(text, "; ") {
		f, err := faults.Parse(one)
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		out = append(out, f)
	}
	return out
}

// terms describes a lock with four clients, a window of 10 s and a session timeout of 4 s.
func terms() faults.Terms {
	return faults.Terms{
		Window: 10 * time.Second, SessionTimeout: 4 * time.Second,
		Clients: 4, Roles: []string{"owner"}, Holds: true, Asks: true,
	}
}

func operations(t *faults.Terms) { t.Window = 0 }
func lossIsWanted(t *faults.Terms) {
	t.QuorumLoss = true
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, schedule string
		change         func(*faults.Terms)
		want           string // the index and the text of each problem
	}{
		{"nothing overlaps", "kill: leader, at: 2s, for: 3s; pause: follower, every: 6s, for: 1s; cut: any, after: create, every: 500ms", nil, ""},
		{"every client fault", "expire: all, at: 1s; cut: holder, at: 1s; stop: owner, at: 1s; deaf: waiter, at: 1s; stop: client 3, at: 2s; stop: idle, at: 2s", nil, ""},
		{"to the last moment", "kill: zoo3, at: 7s, for: 3s", nil, ""},

		{"a word for clients", "kill: holder, at: 1s", nil, `0 kill wants leader, follower, any, zoo1, zoo2 or zoo3, not "holder"`},
		{"no such server", "pause: zoo4, at: 1s", nil, `0 pause wants leader, follower, any, zoo1, zoo2 or zoo3, not "zoo4"`},
		{"a server is not a client", "cut: leader, at: 1s", nil, `0 cut wants any, all, holder, waiter, idle, client 0 or owner, not "leader"`},
		{"not all at once", "stop: all, at: 1s", nil, `0 stop wants any, holder, waiter, idle, client 0 or owner, not "all"`},
		{"no such role", "stop: master, at: 1s", nil, `0 stop wants any, holder, waiter, idle, client 0 or owner, not "master"`},
		{"no such client", "cut: client 4, at: 1s", nil, "0 there is no client 4: the smallest measurement has 4, numbered from 0 on"},
		{"no holder", "cut: holder, at: 1s", func(t *faults.Terms) { t.Holds = false }, "0 there is no holder: no client of the recipe holds"},
		{"no second life", "stop: client 1, at: 1s", func(t *faults.Terms) { t.Fixed = true }, "0 it ends a session, and no client of the recipe can join again"},
		{"a server that is away for longer than a session", "kill: any, at: 1s, for: 4s", func(t *faults.Terms) { t.Fixed = true },
			"0 the sessions of the server's clients end after 4s, and no client of the recipe can join again: choose a shorter for, or roam, or a longer session-timeout"},
		{"a server that does not come back", "kill: any, at: 1s", func(t *faults.Terms) { t.Fixed = true },
			"0 the sessions of the server's clients end after 4s, and no client of the recipe can join again: choose a shorter for, or roam, or a longer session-timeout"},
		{"a server that is away for a moment", "kill: any, at: 1s, for: 2s", func(t *faults.Terms) { t.Fixed = true }, ""},
		{"clients that connect to another server", "kill: any, at: 1s, for: 4s", func(t *faults.Terms) { t.Fixed, t.Roam = true, true }, ""},
		{"a cut leaves the session", "cut: any, at: 1s", func(t *faults.Terms) { t.Fixed = true }, ""},
		{"nothing to ignore, by a client with a number", "deaf: client 1, at: 1s", func(t *faults.Terms) { t.Asks = false }, "0 no client of the recipe asks another one, so that none can ignore it"},
		{"nothing to ignore", "deaf: any, at: 1s", func(t *faults.Terms) { t.Asks = false }, "0 no client of the recipe asks another one, so that none can ignore it"},

		{"after the end", "cut: any, at: 1s; cut: any, at: 10s", nil, "1 happens first at 10s, but the window ends at 10s"},
		{"first after every", "cut: any, every: 11s", nil, "0 happens first at 11s, but the window ends at 10s"},
		{"lasts too long", "kill: any, at: 8s, for: 3s", nil, "0 lasts from 8s to 11s, but the window ends at 10s; without for, it lasts to the end"},
		{"no end to be after", "kill: any, at: 8h, for: 3s; stop: any, at: 3h", operations, ""},
		{"a death that is not seen", "stop: any, at: 6s", nil, "0 the session of the client that stops at 6s ends at about 10s, but the window ends at 10s: nothing would be seen of it"},

		{"the same server twice", "kill: zoo1, at: 1s, for: 3s; pause: zoo1, at: 4s, for: 1s", nil, "1 at 4s zoo1 is still down, by `kill: zoo1, at: 1s, for: 3s`"},
		{"one after the other", "kill: zoo1, at: 1s, for: 3s; pause: zoo1, at: 5s, for: 1s", nil, ""},
		{"perhaps the same server", "kill: leader, at: 1s, for: 3s; pause: zoo1, at: 2s, for: 1s", nil, "1 at 2s zoo1 may still be down, by `kill: leader, at: 1s, for: 3s`"},
		{"another server is found", "kill: zoo1, at: 1s, for: 3s; pause: follower, at: 2s, for: 1s", nil, ""},
		{"at a later occurrence", "kill: zoo1, every: 4s, for: 1s; pause: zoo1, at: 8s, for: 1s", nil, "1 at 8s zoo1 is still down, by `kill: zoo1, every: 4s, for: 1s`"},

		{"no quorum", "kill: zoo1, at: 1s, for: 8s; kill: zoo2, at: 2s, for: 5s", nil,
			"1 from 2s to 7s at most one of the 3 servers works: 5s without a quorum, longer than the session timeout of 4s, so that every session ends; quorum-loss: true allows it"},
		{"that is wanted", "kill: zoo1, at: 1s, for: 8s; kill: zoo2, at: 2s, for: 5s", lossIsWanted, ""},
		{"sessions outlive it", "kill: zoo1, at: 1s, for: 8s; kill: zoo2, at: 2s, for: 4s", nil, ""},
		{"to the end of the window", "kill: any, at: 1s; partition: any, at: 5s", nil,
			"1 from 5s to 10s at most one of the 3 servers works: 5s without a quorum, longer than the session timeout of 4s, so that every session ends; quorum-loss: true allows it"},
		{"to no known end", "kill: any, at: 1s; partition: any, at: 5s", operations,
			"1 from 5s on at most one of the 3 servers works: no quorum to the end of the measurement, longer than the session timeout of 4s, so that every session ends; quorum-loss: true allows it"},
		// From 2 s to 6 s zoo1 and zoo2 are down, and zoo3 is killed at the moment at which zoo1 comes back.
		{"one ends as another begins", "kill: zoo1, at: 1s, for: 5s; kill: zoo2, at: 2s, for: 7s; kill: zoo3, at: 6s, for: 1s", lossIsWanted, ""},
		{"and counts as one loss", "kill: zoo1, at: 1s, for: 5s; kill: zoo2, at: 2s, for: 7s; kill: zoo3, at: 6s, for: 1s", nil,
			"1 from 2s to 7s at most one of the 3 servers works: 5s without a quorum, longer than the session timeout of 4s, so that every session ends; quorum-loss: true allows it"},
		{"no leader without a quorum", "kill: zoo1, at: 1s, for: 3s; kill: zoo2, at: 1s, for: 3s; pause: leader, at: 2s, for: 1s", nil,
			"2 at 2s there is no leader: 2 of the 3 servers are down, and the others have no quorum"},
		{"no server left", "kill: any, at: 1s, for: 3s; kill: any, at: 1s, for: 3s; kill: any, at: 1s, for: 3s; kill: any, at: 2s, for: 1s", nil,
			"3 at 2s no server is left: all of them are down"},
		{"every one down until the next", "kill: any, every: 3s, for: 2s; pause: any, every: 2s, for: 1s", operations, ""},

		{"no client left to stop", "stop: any, every: 1s", nil, "0 at 5s no client is left to stop: the smallest measurement has 4, and the session of a client that stops ends after 4s"},
		{"clients come back", "stop: any, every: 2s", nil, ""},
		{"clients come back for ever", "stop: any, every: 2s", operations, ""},
		{"still dead", "stop: client 1, at: 1s; stop: client 1, at: 4s", nil, "1 at 4s client 1 is still dead: the session of a client that stops ends after 4s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terms := terms()
			if tt.change != nil {
				tt.change(&terms)
			}
			var got []string
			for _, p := range faults.Check(schedule(t, tt.schedule), terms) {
				got = append(got, fmt.Sprint(p.Index, " ", p.Text))
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("%s\n got: %s\nwant: %s", tt.schedule, text, tt.want)
			}
		})
	}
}

func TestTooManyFaults(t *testing.T) {
	many := make([]faults.Fault, 21)
	if got := faults.Check(many, terms()); len(got) != 1 || got[0].Index != 20 || !strings.Contains(got[0].Text, "at most 20") {
		t.Errorf("got %v", got)
	}
}

func TestUnable(t *testing.T) {
	embedded := faults.Ability{Engine: "embedded", Kinds: faults.ClientKinds()}
	processes := faults.Ability{Engine: "process", Kinds: append([]faults.Kind{faults.Kill, faults.Pause}, faults.ClientKinds()...), Servers: faults.Servers()[:2],
		MinSessionTimeout: 4 * time.Second, MaxSessionTimeout: 40 * time.Second}
	for _, tt := range []struct {
		schedule string
		timeout  time.Duration
		can      faults.Ability
		want     string
	}{
		{"cut: any, at: 1s; stop: any, at: 1s", time.Second, embedded, ""},
		{"kill: leader, at: 1s; pause: zoo2, at: 1s; deaf: any, at: 1s", 4 * time.Second, processes, ""},
		{"cut: any, at: 1s; kill: leader, at: 1s", 4 * time.Second, embedded,
			"`kill: leader, at: 1s`: the servers of engine embedded cannot fail this way (possible: expire, cut, stop and deaf); those of containers and processes can"},
		{"partition: zoo2, at: 1s", 4 * time.Second, processes,
			"`partition: zoo2, at: 1s`: the servers of engine process cannot fail this way (possible: kill, pause, expire, cut, stop and deaf); those of containers can"},
		{"kill: zoo3, at: 1s", 4 * time.Second, processes, "`kill: zoo3, at: 1s`: there is no server zoo3, but zoo1 and zoo2"},
		{"stop: any, at: 1s", 4 * time.Second, faults.Ability{Engine: "old", Kinds: []faults.Kind{faults.Cut}}, "`stop: any, at: 1s`: engine old has no such fault (possible: cut)"},
		{"cut: any, at: 1s", 3 * time.Second, processes,
			"session-timeout: engine process grants at least 4s, not 3s: servers count in ticks, and a session lives for at least 2 of them"},
		{"cut: any, at: 1s", time.Minute, processes,
			"session-timeout: engine process grants at most 40s, not 1m: servers count in ticks, and a session lives for at most 20 of them"},
	} {
		err := faults.Unable(schedule(t, tt.schedule), tt.timeout, tt.can)
		if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%s on %s: got %v, want %s", tt.schedule, tt.can.Engine, err, tt.want)
		}
	}
}
