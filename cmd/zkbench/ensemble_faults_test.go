package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// asVandal in the environment makes the test's binary a run that pauses a server of the kept ensemble with that name. It then
// waits until it is interrupted, or ignores that if asStubborn is set.
const (
	asVandal   = "ZKBENCH_TEST_AS_VANDAL"
	asStubborn = "ZKBENCH_TEST_AS_STUBBORN"
)

func vandal(name string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := app{stdout: os.Stdout, stderr: os.Stderr, started: &started{}}
	signals := catchSignals()
	go func() {
		awaitSecond(signals, cancel, a)
		os.Exit(outcome.CodeInterrupted)
	}()
	err := pauseUntilInterrupted(ctx, a, name)
	fmt.Fprintln(a.stderr, err)
	return exitCode(ctx, errors.Join(err, context.Cause(ctx)))
}

func pauseUntilInterrupted(ctx context.Context, a app, name string) (err error) {
	where, err := a.resolve(ctx, ensembleFlags{Choice: auto.Choice{Engine: "auto"}, Options: ensemble.Options{Name: name, Progress: a.stderr}})
	if err != nil {
		return err
	}
	target, err := a.openTarget(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.close(context.WithoutCancel(ctx))) }()
	e, ok := target.Ensemble.(ensemble.Breaker)
	if !ok {
		return errors.New("servers of this engine cannot be paused")
	}
	if err := e.Break(ctx, e.Servers()[0], ensemble.Pause); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "paused")
	<-ctx.Done()
	if os.Getenv(asStubborn) != "" {
		select {}
	}
	return nil
}

// Servers of a kept ensemble are broken and restored by hand, and restored on each way out of a run that has broken them.
func TestLiveFaultsByHand(t *testing.T) {
	for _, engine := range []struct {
		name      string
		available func(*testing.T) error
	}{
		{"container", func(t *testing.T) error { return container.Available(t.Context()) }},
		{"process", func(t *testing.T) error { t.Setenv("XDG_CACHE_HOME", t.TempDir()); return process.Available("") }},
	} {
		t.Run(engine.name, func(t *testing.T) {
			ensembletest.Require(t, engine.available(t))
			e := keptByHand{t, ensembletest.Name() + "-byhand"}
			e.ok("up", "--ensemble", engine.name)
			t.Cleanup(func() { e.ok("down") })
			e.checkKill()
			e.checkWaysOut()
			e.checkPartition(engine.name == "container")
		})
	}
}

type keptByHand struct {
	*testing.T
	name string
}

// says runs a command of `zkbench ensemble` and checks its exit code and that its output has all the texts.
func (e keptByHand) says(code int, wants []string, args ...string) {
	e.Helper()
	all := append([]string{"ensemble"}, append(args, "--name", e.name)...)
	stdout, stderr, got := command(context.WithoutCancel(e.Context()), all...)
	hasAll(e.T, stdout+stderr, wants...)
	if got != code || e.Failed() {
		e.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, got, code, stdout, stderr)
	}
}

func (e keptByHand) ok(args ...string) { e.Helper(); e.says(outcome.CodePass, nil, args...) }

// checkKill kills the leader: `status` and `up` name it, and `heal` restores it.
func (e keptByHand) checkKill() {
	heal := "`zkbench ensemble heal --name " + e.name + "`"
	e.says(outcome.CodeUsage, []string{"zoo1, zoo2, zoo3, leader, follower"}, "kill", "zoo9")
	e.says(outcome.CodePass, []string{"killed zoo", "(leader)", heal}, "kill", "leader")
	e.says(outcome.CodeFailed, []string{"not running", heal}, "status")
	e.says(outcome.CodeFailed, []string{"not running", heal}, "up")
	e.says(outcome.CodePass, []string{"was not running, and is restored", "all 3 servers"}, "heal")
	e.says(outcome.CodePass, []string{"leader", "follower"}, "status")
	e.says(outcome.CodePass, []string{"no fault to undo", "all 3 servers"}, "heal", "zoo1")
}

func (e keptByHand) checkPartition(possible bool) {
	if !possible {
		e.says(outcome.CodeUsage, []string{"cannot partition a server, only kill and pause"}, "partition", "zoo1")
		return
	}
	e.says(outcome.CodePass, []string{"cut off zoo", "(follower)"}, "partition", "follower")
	e.says(outcome.CodeFailed, []string{"cut off"}, "status")
	e.ok("heal")
}

// checkWaysOut interrupts a run that has paused a server, once by each signal.
func (e keptByHand) checkWaysOut() {
	for _, way := range []struct {
		name     string
		signals  []os.Signal
		stubborn bool // the run does not end at the first signal
	}{
		{"the terminal closes", []os.Signal{syscall.SIGHUP}, false},
		{"terminated", []os.Signal{syscall.SIGTERM}, false},
		{"asked twice", []os.Signal{os.Interrupt, syscall.SIGTERM}, true},
	} {
		if signal.Ignored(way.signals[0].(syscall.Signal)) {
			e.Logf("%s: not tested, as the signal is ignored here, such as by nohup, and then by a run, too", way.name)
			continue
		}
		run := e.startVandal(way.stubborn)
		e.says(outcome.CodeFailed, []string{"a run uses ensemble", "--force"}, "heal")
		e.says(outcome.CodeFailed, []string{"zoo1 is paused"}, "status")
		for _, signal := range way.signals {
			must.Do(e, run.Process.Signal(signal))
		}
		var exit *exec.ExitError
		if err := run.Wait(); !errors.As(err, &exit) || exit.ExitCode() != outcome.CodeInterrupted {
			e.Errorf("%s: %v, want exit code %d", way.name, err, outcome.CodeInterrupted)
		}
		found, err := find(e.Context(), ensembleFlags{Options: ensemble.Options{Name: e.name}})
		if err == nil {
			err = ensemble.CheckFaults(e.Context(), found)
		}
		if err != nil {
			e.Fatalf("%s: %v", way.name, err)
		}
		e.ok("heal") // waits for the quorum
	}
}

// startVandal starts a run that has paused a server when startVandal returns.
func (e keptByHand) startVandal(stubborn bool) *exec.Cmd {
	own := must.Get(os.Executable())(e)
	cmd := exec.CommandContext(e.Context(), own)
	cmd.Env = append(os.Environ(), asVandal+"="+e.name)
	if stubborn {
		cmd.Env = append(cmd.Env, asStubborn+"=1")
	}
	said := new(bytes.Buffer)
	cmd.Stderr = said
	e.Cleanup(func() {
		if e.Failed() {
			e.Log(said)
		}
	})
	stdout := must.Get(cmd.StdoutPipe())(e)
	must.Do(e, cmd.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "paused\n" {
		e.Fatalf("the run said %q, %v: %v", line, err, cmd.Wait())
	}
	return cmd
}
