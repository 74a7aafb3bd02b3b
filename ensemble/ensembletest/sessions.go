package ensembletest

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
)

// End closes a session and returns when the server has ended it: when witness, another session, no longer sees the ephemeral
// znode that it has. [zk.Conn.Close] gives its request up after a second. If the server has not read it by then, the session
// lasts until it expires.
func End(t testing.TB, gone, witness *zk.Conn, ephemeral string) {
	t.Helper()
	gone.Close()
	const patience = 2 * ensemble.SessionTimeout
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err := ensemble.Fence(witness); err != nil {
			t.Fatal(err)
		}
		there, _, err := witness.Exists(ephemeral)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is there %s after its session was closed", ephemeral, patience)
		}
	}
}
