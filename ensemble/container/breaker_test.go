package container_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/results/must"
)

// servers is a docker command with the containers c1, c2 and c3 of a kept ensemble. For each there is a file with its status and
// its networks. Commands that change them are logged. The first attempt to pause fails if there is a file named "stiff".
const servers = `case "$1" in
ps) ls -d c? ;;
inspect)
	shift 3
	for id; do
		echo "zoo${id#c} $id image:1 kept disk none $(cat $id) 1234${id#c}"
	done ;;
network)
	case "$2" in
	inspect) echo 10.0.9.0/24 ;;
	*) echo "$@" >>log ;;
	esac ;;
*)
	echo "$@" >>log
	if [ "$1" = pause ] && rm stiff 2>/dev/null; then
		echo "Error response from daemon: Cannot pause container: OCI runtime pause failed: unable to freeze: unknown" >&2
		exit 1
	fi ;;
esac
`

// fakeServers installs that docker command, with the state of each container, and returns a function that reads its log.
func fakeServers(t *testing.T, states ...string) (log func() []string) {
	t.Helper()
	files := map[string]string{}
	for i, state := range states {
		files[fmt.Sprintf("c%d", i+1)] = state
	}
	return container.FakeDocker(t, servers, files)
}

// The states of containers, as docker inspect prints them.
const (
	well   = "running p p_clients,p_quorum,"
	killed = "exited p p_clients,p_quorum,"
	paused = "paused p p_clients,p_quorum,"
	cutOff = "running p p_clients,"
)

// An ensemble with broken servers is found, with its faults, as long as one of its servers runs.
func TestFindBroken(t *testing.T) {
	fakeServers(t, killed, paused, cutOff)
	e := must.Get(container.Find(t.Context(), "x"))(t)
	faults, err := e.Faults(t.Context())
	if err != nil || len(faults) != 3 || faults["zoo1"] != ensemble.Kill || faults["zoo2"] != ensemble.Pause || faults["zoo3"] != ensemble.Partition {
		t.Errorf("faults = %v, %v", faults, err)
	}
	fakeServers(t, killed, killed, killed) // as after a reboot
	if _, err := container.Find(t.Context(), "x"); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("without a running server: %v, want ErrNotUp", err)
	}
}

// A container that cannot be paused at once is paused at the next attempt.
func TestPauseIsRepeated(t *testing.T) {
	log := fakeServers(t, well, well, well)
	e := must.Get(container.Find(t.Context(), "x"))(t)
	must.Do(t, os.WriteFile(filepath.Join(os.Getenv("ENGINE"), "stiff"), nil, 0o644))
	must.Do(t, e.Break(t.Context(), e.Servers()[1], ensemble.Pause))
	if got, want := log(), []string{"pause c2", "pause c2"}; !slices.Equal(got, want) {
		t.Errorf("docker was called with %q, want %q", got, want)
	}
}

// Each fault is caused by one command, and a server is restored by the commands that its state calls for.
func TestBreakerCommands(t *testing.T) {
	for _, tt := range []struct {
		fault ensemble.ServerFault
		state string // of the container afterwards
		want  []string
	}{
		{ensemble.Kill, killed, []string{"kill --signal KILL c2", "start c2"}},
		{ensemble.Pause, paused, []string{"pause c2", "unpause c2"}},
		{ensemble.Partition, cutOff, []string{"network disconnect p_quorum c2", "network connect --ip 10.0.9.3 p_quorum c2"}},
		{ensemble.Partition, "exited p p_clients,", []string{"network disconnect p_quorum c2", "network connect --ip 10.0.9.3 p_quorum c2", "start c2"}},
		{ensemble.Kill, well, []string{"kill --signal KILL c2"}}, // restored by hand meanwhile
	} {
		log := fakeServers(t, well, well, well)
		e := must.Get(container.Find(t.Context(), "x"))(t)
		must.Do(t, e.Break(t.Context(), e.Servers()[1], tt.fault))
		must.Do(t, os.WriteFile(filepath.Join(os.Getenv("ENGINE"), "c2"), []byte(tt.state), 0o644))
		must.Do(t, e.Restore(t.Context(), e.Servers()[1]))
		if got := log(); !slices.Equal(got, tt.want) {
			t.Errorf("%s, then %q: docker was called with %q, want %q", tt.fault, tt.state, got, tt.want)
		}
	}
}
