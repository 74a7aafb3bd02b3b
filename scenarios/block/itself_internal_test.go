//go:build unix

package block

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/results/must"
)

const asStopped = "ZKBENCH_TEST_STOPPED"

// A process that is stopped finds that afterwards. The test runs itself as that process.
func TestWatchItself(t *testing.T) {
	if os.Getenv(asStopped) != "" {
		itself := watchItself(time.Now())
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		time.Sleep(shortestOwn) // until the next look
		itself.stop()
		for _, s := range itself.so() {
			fmt.Println("stood still", s.Length >= shortestOwn && s.Start >= 0)
		}
		os.Exit(0)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWatchItself$")
	child.Env = append(os.Environ(), asStopped+"=1")
	in, out := must.Get(child.StdinPipe())(t), must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child said %q", lines.Text())
	}
	must.Do(t, child.Process.Signal(syscall.SIGSTOP))
	time.Sleep(2 * shortestOwn)
	must.Do(t, child.Process.Signal(syscall.SIGCONT))
	must.Get(in.Write([]byte("\n")))(t)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	must.Do(t, child.Wait())
	if text := strings.Join(said, "\n"); !strings.Contains(text, "stood still true") {
		t.Errorf("the child said %q, want that it stood still", text)
	}
}

// A process that runs finds nothing, however long it has nothing to do.
func TestWatchItselfFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		itself := watchItself(time.Now())
		time.Sleep(time.Hour)
		itself.stop()
		if found := itself.so(); len(found) > 0 {
			t.Errorf("found %v", found)
		}
	})
}
