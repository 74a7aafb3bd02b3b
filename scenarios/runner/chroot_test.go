package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants/catalog"
)

// lodger is an ensemble that lends one znode.
type lodger struct {
	ensemble.Ensemble
	chroot string
}

func (l lodger) Chroot() string { return l.chroot }

// Everything that a run creates stands below the chroot, and nothing stays.
func TestChroot(t *testing.T) { bubble(t, testChroot) }

func testChroot(t *testing.T, e *embedded.Ensemble) {
	conn, err := ensemble.Connect(t.Context(), e.Servers()[0], wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	root := children(t, conn, "/")
	var docs []*results.Document
	err = measure(t.Context(), t, lodger{e, "/bench"}, lockstepOf(2), catalog.Recipes(), func(d *results.Document) {
		docs = append(docs, d)
		if got := children(t, conn, "/"); !slices.Equal(got, root) {
			t.Errorf("beside the chroot stand %v, and before the run %v", got, root)
		}
		if got := children(t, conn, "/bench"); len(got) != 1 || !strings.HasPrefix(got[0], "zkbench-") {
			t.Errorf("below the chroot stand %v, want the run's root alone", got)
		}
	})
	if err != nil || len(docs) == 0 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	if got := children(t, conn, "/bench"); len(got) > 0 {
		t.Errorf("the run left %v", got)
	}
	if got := docs[0].Environment.Chroot; got != "/bench" {
		t.Errorf("the document says chroot %q", got)
	}
}

func children(t *testing.T, conn *zk.Conn, path string) []string {
	t.Helper()
	names, _, err := conn.Children(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(names))
}
