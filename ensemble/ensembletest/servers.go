package ensembletest

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/must"
)

// patience is how long Await waits: a session that cannot be closed in order lasts until its timeout.
const patience = 2 * ensemble.SessionTimeout

// Await polls until problem returns an empty string. After a minute, the test fails with the last problem.
func Await(t testing.TB, problem func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text := problem()
		if text == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", patience, text)
		}
	}
}

// Connections returns how many client connections the servers have.
func Connections(t testing.TB, servers []ensemble.Server) int64 {
	t.Helper()
	var n int64
	for _, s := range servers {
		n += must.Get(ensemble.Srvr(t.Context(), s))(t).Sessions
	}
	return n
}

// AwaitConnections returns when the servers have at most the given number of client connections. A server that has
// answered a close request counts the connection until it reads that the client has hung up.
func AwaitConnections(t testing.TB, servers []ensemble.Server, most int64) {
	t.Helper()
	Await(t, func() string {
		if n := Connections(t, servers); n > most {
			return fmt.Sprintf("%d client connections, want at most %d", n, most)
		}
		return ""
	})
}

// ownZnodes is how many znodes an empty server reports: ZooKeeper's own, and the root, which counts twice.
const ownZnodes = 5

// AwaitNoZnodes returns when the servers have only ZooKeeper's own znodes. A server may apply the last removal later than the others,
// and may read the close request of a session after its client has given up.
func AwaitNoZnodes(t testing.TB, servers []ensemble.Server) {
	t.Helper()
	Await(t, func() string {
		for _, s := range servers {
			if n := must.Get(ensemble.Srvr(t.Context(), s))(t).Znodes; n != ownZnodes {
				return fmt.Sprintf("%s has %d znodes, want the %d of ZooKeeper itself", s.Name, n, ownZnodes)
			}
		}
		return ""
	})
}

// End closes a session and returns when another session, witness, no longer sees its ephemeral znode. [zk.Conn.Close] waits at
// most a second for its request to be answered. A session whose request the server does not read lasts until it expires.
func End(t testing.TB, gone, witness *zk.Conn, ephemeral string) {
	t.Helper()
	gone.Close()
	Await(t, func() string {
		must.Do(t, ensemble.Fence(witness))
		there, _, err := witness.Exists(ephemeral)
		must.Do(t, err)
		if there {
			return ephemeral + " exists although its session was closed"
		}
		return ""
	})
}

// Znodes returns the children of a server's root, without ZooKeeper's own.
func Znodes(t testing.TB, server ensemble.Server) []string {
	t.Helper()
	c := must.Get(namespace.Connect(t.Context(), []ensemble.Server{server}))(t)
	defer c.Conn.Close()
	names, _, err := c.Conn.Children("/")
	must.Do(t, err)
	return slices.DeleteFunc(names, func(name string) bool { return name == "zookeeper" })
}

// At returns servers at addresses that are reached by TCP.
func At(addrs ...string) []ensemble.Server {
	var servers []ensemble.Server
	for i, addr := range addrs {
		servers = append(servers, ensemble.Server{ID: i + 1, Name: addr, Addr: addr})
	}
	return servers
}

// Listen calls serve with every connection to the address that it returns, until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go dial.Accept(listener, func(error) {}, func(conn net.Conn) {
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	})
	return listener.Addr().String()
}
