package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

const patience = 20 * time.Second

// fast is a server whose sessions may be as short as 40 ms.
func fast() embedded.Config { return embedded.Config{Tick: 20 * time.Millisecond} }

// client is a session of go-zookeeper with a record of its states.
type client struct {
	*zk.Conn
	states chan zk.State
	ledger *wire.Ledger
}

func connect(t testing.TB, s *embedded.Ensemble) *client {
	t.Helper()
	c := &client{states: make(chan zk.State, 1000), ledger: wire.NewLedger(time.Now())}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn := must.Get(ensemble.Connect(ctx, ensemble.Server{Addr: s.Addr()}, c.ledger, func(e zk.Event) {
		if e.Type == zk.EventSession {
			c.states <- e.State
		}
	}))(t)
	t.Cleanup(conn.Close)
	c.Conn = conn
	return c
}

func (c *client) await(t testing.TB, want zk.State) {
	t.Helper()
	for {
		select {
		case got := <-c.states:
			if got == want {
				return
			}
		case <-time.After(patience):
			t.Fatalf("the session did not come to %s", want)
		}
	}
}

func (c *client) create(path string, flags int32) error {
	_, err := c.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	return err
}

func happened(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
	}
}

// reader is the part of a session that tests need.
type reader interface {
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
}

func exists(t testing.TB, c reader, path string) bool {
	t.Helper()
	there, _, err := c.Exists(path)
	must.Do(t, err)
	return there
}

func watch(t testing.TB, c reader, path string) <-chan zk.Event {
	t.Helper()
	_, _, events, err := c.ExistsW(path)
	must.Do(t, err)
	return events
}

func next(t testing.TB, events <-chan zk.Event) zk.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(patience):
		t.Fatal("the watch did not fire")
		return zk.Event{}
	}
}

// Each fault happens at its request, with its effect, and in its session only.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name    string
		do      embedded.Action
		created bool // the second znode, whose create meets the fault
		kept    bool // the first, which belongs to the same session
		state   zk.State
	}{
		{"dropped before", embedded.DropBefore, false, true, zk.StateHasSession},
		{"dropped after", embedded.DropAfter, true, true, zk.StateHasSession},
		{"expired before", embedded.ExpireBefore, false, false, zk.StateExpired},
		{"expired after", embedded.ExpireAfter, false, false, zk.StateExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ensembletest.Embedded(t, embedded.Config{})
			victim, other := connect(t, s), connect(t, s)
			victim.await(t, zk.StateHasSession)
			trap := s.Inject(embedded.Fault{Session: victim.SessionID(), Op: wire.OpCreate, Nth: 2, Do: tt.do})
			if err := victim.create("/first", zk.FlagEphemeral); err != nil {
				t.Errorf("the first create: %v", err)
			}
			if err := other.create("/theirs", 0); err != nil {
				t.Errorf("the other session's create: %v", err)
			}
			if err := victim.create("/second", zk.FlagEphemeral); err == nil {
				t.Error("the second create succeeded")
			}
			happened(t, "the fault", trap.Fired())
			if got := exists(t, other, "/second"); got != tt.created {
				t.Errorf("its znode exists: %t, want %t", got, tt.created)
			}
			if got := exists(t, other, "/first"); got != tt.kept {
				t.Errorf("the session's other znode exists: %t, want %t", got, tt.kept)
			}
			victim.await(t, tt.state)
		})
	}
}

// Watches see the effect of a create before its session expires.
func TestExpireAfterTakesEffectFirst(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{})
	victim, other := connect(t, s), connect(t, s)
	events := watch(t, other, "/e")
	s.Inject(embedded.Fault{Op: wire.OpCreate, Do: embedded.ExpireAfter})
	_ = victim.create("/e", zk.FlagEphemeral)
	if e := next(t, events); e.Type != zk.EventNodeCreated {
		t.Errorf("the watch fired with %v, want that the znode was created", e.Type)
	}
}

// A held reply delays all later frames of its connection, and no others.
func TestHoldReply(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{})
	victim, other := connect(t, s), connect(t, s)
	events := watch(t, victim, "/later")
	trap := s.Inject(embedded.Fault{Session: victim.SessionID(), Op: wire.OpCreate, Do: embedded.HoldReply})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := victim.create("/held", 0); err != nil {
			t.Error(err)
		}
	}()
	happened(t, "the hold", trap.Fired())
	if !exists(t, other, "/held") {
		t.Error("the create has not taken effect")
	}
	must.Do(t, other.create("/later", 0))
	must.Do(t, ensemble.Fence(other.Conn))
	select {
	case <-done:
		t.Error("the reply was not held")
	case <-events:
		t.Error("a notification overtook the reply")
	default:
	}
	trap.Release()
	trap.Release()
	happened(t, "the reply", done)
	if e := next(t, events); e.Type != zk.EventNodeCreated {
		t.Errorf("event %v", e)
	}
}

