package container_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
)

// engine is a docker command during a removal by a killed process. At first it refuses to remove the container, and the network
// while the container exists. Another container appears late.
const engine = `case "$1 $2" in
"ps -a") cat containers ;;
"network ls") cat networks ;;
"volume ls") cat volumes ;;
"rm --force")
	if [ ! -e refused ]; then touch refused; echo "removal of container $4 is already in progress" >&2; exit 1; fi
	if [ ! -e late ]; then echo c2 >late; cp late containers; else : >containers; fi ;;
"network rm") if [ -s containers ]; then echo "network has active endpoints" >&2; exit 1; fi; : >networks ;;
"volume rm") : >volumes ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`

// Down returns when nothing is left, and counts all objects that it has found.
func TestDownWaitsForRemovalsUnderWay(t *testing.T) {
	container.FakeDocker(t, engine, map[string]string{"containers": "c1\n", "networks": "n1\nn2\n", "volumes": "v1\n"})
	name := fmt.Sprintf("test-removal-%d", os.Getpid()) // one test run at a time may lock a name
	before, err := container.Inventory(t.Context(), name)
	if want := (container.Remains{Containers: 1, Networks: 2, Volumes: 1}); err != nil || before != want {
		t.Errorf("there are %s (%v), want %s", before, err, want)
	}
	removed, err := container.Down(t.Context(), ensemble.Options{Name: name})
	if want := (container.Remains{Containers: 1, Networks: 2, Volumes: 1}); err != nil || removed != want {
		t.Errorf("removed %s (%v), want %s", removed, err, want)
	}
	for _, kind := range []string{"containers", "networks", "volumes"} {
		if left, err := os.ReadFile(filepath.Join(os.Getenv("ENGINE"), kind)); err != nil || len(left) > 0 {
			t.Errorf("%s left: %s (%v)", kind, strings.TrimSpace(string(left)), err)
		}
	}
}
