package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// serve answers every connection with one text, and returns its address.
func serve(t *testing.T, answer string) string {
	t.Helper()
	return ensembletest.Listen(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 4))
		_, _ = io.WriteString(conn, answer)
	})
}

const srvr = `Zookeeper version: 3.9.3-${mvngit.commit.id}, built on 2026-03-08 16:19 UTC
Latency min/avg/max: 0/0.0/0
Received: 10
Sent: 9
Connections: 3
Outstanding: 0
Zxid: 0x100000002
Mode: follower
Node count: 5
`

func TestSrvr(t *testing.T) {
	status, err := ensemble.Srvr(t.Context(), ensemble.Server{Addr: serve(t, srvr)})
	want := ensemble.Status{Role: ensemble.Follower, Product: "ZooKeeper", Version: "3.9.3", Zxid: 0x100000002, Sessions: 2, Znodes: 5}
	if err != nil || status != want {
		t.Errorf("status = %+v, %v; want %+v", status, err, want)
	}
}

// A server of another product says its name in place of ZooKeeper's. Its version has no prefix and no build.
func TestSrvrOfAnotherProduct(t *testing.T) {
	_, rest, _ := strings.Cut(srvr, "\n")
	for _, tt := range []struct{ first, product, version string }{
		{"Zookeeper version: 3.4.13-2d71af4dbe22, built on 06/29/2018 04:05 GMT", "ZooKeeper", "3.4.13"},
		{"ClickHouse Keeper version: v26.7.5.10-stable-4f1c9a7be0d2", "ClickHouse Keeper", "26.7.5.10"},
		{"ClickHouse Keeper version: v21.11.1.1-prestable-7a4a0b0edef0", "ClickHouse Keeper", "21.11.1.1"},
		{"RaftKeeper version: RaftKeeper v2.0.4", "RaftKeeper", "2.0.4"},
		{"RaftKeeper version: v2.1.0", "RaftKeeper", "2.1.0"},
		{"Another version: 1", "Another", "1"},
	} {
		status, err := ensemble.Srvr(t.Context(), ensemble.Server{Addr: serve(t, tt.first+"\n"+rest)})
		want := ensemble.Status{Role: ensemble.Follower, Product: tt.product, Version: tt.version, Zxid: 0x100000002, Sessions: 2, Znodes: 5}
		if err != nil || status != want {
			t.Errorf("%s: status = %+v, %v; want %+v", tt.first, status, err, want)
		}
	}
	for _, answer := range []string{
		rest,                                     // no product
		"Zookeeper version: \n" + rest,           // no version
		" version: 1.0\n" + rest,                 // no name
		"Latency: 0\nKeeper version: 1\n" + rest, // not in the first line
		"Redis version: 7.2\r\n",                 // no role
		"SSH-2.0-OpenSSH_9.2 version: 1\n",
	} {
		if status, err := ensemble.Srvr(t.Context(), ensemble.Server{Addr: serve(t, answer)}); !errors.Is(err, ensemble.ErrNotZooKeeper) {
			t.Errorf("%q: status = %+v, %v", answer, status, err)
		}
	}
}

func TestCommandExplainsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"a web server", "HTTP/1.1 400 Bad Request\r\n\r\n", "does not look like ZooKeeper"},
		{"silence", "", "is it a ZooKeeper client port?"},
		{"not allowed", "srvr is not executed because it is not in the whitelist.\n", "4lw.commands.whitelist"},
		{"no quorum", "This ZooKeeper instance is not currently serving requests\n", "no quorum yet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ensemble.Srvr(t.Context(), ensemble.Server{Addr: serve(t, tt.answer)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestAwaitQuorumSaysWhatIsMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name, want string
		servers    []ensemble.Server
	}{
		{"no leader", "0 of 2 servers lead", []ensemble.Server{{Name: "a", Addr: serve(t, srvr)}, {Name: "b", Addr: serve(t, srvr)}}},
		{"one is alone", "a stands alone", []ensemble.Server{
			{Name: "a", Addr: serve(t, strings.ReplaceAll(srvr, "follower", "standalone"))},
			{Name: "b", Addr: serve(t, strings.ReplaceAll(srvr, "follower", "leader"))},
		}},
	} {
		err := ensemble.CheckQuorum(t.Context(), tt.servers)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.want)
		}
		if err := ensemble.AwaitQuorum(ctx, tt.servers, nil); err == nil {
			t.Errorf("%s: AwaitQuorum returned nil", tt.name)
		}
	}
	one := []ensemble.Server{{Name: "a", Addr: serve(t, strings.ReplaceAll(srvr, "follower", "standalone"))}}
	if err := ensemble.AwaitQuorum(t.Context(), one, nil); err != nil {
		t.Errorf("one standalone server: %v", err)
	}
}

