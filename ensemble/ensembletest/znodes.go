package ensembletest

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/namespace"
)

// Znodes returns what stands in a server's root beside ZooKeeper's own znodes.
func Znodes(t testing.TB, addr string) []string {
	t.Helper()
	c, err := namespace.Connect(t.Context(), []ensemble.Server{{Addr: addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Conn.Close()
	names, _, err := c.Conn.Children("/")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "zookeeper" })
}
