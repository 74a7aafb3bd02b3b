package pool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// A client that stops dead while it is idle stays dead for as long as one that works: its session runs out meanwhile.
func TestDeadClientWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &Pool{config: Config{Tick: 5 * time.Second}} // a session without a timeout has run out after two of them
		c := &Client{Life: NewLife(0, time.Now(), 0, nil)}
		if got := pool.staysDead(c); got != 0 {
			t.Errorf("a client that lives is dead for %s", got)
		}
		var told time.Duration
		c.Monitor.WhenLost(func() { told = pool.staysDead(c) })
		c.Die()
		if told != 10*time.Second {
			t.Errorf("when the client learns that its session is lost, it stays dead for %s", told)
		}
		for _, tt := range []struct{ asleep, want time.Duration }{{0, 10 * time.Second}, {3 * time.Second, 7 * time.Second}, {time.Hour, 0}} {
			time.Sleep(tt.asleep)
			if got := pool.staysDead(c); got != tt.want {
				t.Errorf("%s later it stays dead for %s, want %s", tt.asleep, got, tt.want)
			}
		}
	})
}

// bystander is a participant that does nothing.
type bystander struct{}

func (bystander) Step(context.Context) error  { return nil }
func (bystander) Leave(context.Context) error { return nil }

// What a session is notified of after its client has taken it for lost is counted, until the fence at the end of the load. The watch that
// is set when it is closed may fire between the reply and the end of the connection.
func TestFormerLifeIsCounted(t *testing.T) {
	withPair(t, func(t *testing.T, p *Pool, c, other *Client) {
		former := c.Life
		conn, watched := former.Session.Conn(), []string{"/first", "/second", "/third"}
		must.Do(t, former.Session.Ensure(t.Context(), "/ephemeral", nil, zk.FlagEphemeral))
		for _, path := range watched {
			must.Do(t, other.Session.Ensure(t.Context(), path, nil, 0))
			_, _, _, err := conn.GetW(path)
			must.Do(t, err)
		}
		write := func(path string) {
			t.Helper()
			_, err := other.Session.Set(t.Context(), path, nil, -1)
			must.Do(t, err)
			time.Sleep(time.Second) // of virtual time
		}
		write("/first")
		next := NewLife(1, p.Epoch, c.ID, nil)
		next.kill()
		c.Reborn(next)
		write("/second")
		counts := c.Counts()
		n, taken := counts.TotalNotifications(), len(c.TakeNotifications())
		if n != 2 || taken != 2 || c.traffic().Requests != counts.TotalRequests() {
			t.Errorf("%d notifications are counted and %d taken, want 2", n, taken)
		}
		fenceLiving(t, p)
		if there, _, err := other.Session.Exists(t.Context(), "/ephemeral"); there || err != nil {
			t.Errorf("the former session goes on behind the fence, error %v", err)
		}
		write("/third")
		c.Reborn(NewLife(2, p.Epoch, c.ID, nil))
		if counts := c.Counts(); counts.TotalNotifications() != 2 || counts.LostNotifications != 0 || counts.UnknownNotifications != 1 {
			t.Errorf("the counts of the former life were not final: %+v", counts)
		}
	})
}

// fenceLiving ends lives and fences the others until no further life has ended.
func fenceLiving(t *testing.T, p *Pool) {
	t.Helper()
	for again := true; again; {
		p.EndLives(t.Context())
		again = must.Get(p.FenceLiving(t.Context(), p.Latest()))(t)
	}
}

// A client that loses its session during the fence has final counts behind it, too.
func TestFenceEndsALifeThatIsLostMeanwhile(t *testing.T) {
	withPair(t, func(t *testing.T, p *Pool, c, _ *Client) {
		c.Link.Sever()
		if fenceLiving(t, p); !c.Over() || !session.IsClosed(c.ended) {
			t.Error("the life goes on behind the fence")
		}
	})
}

// As long as the servers may have the session of a life that is over, its client library may connect to close it.
func TestEndOfALifeLingers(t *testing.T) {
	withPair(t, func(t *testing.T, _ *Pool, c, _ *Client) {
		timeout := c.Ledger.SessionTimeout()
		c.Monitor.Lose()
		c.end(t.Context())
		time.Sleep(timeout - time.Second) // of virtual time
		if session.IsClosed(c.ended) {
			t.Error("it is over while the servers may have the session")
		}
		if time.Sleep(closePatience + 2*time.Second); !session.IsClosed(c.ended) {
			t.Error("it lasts longer than the session")
		}
	})
}

// withPair calls use with two clients that do nothing.
func withPair(t *testing.T, use func(t *testing.T, p *Pool, c, other *Client)) {
	t.Helper()
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		join := func(context.Context, variants.Env) (variants.Participant, error) { return bystander{}, nil }
		p := must.Get(Connect(t.Context(), Config{Servers: e.Servers(), Clients: 2, Root: "/"}, variants.Variant{Join: join}))(t)
		defer p.CloseAll(t.Context())
		use(t, p, p.Clients[0], p.Clients[1])
	})
}
