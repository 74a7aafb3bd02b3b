package revocable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// The events of teller are one second apart, and grace is given in seconds.
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Events: map[string]variants.EventKind{
			"agreed": agreed, "forcible": agreedForced, "requested": exclusion.Requested, "withdrew": exclusion.Withdrew, "acquired": exclusion.Acquired,
			"heeded": exclusion.Heeded, "releasing": exclusion.Releasing, "ousted": ousted, "released": exclusion.Released,
			"deposed": exclusion.Deposed,
		},
		Apart: time.Second,
		Value: func(t testing.TB, event string, parts []string) int64 {
			value := variantstest.Number(t, parts[0])
			if event == "agreed" || event == "forcible" {
				value *= int64(time.Second)
			}
			return value
		},
	}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"no client asks", "0:agreed:3 0:requested 0:acquired:1 - - - - 0:releasing 0:released", ""},
		{"gives up in time", "0:agreed:3 0:acquired:1 1:requested - 0:heeded 0:releasing 1:acquired:2 0:released 1:releasing 1:released", ""},
		{"was asked before it held", "0:agreed:3 0:requested 1:requested - - - - 0:acquired:1 - 0:releasing 1:acquired:2", ""},
		{"the client that asked has withdrawn", "0:agreed:3 0:acquired:1 1:requested 1:withdrew - - - - 0:releasing", ""},
		{"the first token may be anything", "0:agreed:3 0:acquired:-7 0:releasing 1:acquired:-6", ""},
		{"two at once", "0:agreed:3 0:acquired:1 1:acquired:2", "client 1 acquired the lock while client 0 held it"},
		{"two at once after the grace", "0:agreed:1 0:acquired:1 1:requested - - - 1:acquired:2", "client 1 acquired the lock while client 0 held it"},
		{"a token again", "0:agreed:3 0:acquired:1 0:releasing 0:released 1:acquired:1", "fencing token 1 after token 1"},
		{"gives up too late", "0:agreed:3 0:acquired:1 1:requested - - - 0:releasing", "client 0 held on for 4s after it was asked; the grace is 3s | no client holds the lock in the end"},
		{"never gives up", "0:agreed:3 0:acquired:1 1:requested - - - 2:requested", "client 0 held on for 4s after it was asked; the grace is 3s"},
		{"no client gets it", "0:agreed:3 0:acquired:1 1:requested 0:releasing 0:released", "no client holds the lock in the end, although 1 clients wait"},
		{"force after the grace", "0:forcible:3 0:acquired:1 1:requested - - 1:acquired:2 0:heeded 0:releasing 0:ousted 0:released 1:releasing", ""},
		{"force that is noticed at once", "0:forcible:3 0:acquired:1 1:requested - - 0:heeded 0:releasing 0:ousted 1:acquired:2 0:released", ""},
		{"force after the grace of one asked early", "0:forcible:3 1:requested 0:acquired:1 - - 1:acquired:2 0:releasing 0:ousted", ""},
		{"force too early", "0:forcible:3 0:acquired:1 1:requested - 1:acquired:2", "asked 2s before; the grace is 3s"},
		{"force too early for one asked early", "0:forcible:3 1:requested - - - 0:acquired:1 - 1:acquired:2", "asked 2s before; the grace is 3s"},
		{"force after a grace that began before the holder knew", "0:forcible:3 0:requested 1:requested - - 0:acquired:1 1:acquired:2 0:releasing 0:ousted", ""},
		{"force too early, whenever the holder knew", "0:forcible:3 0:acquired:1 1:requested 0:releasing 2:requested 1:acquired:2 2:acquired:3", "asked 2s before; the grace is 3s"},
		{"force too early that is noticed at once", "0:forcible:9 0:acquired:1 1:requested 0:releasing 0:ousted 1:acquired:2", "client 0 lost the lock to force 2s after it was asked"},
		{"force is not noticed", "0:forcible:1 0:acquired:1 1:requested 1:acquired:2 - - 0:releasing", "client 0 held on for 3s after the lock had been taken away"},
		{"force is not used", "0:forcible:1 0:acquired:1 1:requested - - - 0:releasing", "client 0 held on for 4s after it was asked | no client holds the lock in the end"},
		{"its session is lost", "0:agreed:3 0:acquired:1 1:requested 1:acquired:2 0:lost 0:deposed", ""},
		{"its session is lost, and it goes on", "0:agreed:3 0:acquired:1 1:requested 0:lost 1:acquired:2 0:releasing", "client 0 went on holding the lock after it could know that its session was lost, while client 1 held it"},
		{"dies", "0:agreed:3 0:acquired:1 1:requested 0:died - - - - 1:acquired:2", ""},
		{"dies, and the lock with it", "0:agreed:3 0:acquired:1 1:requested 0:died 0:rejoined", "no client holds the lock in the end"},
		{"the one that asked dies", "0:agreed:3 0:acquired:1 1:requested 1:died - - - - 0:releasing", ""},
		{"is deaf, and blocks", "0:agreed:1 0:acquired:1 0:deaf 1:requested - - 0:hears 0:heeded 0:releasing 1:acquired:2", "client 0 held on for 5s after it was asked; the grace is 1s"},
		{"is deaf when the lock is taken away", "0:forcible:1 0:deaf 0:acquired:1 1:requested - 1:acquired:2 - - 0:releasing", ""},
		{"is deaf, and force is not used", "0:forcible:1 0:deaf 0:acquired:1 1:requested - - - 0:releasing", "client 0 held on for 4s after it was asked | no client holds the lock in the end"},
		{"force and a token again", "0:forcible:1 0:acquired:1 1:requested 1:acquired:1", "fencing token 1 after token 1"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 comes while 0 holds, and client 0 comes back before 1 has it; no client asks client 0 the second time",
		"0:requested 0:acquired:1 - 1:requested - 0:heeded 0:releasing 0:released 0:requested 1:acquired:2 - 1:heeded 1:releasing 0:acquired:3 1:released 0:releasing 0:released",
		"acquire(0)=1s acquire(1)=6s acquire(0)=5s hold(0)=5s hold(1)=3s hold(0)=2s release(0)=1s release(1)=2s release(0)=1s " +
			"handoff(1)=3s handoff(0)=1s revoke(0)=2s revoke(1)=2s",
	}, {
		"client 0 is deaf to the end of its hold, and does not heed the request",
		"0:agreed:9 0:deaf 0:acquired:1 1:requested 0:heeded 0:releasing 1:acquired:2",
		"acquire(1)=3s hold(0)=3s handoff(1)=1s",
	}})
}

