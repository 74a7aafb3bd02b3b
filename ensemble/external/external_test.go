package external_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

type openCase struct {
	name    string
	connect func(t *testing.T) string
	clients int
	mistake bool   // of the command line, not of the servers
	want    string // in the error; none if empty
}

func servers(fakes ...fake) func(*testing.T) string {
	return func(t *testing.T) string {
		var addrs []string
		for _, f := range fakes {
			if f.backend == "" {
				f.backend = backend(t)
			}
			addrs = append(addrs, f.start(t))
		}
		return strings.Join(addrs, ",")
	}
}

func ensembleOf(fakes ...fake) func(*testing.T) string {
	return func(t *testing.T) string {
		shared := backend(t)
		for i := range fakes {
			fakes[i].backend = shared
		}
		return servers(fakes...)(t)
	}
}

func and(parts ...func(*testing.T) string) func(*testing.T) string {
	return func(t *testing.T) string {
		var addrs []string
		for _, part := range parts {
			addrs = append(addrs, part(t))
		}
		return strings.Join(addrs, ",")
	}
}

func checkOpen(t *testing.T, cases []openCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some wait until a timeout
			connect, opts := tt.connect(t), ensemble.Options{Clients: tt.clients}
			e, err := external.Open(t.Context(), connect, opts)
			tt.checkInspect(t, connect, err)
			if tt.want == "" {
				if err != nil || len(e.Servers()) == 0 {
					t.Errorf("error = %v, want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want it to say %q", err, tt.want)
			}
			if mistake := new(external.Mistake); errors.As(err, mistake) != tt.mistake {
				t.Errorf("error = %v; a mistake of the command line: %t, want %t", err, !tt.mistake, tt.mistake)
			}
		})
	}
}

// checkInspect compares the error of Inspect with that of Open, unless only a znode shows the mistake.
func (tt openCase) checkInspect(t *testing.T, connect string, opened error) {
	t.Helper()
	e, lines, err := external.Inspect(t.Context(), connect, ensemble.Options{Clients: tt.clients})
	switch {
	case needsZnode(tt.want):
	case opened == nil && (err != nil || len(lines) <= len(e.Servers())):
		t.Errorf("inspected: %q, error = %v, want a line for each server and others", lines, err)
	case opened != nil && (err == nil || !strings.Contains(err.Error(), tt.want)):
		t.Errorf("inspected: error = %v, want it to say %q", err, tt.want)
	}
}

func needsZnode(want string) bool {
	return slices.ContainsFunc([]string{
		"are unrelated servers", "give servers of one ensemble only", "both stand alone", "no permission", "authenticate themselves", "ephemeral", "did not answer a request to create",
	}, func(part string) bool { return strings.Contains(want, part) })
}

func TestOpenTellsServersApart(t *testing.T) {
	leader, follower := fake{id: 1, role: ensemble.Leader}, fake{id: 2, role: ensemble.Follower}
	third, observer := fake{id: 3, role: ensemble.Follower}, fake{id: 4, role: ensemble.Observer}
	alone := fake{role: ensemble.Standalone}
	checkOpen(t, []openCase{
		{"an ensemble", ensembleOf(follower, leader, third, observer), 0, false, ""},
		{"a part of an ensemble", ensembleOf(follower, leader), 0, false, ""},
		{"followers alone", ensembleOf(follower, third), 0, true, "none of these servers is the leader: give every server of the ensemble"},
		{"one server", servers(alone), 0, false, ""},
		{"ids that differ by 256", ensembleOf(leader, fake{id: 1, role: ensemble.Follower, conf: "serverId=1\n"}, fake{id: 1, role: ensemble.Follower, conf: "serverId=257\n"}), 0, false, ""},
		{"sessions without a server's id", ensembleOf(leader, fake{role: ensemble.Follower}, fake{role: ensemble.Follower}), 0, false, ""},
		{"two standalone servers", servers(alone, alone), 0, true, "both stand alone: give one of them"},
		{"a standalone server twice", ensembleOf(alone, alone), 0, true, "are the same server under two addresses"},
		{"a leader twice", ensembleOf(leader, follower, leader), 0, true, "are the same server under two addresses"},
		{"a follower twice", ensembleOf(leader, follower, follower), 0, true, "are the same server under two addresses"},
		{"two leaders", servers(leader, fake{id: 2, role: ensemble.Leader}), 0, true, "are unrelated servers"},
		{"followers of two ensembles", and(ensembleOf(leader, follower), servers(third)), 0, true, "give servers of one ensemble only"},
		{"a follower of another ensemble with the same id", and(ensembleOf(leader, follower), servers(follower)), 0, true, "are unrelated servers"},
		{"a standalone server and a follower", servers(alone, follower), 0, true, "stands alone, but"},
		{"a read-only server", servers(fake{role: ensemble.ReadOnly}), 0, false, "is read-only: it has lost the majority"},
		{"a role that there is not", servers(fake{role: "deposed"}), 0, false, "plays an unknown role"},
		{"two names of one address", func(t *testing.T) string {
			addr := fake{role: ensemble.Standalone, backend: backend(t)}.start(t)
			return addr + "," + strings.Replace(addr, "127.0.0.1:", "127.0.0.1:0", 1)
		}, 0, true, "are the same server (127.0.0.1:"},
	})
}

