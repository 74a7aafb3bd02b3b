package process_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/must"
)

var name = ensembletest.Name() + "-process"

// require skips the test if ZooKeeper is not installed, and keeps the ensemble's state out of the user's home.
func require(t *testing.T) (state string) {
	t.Helper()
	ensembletest.Require(t, process.Available(""))
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() {
		must.Get(process.Down(context.WithoutCancel(t.Context()), ensemble.Options{Name: name}))(t)
	})
	return filepath.Join(cache, "zkbench", "process", name)
}

// thief listens on a port of the first server, after the ports have been chosen and before the servers start.
type thief struct {
	state    string
	clients  bool // the port for clients instead of the one for elections
	listener net.Listener
}

func (th *thief) Write(p []byte) (int, error) {
	if th.listener != nil {
		return len(p), nil
	}
	config, err := os.ReadFile(filepath.Join(th.state, "zoo1", "zoo.cfg"))
	if err != nil {
		return 0, err
	}
	_, peers, _ := strings.Cut(string(config), "server.1=127.0.0.1:")
	peers, client, _ := strings.Cut(peers, ";127.0.0.1:")
	_, port, _ := strings.Cut(peers, ":")
	if th.clients {
		port, _, _ = strings.Cut(client, "\n")
	}
	th.listener, err = net.Listen("tcp", "127.0.0.1:"+port)
	return len(p), err
}

// Servers one of which finds its port taken are started again with other ports.
func TestLivePortTaken(t *testing.T) {
	th := &thief{state: require(t)}
	e := must.Get(process.Up(t.Context(), ensemble.Options{Name: name, Progress: th}))(t)
	if th.listener == nil {
		t.Fatal("no port was taken")
	}
	th.listener.Close()
	must.Do(t, e.Close(t.Context()))
}

// The servers of a crashed run are ended. A process that has reused the id of one of them is not touched.
func TestLiveReusedID(t *testing.T) {
	state := require(t)
	crashed := must.Get(process.Up(t.Context(), ensemble.Options{Name: name}))(t)
	must.Do(t, crashed.Release())
	// As if the first server had ended and its id had been reused for this process.
	pidFile := filepath.Join(state, "zoo1", "pid")
	first := must.Get(os.ReadFile(pidFile))(t)
	must.Do(t, os.WriteFile(pidFile, []byte("1"), 0o644))
	if ended, err := process.Down(t.Context(), ensemble.Options{Name: name}); err != nil || ended != ensemble.Size-1 {
		t.Errorf("ended %d processes, %v; want the two that are still ours", ended, err)
	}
	must.Do(t, syscall.Kill(must.Get(strconv.Atoi(string(first)))(t), syscall.SIGKILL)) // which the test has hidden from zkbench
}

func TestUnavailable(t *testing.T) {
	if err := process.Available(t.TempDir()); !errors.Is(err, ensemble.ErrUnavailable) {
		t.Errorf("an empty folder passed for a release: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	if err := process.Available(""); !errors.Is(err, ensemble.ErrUnavailable) {
		t.Errorf("a machine without Java passed: %v", err)
	}
}

// Servers start in folders with any names in UTF-8, also where the locale is "C", and report them as they are.
func TestLiveFolders(t *testing.T) {
	for _, locale := range []string{"C", "C.UTF-8", "tr_TR.ISO-8859-9"} {
		t.Run(locale, func(t *testing.T) {
			require(t)
			t.Setenv("LC_ALL", locale)
			cache := filepath.Join(t.TempDir(), `hü\u0041 #!=日`)
			t.Setenv("XDG_CACHE_HOME", cache)
			e := must.Get(process.Up(t.Context(), ensemble.Options{Name: name}))(t)
			d := must.Get(e.Describe(t.Context()))(t)
			if log := d.Config["dataLogDir"]; !strings.HasPrefix(log, cache) {
				t.Errorf("the transaction log is in %q, want it below %q", log, cache)
			}
			must.Do(t, e.Close(t.Context()))
		})
	}
}

// A server that finds a port taken that the user has chosen ends the start, and the error names the server.
func TestLiveChosenPortTaken(t *testing.T) {
	th := &thief{state: require(t), clients: true}
	ports := must.Get(ensemble.FreePorts(ensemble.Size))(t)
	_, err := process.Up(t.Context(), ensemble.Options{Name: name, Ports: ports, Progress: th})
	if !errors.Is(err, ensemble.ErrPortTaken) || !strings.Contains(err.Error(), "zoo1 | java.net.BindException: Address already in use") {
		t.Errorf("error = %v, want the server whose port was taken", err)
	}
	must.Do(t, th.listener.Close())
}