// A delayed notification still arrives before later frames.
func TestDelayNotifications(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{})
	watcher, other := connect(t, s), connect(t, s)
	s.DelayNotifications(time.Millisecond)
	for i := range 20 {
		path := fmt.Sprintf("/%d", i)
		events := watch(t, watcher, path)
		must.Do(t, other.create(path, 0))
		if !exists(t, watcher, path) {
			t.Fatal("a later read does not see the change")
		}
		select {
		case <-events:
		default:
			t.Fatal("the reply to a later read came before the notification")
		}
	}
}

// A long delay of a notification affects neither other connections nor the end of the server.
func TestDelayedNotificationsHoldUpNoOtherConnection(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{})
	watcher, other := connect(t, s), connect(t, s)
	s.DelayNotifications(time.Hour)
	events := watch(t, watcher, "/x")
	must.Do(t, other.create("/x", 0))
	go func() { _, _ = watcher.Sync("/") }()
	if !exists(t, other, "/x") {
		t.Error("the other client was held up")
	}
	select {
	case <-events:
		t.Error("the notification was not delayed")
	default:
	}
}

// The last zxid of a session that only pings passes the transactions of others.
func TestPingsAdvanceTheLastZxid(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{Tick: 100 * time.Millisecond})
	idle, other := connect(t, s), connect(t, s)
	requested := idle.ledger.Traffic().Requests
	must.Do(t, other.create("/x", 0))
	zxid := other.ledger.LastZxid()
	ensembletest.Await(t, func() string {
		if got := idle.ledger.LastZxid(); got < zxid {
			return fmt.Sprintf("the idle session is at zxid %#x, want %#x", got, zxid)
		}
		return ""
	})
	if got := idle.ledger.Traffic().Requests; got != requested {
		t.Errorf("%d requests of the idle session, want %d", got, requested)
	}
}

// A session expires if its client is silent, and not while its client sends pings.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, fast())
	lively := connect(t, s)
	must.Do(t, lively.create("/lively", zk.FlagEphemeral))
	for range 3 { // the longest timeout there is, three times over
		silent := hello(t, s)
		if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("%v, want the end of the connection", err)
		}
	}
	if !exists(t, lively, "/lively") {
		t.Error("the session of a client that pings ended, too")
	}
}

// hello opens a session with the longest timeout, and sends nothing else.
func hello(t testing.TB, s *embedded.Ensemble) net.Conn {
	t.Helper()
	conn := must.Get(net.Dial("tcp", s.Addr()))(t)
	t.Cleanup(func() { conn.Close() })
	out := jute.NewFrame(64)
	out.Int(0)
	out.Long(0)
	out.Int(math.MaxInt32)
	out.Long(0)
	out.Buffer(make([]byte, 16))
	must.Get(conn.Write(out.Frame()))(t)
	must.Get(jute.ReadFrame(conn, 100))(t)
	return conn
}

func TestExpireByForce(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{})
	c := connect(t, s)
	if !s.Expire(c.SessionID()) {
		t.Error("the session is unknown")
	}
	c.await(t, zk.StateExpired)
	if s.Expire(4711) {
		t.Error("a session that never was has been expired")
	}
}

// A container is removed after its last child, and not before it has had one.
func TestContainersAreReaped(t *testing.T) {
	t.Parallel()
	s := ensembletest.Embedded(t, embedded.Config{Reap: 10 * time.Millisecond})
	c := connect(t, s)
	for _, name := range []string{"/used", "/unused"} {
		must.Get(c.CreateContainer(name, nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)))(t)
	}
	must.Do(t, c.create("/used/child", 0))
	events := watch(t, c, "/used")
	must.Do(t, c.Delete("/used/child", -1))
	if e := next(t, events); e.Type != zk.EventNodeDeleted { // the empty container
		t.Errorf("event %v", e)
	}
	if !exists(t, c, "/unused") {
		t.Error("a container that never had a child is gone")
	}
}

// A znode with a time to live is removed when nothing has set its data for so long, unless it has a child.
func TestTimeToLive(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{Voters: 3, Reap: time.Second}, func(t *testing.T, e *embedded.Ensemble) {
		c := at(t, e, 0)
		defer c.Close()
		for _, name := range []string{"/left", "/set", "/parent"} {
			must.Get(c.CreateTTL(name, nil, zk.FlagTTL, zk.WorldACL(zk.PermAll), time.Minute))(t)
		}
		mustCreate(t, c, "/parent/child", 0)
		time.Sleep(50 * time.Second)
		must.Get(c.Set("/set", nil, -1))(t)
		check := func(when string, want ...string) {
			t.Helper()
			names, _, err := c.Children("/")
			must.Do(t, err)
			slices.Sort(names)
			if !slices.Equal(names, append(want, "zookeeper")) {
				t.Errorf("%s: %v, want %v", when, names, want)
			}
		}
		check("before", "left", "parent", "set")
		time.Sleep(15 * time.Second)
		check("after the time", "parent", "set")
		time.Sleep(time.Minute)
		check("after the time since setData", "parent")
		must.Do(t, c.Delete("/parent/child", -1))
		time.Sleep(2 * time.Second)
		check("without its child")
	})
}