func tlsServer(config *tls.Config) func(*testing.T) string {
	return func(t *testing.T) string {
		s := httptest.NewUnstartedServer(nil)
		s.TLS, s.Config.ErrorLog = config, log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
}

func TestOpenNamesWhatIsNoClientPort(t *testing.T) {
	answers := func(text string) func(*testing.T) string {
		return servers(fake{words: map[string]string{"srvr": text}})
	}
	checkOpen(t, []openCase{
		{"TLS", tlsServer(&tls.Config{}), 0, true, "speaks TLS: add --tls"},
		{"TLS for clients with a certificate", tlsServer(&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}), 0, true, "speaks TLS"},
		{"TLS of a version that is too old", tlsServer(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}), 0, true, "speaks TLS"},
		{"a web server", func(t *testing.T) string {
			s := httptest.NewServer(nil)
			t.Cleanup(s.Close)
			return s.Listener.Addr().String()
		}, 0, true, "is a web server"},
		{"silence", func(t *testing.T) string {
			return ensembletest.Listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		}, 0, false, "one for other servers"},
		{"something else", answers("SSH-2.0-OpenSSH_9.2\r\n"), 0, false, "does not look like ZooKeeper"},
		{"no server", func(*testing.T) string { return "127.0.0.1:1" }, 0, false, "nothing listens there"},
		{"no such host", func(*testing.T) string { return strings.Repeat("a", 64) + ".invalid:2181" }, 0, false, "the host's address is unknown"},
		{"no quorum", answers("This ZooKeeper instance is not currently serving requests\n"), 0, false, "wait until they have elected a leader"},
		{"srvr is not allowed", answers("srvr is not executed because it is not in the whitelist.\n"), 0, false, "add it to 4lw.commands.whitelist"},
		{"no connection left", answers(closedWithoutAnswer), 0, false, "out of connections for this address (maxClientCnxns)"},
	})
}

func TestOpenNamesWhatARunMayNotDo(t *testing.T) {
	refusing := func(op wire.Opcode, code wire.Code) func(*testing.T) string {
		return servers(fake{role: ensemble.Standalone, refuses: map[wire.Opcode]wire.Code{op: code}})
	}
	limited := func(clients int, mistake bool, want string) openCase {
		f := fake{id: 1, role: ensemble.Follower, conf: "maxClientCnxns=20\n"}
		g := f
		g.id, g.role = 2, ensemble.Leader
		return openCase{"a limit of connections", ensembleOf(f, g), clients, mistake, want}
	}
	below := func(chroot string, connect func(*testing.T) string) func(*testing.T) string {
		return func(t *testing.T) string { return connect(t) + chroot }
	}
	alone := servers(fake{role: ensemble.Standalone})
	const sessionClosedRequireSASL wire.Code = -124
	checkOpen(t, []openCase{
		{"create", refusing(wire.OpCreate, wire.NoAuth), 0, false, "no permission to create znodes in /:"},
		{"delete", refusing(wire.OpDelete, wire.NoAuth), 0, false, "no permission to delete znodes in /:"},
		{"authentication", refusing(wire.OpCreate, sessionClosedRequireSASL), 0, true, "accepts only clients that authenticate themselves"},
		{"no chroot there", below("/a/b", alone), 0, false, "the chroot /a/b does not exist: create it first, by\n  zkCli.sh -server 127.0.0.1"},
		{"an ephemeral chroot", func(t *testing.T) string {
			addr := backend(t)
			create(t, session(t, addr), "/a", zk.FlagEphemeral)
			return addr + "/a"
		}, 0, false, "is an ephemeral znode"},
		{"no reply", servers(fake{role: ensemble.Standalone, mute: true}), 0, false, "did not answer a request to create znodes"},
		{"sessions are closed", servers(fake{role: ensemble.Standalone, backend: "127.0.0.1:1"}), 0, false, "closes connections before a session exists"},
		limited(24, false, ""),
		limited(25, true, "allows 20 connections from one address (maxClientCnxns), but 25 clients need 21 there"),
		limited(0, false, ""),
	})
}