func TestFileSystemOf(t *testing.T) {
	const mounts = "overlay / overlay rw 0 0\n/dev/sda1 /data ext4 rw 0 0\ntmpfs /datalog tmpfs rw 0 0\n/dev/sdb /data/version-2/deep xfs rw 0 0\n"
	for path, want := range map[string]string{
		"/data/version-2":    "/data/version-2 (ext4 on /dev/sda1)",
		"/datalog/version-2": "/datalog/version-2 (tmpfs on tmpfs)",
		"/database":          "/database (overlay on overlay)",
		"/data":              "/data (ext4 on /dev/sda1)",
		"":                   "",
	} {
		if got := ensemble.FileSystemOf(mounts, path); got != want {
			t.Errorf("FileSystemOf(%q) = %q, want %q", path, got, want)
		}
	}
}

// No outgoing connection can get a port that was found for a server, unless the system gives all ports to such connections.
func TestFreePorts(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip(err)
	}
	var first int
	if _, err := fmt.Sscan(string(text), &first); err != nil || first < 22000 {
		t.Skipf("outgoing connections have the ports from %d (%v)", first, err)
	}
	ports, err := ensemble.FreePorts(50)
	if err != nil || slices.Max(ports) >= first || len(slices.Compact(slices.Sorted(slices.Values(ports)))) != len(ports) {
		t.Errorf("found %v (%v), want different ones below %d", ports, err, first)
	}
}

func TestClientPorts(t *testing.T) {
	free, err := ensemble.Options{}.ClientPorts()
	if err != nil || len(free) != ensemble.Size || free[0] == free[1] {
		t.Fatalf("free ports = %v, %v", free, err)
	}
	if got, err := (ensemble.Options{Ports: free}).ClientPorts(); err != nil || got[0] != free[0] {
		t.Errorf("asked for %v, got %v, %v", free, got, err)
	}
	used := serve(t, "")
	_, port, _ := net.SplitHostPort(used)
	n := must.Get(strconv.Atoi(port))(t)
	if _, err := (ensemble.Options{Ports: []int{free[0], n, free[1]}}).ClientPorts(); err == nil || !strings.Contains(err.Error(), "port "+port+" is in use") {
		t.Errorf("a port in use: %v", err)
	}
	if _, err := (ensemble.Options{Ports: free[:2]}).ClientPorts(); err == nil {
		t.Error("two ports for three servers were accepted")
	}
}

