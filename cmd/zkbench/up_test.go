package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// serving is a process of `zkbench ensemble up --ensemble embedded`.
type serving struct {
	*exec.Cmd
	said    lockedBuffer
	servers string // its connect string
}

func startServing(t *testing.T, args ...string) *serving {
	t.Helper()
	s := &serving{Cmd: exec.CommandContext(t.Context(), must.Get(os.Executable())(t), "ensemble", "up", "--ensemble", "embedded")}
	s.Args = append(s.Args, args...)
	s.Env, s.Stderr = append(os.Environ(), asBinary+"=1"), &s.said
	stdout := must.Get(s.StdoutPipe())(t)
	must.Do(t, s.Start())
	lines := bufio.NewScanner(stdout)
	for s.servers == "" && lines.Scan() {
		s.servers, _ = strings.CutPrefix(lines.Text(), "connect string: ")
		if s.servers == lines.Text() {
			s.servers = ""
		}
	}
	if s.servers == "" {
		t.Fatalf("no connect string: %v; said %s", s.Wait(), s.said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return s
}

// use creates and reads a znode as an application does.
func use(t *testing.T, servers string) {
	t.Helper()
	conn, _, err := zk.Connect(strings.Split(servers, ","), 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	must.Do(t, err)
	defer conn.Close()
	must.Get(conn.Create("/greeting", []byte("hello"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	if data, _, err := conn.Get("/greeting"); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
}

// Embedded servers serve programs, observations and runs until an interrupt, which is their regular end and leaves nothing.
func TestServingUntilInterrupted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		servers int
		args    []string
	}{
		{"one", 1, []string{"--ports", fmt.Sprint(must.Get(ensemble.FreePorts(1))(t)[0])}},
		{"three", 3, []string{"--voters", "3", "--lag", "1ms"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := testName("serving-" + tt.name)
			s := startServing(t, append(tt.args, "--name", name)...)
			if got := len(strings.Split(s.servers, ",")); got != tt.servers || tt.servers == 1 && s.servers != "127.0.0.1:"+tt.args[1] {
				t.Errorf("%d servers at %s", got, s.servers)
			}
			use(t, s.servers)
			says(t, outcome.CodeFailed, ensemble.ErrBusy.Error(), "run", "lock-drain", "--ensemble", "embedded", "--name", name)
			report, said, code := observed(t, func(address string, _ *lockedBuffer) {
				prints(t, outcome.CodePass, "results in", "run", "lock-drain", "--variants", "znode", "--clients", "3", "--repeats", "1",
					"--servers", address, "--out", filepath.Join(t.TempDir(), "out"))
			}, "--servers", s.servers)
			if code != outcome.CodePass || !strings.Contains(report, "sessions") {
				t.Errorf("observe: exit code %d, said %s, printed %s", code, said, report)
			}
			must.Do(t, s.Process.Signal(os.Interrupt))
			if err := s.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			hasAll(t, s.said.String(), "serving until Ctrl-C", "stopping: the embedded servers end, and their data with them")
			if left := must.Get(filepath.Glob("/tmp/zkbench-*" + name + "*"))(t); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// Servers with a password print the flags for it, which give a run access to them, and leave no file of it.
func TestServingWithADigest(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	name := testName("digest")
	ctx, cancel := context.WithCancelCause(t.Context())
	var out, said lockedBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, app{stdout: &out, stderr: &said, started: &started{}, args: []string{"ensemble", "up", "--ensemble", "embedded",
			"--name", name, "--digest"}})
	}()
	awaitText(t, &said, "serving until Ctrl-C")
	file := filepath.Join(cache, "zkbench", "embedded", name, "digest")
	hasAll(t, out.String(), "flags for --servers: --auth digest:"+file+"\n\nconnect string: ")
	_, servers, _ := strings.Cut(strings.TrimSpace(out.String()), "connect string: ")
	prints(t, outcome.CodePass, "results in", "run", "lock-drain", "--variants", "znode", "--clients", "3", "--repeats", "1",
		"--servers", servers, "--auth", "digest:"+file, "--out", filepath.Join(t.TempDir(), "out"))
	cancel(errInterrupted)
	if got := <-code; got != outcome.CodePass {
		t.Errorf("exit code %d: %s", got, said.String())
	}
	if left := must.Get(filepath.Glob(filepath.Join(cache, "*")))(t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A command waits for servers that another one uses, if it is told to.
func TestWaitForServers(t *testing.T) {
	t.Parallel()
	name := testName("wait")
	s := startServing(t, "--name", name)
	var out, said lockedBuffer
	code := make(chan int, 1)
	dir := filepath.Join(t.TempDir(), "out")
	go func() {
		code <- run(t.Context(), app{stdout: &out, stderr: &said, started: &started{}, args: []string{"run", "lock-drain", "--variants", "znode",
			"--clients", "2", "--repeats", "1", "--ensemble", "embedded", "--name", name, "--wait", "10m", "--out", dir}})
	}()
	awaitText(t, &said, fmt.Sprintf("(process %d: ", s.Process.Pid))
	must.Do(t, s.Process.Signal(os.Interrupt))
	must.Do(t, s.Wait())
	if got := <-code; got != outcome.CodePass {
		t.Errorf("exit code %d: %s%s", got, said.String(), out.String())
	}
}

// An interrupt ends a wait.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	name := testName("wait-interrupted")
	lock := must.Get(ensemble.TryLock("embedded-" + name))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	var out, said lockedBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, app{stdout: &out, stderr: &said, started: &started{}, args: []string{"ensemble", "up", "--ensemble", "embedded",
			"--name", name, "--wait", "10m"}})
	}()
	awaitText(t, &said, "waiting for it, up to 10m")
	cancel(errInterrupted)
	if got := <-code; got != outcome.CodeInterrupted {
		t.Errorf("exit code %d: %s", got, said.String())
	}
	must.Do(t, lock.Release())
}