// The error names the server that does not answer in time, whether or not it is the one that writes.
func TestOpenNamesTheServerThatIsSilent(t *testing.T) {
	t.Parallel()
	follower := fake{id: 2, role: ensemble.Follower}
	silent, third := follower, follower
	silent.mute, third.id = true, 3
	connect := ensembleOf(fake{id: 1, role: ensemble.Leader}, silent, third)(t)
	names := strings.Split(connect, ",")
	_, err := external.Open(t.Context(), connect, ensemble.Options{})
	if want := names[1] + " did not answer a request to sync"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error = %v, want it to say %q", err, want)
	}
	if text := strings.ReplaceAll(err.Error(), connect, ""); strings.Contains(text, names[0]) || strings.Contains(text, names[2]) {
		t.Errorf("error = %v, want it to blame %s alone", err, names[1])
	}
}

// An interrupt is reported as such, and not as an error of a server.
func TestOpenIsInterrupted(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	for _, tt := range []struct {
		name    string
		granted bool // the session; the request after it gets no answer
	}{
		{"opening a session", false},
		{"writing", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancelCause(t.Context())
			server := backend(t)
			silent := ensembletest.Listen(t, func(conn net.Conn) {
				if tt.granted {
					grant(t, conn, server)
				}
				_, _ = readFrame(conn)
				interrupt(interrupted)
				_, _ = io.Copy(io.Discard, conn)
			})
			_, err := external.Open(ctx, fake{role: ensemble.Standalone, backend: silent}.start(t), ensemble.Options{})
			if !errors.Is(err, interrupted) || strings.Contains(err.Error(), "did not") {
				t.Errorf("error = %v, want %q and nothing about the server", err, interrupted)
			}
		})
	}
}

// grant forwards the request for a session to a server, and the reply back.
func grant(t *testing.T, conn net.Conn, server string) {
	to, err := net.Dial("tcp", server)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { to.Close() }) // the session lives as long as the test
	for _, way := range []struct{ from, to net.Conn }{{conn, to}, {to, conn}} {
		frame, err := readFrame(way.from)
		if err == nil {
			_, err = way.to.Write(frame)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func session(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil))(t)
	t.Cleanup(conn.Close)
	return conn
}

func create(t *testing.T, conn *zk.Conn, path string, flags int32) {
	t.Helper()
	must.Get(conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)))(t)
}

// Open leaves no znode and no session behind.
func TestOpenLeavesNothing(t *testing.T) {
	addr := backend(t)
	conn := session(t, addr)
	create(t, conn, "/bench", 0)
	e, err := external.Open(t.Context(), addr+"/bench", ensemble.Options{})
	if err != nil || e.Chroot() != "/bench" || e.Owned() {
		t.Fatalf("ensemble = %+v, %v", e, err)
	}
	for path, want := range map[string][]string{"/": {"bench", "zookeeper"}, "/bench": nil} {
		names, _, err := conn.Children(path)
		if slices.Sort(names); err != nil || !slices.Equal(names, want) {
			t.Errorf("below %s: %v, %v; want %v", path, names, err, want)
		}
	}
	ensembletest.AwaitConnections(t, e.Servers(), 1)
	counters, err := ensemble.Monitor(t.Context(), ensemble.Server{Addr: addr})
	if sessions := counters["zk_global_sessions"]; err != nil || sessions != 1 {
		t.Errorf("%d sessions, %v; want the test's alone", sessions, err)
	}
}

// Inspect changes no znode, not even for a moment.
func TestInspectChangesNoZnode(t *testing.T) {
	connect := servers(fake{role: ensemble.Standalone, conf: "maxClientCnxns=60\n", refuses: map[wire.Opcode]wire.Code{
		wire.OpCreate: wire.NoAuth, wire.OpDelete: wire.NoAuth, wire.OpMulti: wire.NoAuth,
	}})(t)
	e, lines, err := external.Inspect(t.Context(), connect, ensemble.Options{Clients: 10})
	if err != nil || len(e.Servers()) != 1 {
		t.Fatalf("ensemble = %+v, %v", e, err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{connect + ": standalone, accepts sessions, answers a read within ", "maxClientCnxns (0: no limit) is 60", "not checked"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// Attach works with servers that are down.
func TestAttach(t *testing.T) {
	e, err := external.Attach(t.Context(), "127.0.0.1:1,127.0.0.1:2/bench", ensemble.Access{})
	if err != nil || len(e.Servers()) != 2 || e.Servers()[1].ID != 2 {
		t.Errorf("ensemble = %+v, %v", e, err)
	}
	_, err = external.Attach(t.Context(), "127.0.0.1", ensemble.Access{})
	if mistake := new(external.Mistake); !errors.As(err, mistake) {
		t.Errorf("error = %v, want a mistake of the command line", err)
	}
}