func TestLockIsExclusive(t *testing.T) {
	name := fmt.Sprintf("lock-test-%d", time.Now().UnixNano())
	first := must.Get(ensemble.TryLock(name))(t)
	if _, err := ensemble.TryLock(name); !errors.Is(err, ensemble.ErrBusy) {
		t.Errorf("a second lock: %v, want ErrBusy", err)
	} else if _, noProc := os.Stat("/proc/locks"); noProc == nil && !strings.Contains(err.Error(), fmt.Sprintf("(process %d: ", os.Getpid())) {
		t.Errorf("a second lock: %v, want the process that has it", err)
	}
	other, err := ensemble.TryLock(name + "-other")
	if err != nil {
		t.Errorf("a lock of another name: %v", err)
	}
	must.Do(t, errors.Join(first.Release(), first.Release(), other.Release()))
	again, err := ensemble.TryLock(name)
	if err != nil {
		t.Errorf("a lock after release: %v", err)
	}
	must.Do(t, errors.Join(first.Release(), again.Release()))
	if left, _ := filepath.Glob("/tmp/zkbench-" + name + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A wait for a lock ends when the lock is released, when its time is over, or when its context ends. It is said once.
func TestLockWaits(t *testing.T) {
	for _, tt := range []struct {
		name            string
		wait            time.Duration
		release, cancel time.Duration // when; 0 for never
		want            error
		says, complains string
	}{
		{"released in time", time.Minute, 30 * time.Second, 0, nil, "waiting for it, up to 1m0s", ""},
		{"not released in time", time.Minute, time.Hour, 0, ensemble.ErrBusy, "waiting for it, up to 1m0s", "after 1m0s, ensemble"},
		{"interrupted", time.Minute, time.Hour, time.Second, context.Canceled, "waiting for it", "wait for ensemble"},
		{"no wait", 0, time.Hour, 0, ensemble.ErrBusy, "", "wait for it with --wait 10m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				name := fmt.Sprintf("wait-test-%d", os.Getpid())
				first := must.Get(ensemble.TryLock(name))(t)
				released := time.AfterFunc(tt.release, func() {
					if err := first.Release(); err != nil {
						t.Error(err)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				var said strings.Builder
				lock, err := ensemble.Lock(ctx, name, ensemble.Options{Wait: tt.wait, Progress: &said})
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || err != nil && !strings.Contains(err.Error(), tt.complains) {
					t.Errorf("%v, want %v with %q", err, tt.want, tt.complains)
				}
				if !strings.Contains(said.String(), tt.says) || strings.Count(said.String(), "\n") != min(len(tt.says), 1) {
					t.Errorf("said %q, want %q once", said.String(), tt.says)
				}
				released.Stop()
				must.Do(t, errors.Join(lock.Release(), first.Release()))
			})
		})
	}
}

// The file of a lock is created and removed with it, and at no time do two holders have the lock.
func TestLocksAreExclusiveUnderContention(t *testing.T) {
	name := fmt.Sprintf("lock-test-%d", time.Now().UnixNano())
	var holders, locks atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for locks.Load() < 2000 {
				lock, err := ensemble.TryLock(name)
				if errors.Is(err, ensemble.ErrBusy) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold one lock", n)
				}
				locks.Add(1)
				time.Sleep(time.Microsecond) // gives others the chance to lock
				holders.Add(-1)
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// A name becomes part of the path of a folder that is removed.
func TestNamesCannotLeaveTheirFolder(t *testing.T) {
	for name, want := range map[string]bool{
		"default": true, "test-2": true, "": false, "..": false, "../../..": false, "a/b": false, "A": false, "-x": false, "a b": false, "ä": false,
	} {
		if err := ensemble.CheckName(name); (err == nil) != want {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
		if want {
			continue
		}
		if lock, err := ensemble.TryLock(name); err == nil {
			t.Errorf("%q was locked: %v", name, lock.Release())
		}
	}
}

// A name becomes part of the names of containers and files, which are limited.
func TestNamesHaveALimit(t *testing.T) {
	for length, want := range map[int]bool{50: true, 51: false, 300: false} {
		if err := ensemble.CheckName(strings.Repeat("x", length)); (err == nil) != want {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

// A histogram is complete with its last line, possibly between other lines. The wait for it has a limit.
func TestAwaitHistogram(t *testing.T) {
	const dump = "Full thread dump OpenJDK 64-Bit Server VM\n num     #instances         #bytes  class name (module)\n" +
		"   1:         5341         489520  [B (java.base@17.0.15)\nTotal something else entirely\nTotal         23266"
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		printed []string // one after the other
		err     error
		want    int64
		wantErr string
	}{
		{"at once", []string{dump + "        2059912\n"}, nil, 2059912, ""},
		{"bit by bit", []string{"", dump, dump + "    20", dump + "        2059912\n2026-01-01 [main] INFO\n"}, nil, 2059912, ""},
		{"no number", []string{dump + "   many\n"}, nil, 0, "understand"},
		{"a log that cannot be read", []string{""}, broken, 0, "broken"},
	} {
		calls := 0
		got, err := ensemble.AwaitHistogram(t.Context(), func(context.Context) (string, error) {
			calls++
			return tt.printed[min(calls, len(tt.printed))-1], tt.err
		})
		if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%s: %d, %v; want %d, %q", tt.name, got, err, tt.want, tt.wantErr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ensemble.AwaitHistogram(ctx, func(context.Context) (string, error) { cancel(); return dump, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The error of a quorum that does not form says what was wrong with each server, and not that the last check was interrupted.
func TestAwaitQuorumSaysWhatWasWrong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var checks atomic.Int64
	address := ensembletest.Listen(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 4))
		if checks.Add(1) < 10 {
			_, _ = io.WriteString(conn, "This ZooKeeper instance is not currently serving requests\n")
			return
		}
		cancel()
		_, _ = io.Copy(io.Discard, conn) // until the other end hangs up
	})
	err := ensemble.AwaitQuorum(ctx, []ensemble.Server{{ID: 1, Name: "zoo1", Addr: address}}, nil)
	if !errors.Is(err, ensemble.ErrNotServing) {
		t.Errorf("error %v, want %v", err, ensemble.ErrNotServing)
	}
}