// scripted is a lock whose outcome is given.
type scripted struct {
	grant session.Grant
	stays error
}

func (s scripted) Acquire(context.Context) (session.Grant, error) { return s.grant, nil }
func (s scripted) Release(context.Context) error                  { return s.stays }

// A participant records what all have agreed upon, and force is not the loss of its session. The rest is as for any lock.
func TestStepRecordsHowAHoldEnds(t *testing.T) {
	over := make(chan struct{})
	close(over)
	for _, tt := range []struct {
		name string
		lock scripted
		lost chan struct{} // closed if the session is lost
		want []variants.EventKind
		err  error
	}{
		{"no client asks", scripted{}, nil, []variants.EventKind{agreed, exclusion.Requested, exclusion.Acquired, exclusion.Releasing, exclusion.Released}, nil},
		{"is forced", scripted{stays: ErrForced}, nil, []variants.EventKind{agreed, exclusion.Requested, exclusion.Acquired, exclusion.Releasing, ousted, exclusion.Released}, nil},
		{"loses its session", scripted{grant: session.Grant{Revoked: over}, stays: session.ErrSessionLost}, over, []variants.EventKind{agreed, exclusion.Requested, exclusion.Acquired, exclusion.Deposed}, session.ErrSessionLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, recorded := variantstest.Recorder()
			env.Session = session.NewSession(nil, tt.lost)
			if err := NewParticipant(tt.lock, agreed, env).Step(t.Context()); !errors.Is(err, tt.err) {
				t.Errorf("err = %v, want %v", err, tt.err)
			}
			if got := recorded(); !slices.Equal(got, tt.want) {
				t.Errorf("recorded %v, want %v", got, tt.want)
			}
		})
	}
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("%[1]d:agreed:1 %[1]d:requested+acquired:%[3]d %[2]d:requested %[1]d:heeded+releasing+released:%[3]d %[2]d:withdrew",
			i%10, (i+1)%10, i)
	})
}

func TestDamage(t *testing.T) {
	teller().Damage(t, Recipe(), []variantstest.Case{
		{"a deaf holder blocks", "0:agreed:1 0:acquired:1 0:deaf 1:requested - - 0:hears 0:releasing 1:acquired:2", "blocked-ns=3000000000"},
		{"a deaf holder is forced out", "0:forcible:1 0:deaf 0:acquired:1 1:requested - 1:acquired:2 - - 0:releasing 0:ousted", "fenced=1"},
		{"a holder that is deaf in its next life", "0:agreed:1 0:deaf 0:died 0:rejoined 0:acquired:1 1:requested - - 0:releasing 1:acquired:2", "blocked-ns=2000000000"},
		{"others go on after a holder is forced out", "0:forcible:2 0:deaf 0:acquired:1 1:requested - - 1:acquired:2 1:releasing 1:released 2:requested 2:acquired:3 0:releasing", "fenced=1"},
		{"an expired holder", "0:agreed:3 0:acquired:1 1:requested 1:acquired:2 0:lost 0:deposed", "fenced=1"},
	})
}