// Close ends all goroutines of a server, even if it is busy.
func TestClose(t *testing.T) {
	t.Parallel()
	s := must.Get(embedded.Listen(embedded.Config{}))(t)
	c := connect(t, &embedded.Ensemble{Server: s})
	trap := s.Inject(embedded.Fault{Op: wire.OpSync, Do: embedded.HoldReply})
	go func() { _, _ = c.Sync("/") }()
	happened(t, "the hold", trap.Fired())
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}()
	happened(t, "the end", closed)
}

// Servers listen on the ports that are asked for, or not at all.
func TestListenOnPorts(t *testing.T) {
	ports := must.Get(ensemble.FreePorts(3))(t)
	s := must.Get(embedded.Listen(embedded.Config{Voters: 3, Ports: ports}))(t)
	for i, member := range s.Members() {
		if want := fmt.Sprintf("127.0.0.1:%d", ports[i]); member.Addr() != want {
			t.Errorf("server %d listens on %s, want %s", i+1, member.Addr(), want)
		}
	}
	if second, err := embedded.Listen(embedded.Config{Ports: ports[1:2]}); err == nil {
		t.Errorf("two servers have one port: %v", second.Close())
	}
	must.Do(t, s.Close())
	if s, err := embedded.Listen(embedded.Config{Voters: 3, Ports: ports[:2]}); err == nil {
		t.Errorf("three servers have two ports: %v", s.Close())
	}
}

// As with other engines, only one run at a time can use the ensemble of one name.
func TestUp(t *testing.T) {
	var said strings.Builder
	opts := ensemble.Options{Name: fmt.Sprintf("test-embedded-%d", os.Getpid()), Progress: &said, ReadDelay: time.Microsecond, WriteDelay: time.Millisecond}
	e := must.Get(embedded.Up(t.Context(), opts))(t)
	if _, err := embedded.Up(t.Context(), opts); !errors.Is(err, ensemble.ErrBusy) {
		t.Errorf("a second one: %v, want ErrBusy", err)
	}
	if !strings.Contains(said.String(), "latencies are not those of an ensemble") || len(said.String()) > 80 {
		t.Errorf("it said %q", said.String())
	}
	d := must.Get(e.Describe(t.Context()))(t)
	if d.Engine != ensemble.Embedded || !strings.HasPrefix(d.Version, "3.9") || d.Config["readDelay"] != "1µs" || d.Config["writeDelay"] != "1ms" {
		t.Errorf("description %+v", d)
	}
	must.Do(t, ensemble.CheckQuorum(t.Context(), e.Servers()))
	must.Do(t, e.Close(t.Context()))
	again := must.Get(embedded.Up(t.Context(), opts))(t)
	must.Do(t, again.Close(t.Context()))
}

// A thousand sessions, each with an ephemeral znode and a watch, are notified and ended. `go test -v` logs the memory.
func TestThousandSessions(t *testing.T) {
	t.Parallel()
	const n = 1000
	s := ensembletest.Embedded(t, embedded.Config{})
	admin := connect(t, s)
	must.Do(t, admin.create("/gate", 0))
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = hello(t, s)
		ask(t, conns[i], wire.OpCreate, func(out *jute.Encoder) {
			out.Text("/e-")
			out.Buffer(nil)
			out.ACLs(zk.WorldACL(zk.PermAll))
			out.Int(zk.FlagEphemeral | zk.FlagSequence)
		})
		ask(t, conns[i], wire.OpExists, func(out *jute.Encoder) { out.Text("/gate"); out.Bool(true) })
	}
	status := must.Get(ensemble.Srvr(t.Context(), s.Servers()[0]))(t)
	counters := must.Get(ensemble.Monitor(t.Context(), s.Servers()[0]))(t)
	if watches := counters["zk_watch_count"]; status.Sessions != n+1 || watches != n {
		t.Errorf("status %+v and %d watches; want %d sessions and %d watches", status, watches, n+1, n)
	}
	t.Logf("%d sessions: %s", n, residentMemory(t))
	must.Do(t, admin.Delete("/gate", -1))
	for i, conn := range conns {
		if _, err := jute.ReadFrame(conn, 100); err != nil {
			t.Fatalf("session %d was not notified: %v", i, err)
		}
		ask(t, conn, wire.OpClose, func(*jute.Encoder) {})
	}
	left, _, err := admin.Children("/")
	if err != nil || len(left) != 1 {
		t.Errorf("%d znodes are left (%v), want only the server's own", len(left), err)
	}
}

// ask sends a request on a raw connection and waits for its reply.
func ask(t testing.TB, conn net.Conn, op wire.Opcode, fill func(*jute.Encoder)) {
	t.Helper()
	out := jute.NewFrame(64)
	out.Int(1)
	out.Int(int32(op))
	fill(out)
	must.Get(conn.Write(out.Frame()))(t)
	body := must.Get(jute.ReadFrame(conn, 1000))(t)
	d := jute.NewDecoder(body)
	d.Int()
	d.Long()
	if code := wire.Code(d.Int()); code != wire.OK {
		t.Fatalf("%s: %s", op, code)
	}
}

// residentMemory returns the resident memory of this process as the system reports it.
func residentMemory(t testing.TB) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "resident memory unknown"
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS:") {
			return strings.TrimSpace(line)
		}
	}
	return "resident memory unknown"
}
