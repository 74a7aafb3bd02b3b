package runner_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gopsnet "github.com/shirou/gopsutil/v4/net"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/variants"
)

// pauseLength is longer than a JVM takes to start on a busy machine: pauses at its start are in the server's maximum, too.
const pauseLength = 3 * time.Second

// interrupted is a participant before one of whose steps something happens.
type interrupted struct {
	variants.Participant
	steps  int
	before func(ctx context.Context, step int) error
}

func (i *interrupted) Step(ctx context.Context) error {
	i.steps++
	if err := i.before(ctx, i.steps); err != nil {
		return err
	}
	return i.Participant.Step(ctx)
}

// A server that stands still during a measurement is named in the document, with the stretch in which nothing was done.
func TestLivePausedServerIsNamed(t *testing.T) {
	e := onServers(t)
	server := e.Servers()[len(e.Servers())-1] // the only client is on the first
	s := uncontended()
	s.Operations, s.WarmUp, s.Variants = 100, 0, []string{"znode"}
	joined := 0
	docs := mustMeasure(t, e, s, sabotage("znode", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			p, err := join(ctx, env)
			if joined++; joined == 1 { // the rehearsal
				return p, err
			}
			return &interrupted{Participant: p, before: func(ctx context.Context, step int) error {
				if step != 50 {
					return nil
				}
				return pause(ctx, e, server)
			}}, err
		}
	}))
	d := docs[0]
	named := func(reason string) bool { return strings.HasPrefix(reason, server.Name) }
	if !slices.ContainsFunc(doubts.Delayed(d), named) || !slices.ContainsFunc(d.Warnings, named) {
		t.Errorf("%s is not named: delayed by %q, warnings %q, servers %+v", server.Name, doubts.Delayed(d), d.Warnings, d.Servers)
	}
	if len(d.Servers) != len(e.Servers()) || len(d.Invalid) > 0 || !d.Oracle.Checked {
		t.Errorf("servers %+v, invalid %q, oracle %+v", d.Servers, d.Invalid, d.Oracle)
	}
}

// pause stops a server for a while. It finds the server's process before that, since a search would lengthen the pause.
func pause(ctx context.Context, e ensemble.Ensemble, s ensemble.Server) error {
	d, err := e.Describe(ctx)
	if err != nil {
		return err
	}
	find := findProcess
	if d.Engine == ensemble.Container {
		find = findContainer
	}
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	server, err := find(ctx, port)
	if err != nil {
		return err
	}
	if err := server.stop(); err != nil {
		return err
	}
	time.Sleep(pauseLength) // a pause has a length; nothing is waited for
	return server.resume()
}

// pausable is a server that can be stopped for a while.
type pausable struct{ stop, resume func() error }

// findContainer finds the container that publishes a port.
func findContainer(ctx context.Context, port string) (pausable, error) {
	out, err := exec.CommandContext(ctx, "docker", "ps", "--quiet", "--filter", "publish="+port).Output()
	if err != nil {
		return pausable{}, fmt.Errorf("find the container at port %s: %w", port, err)
	}
	id := strings.TrimSpace(string(out))
	docker := func(command string) error {
		if out, err := exec.CommandContext(ctx, "docker", command, id).CombinedOutput(); err != nil {
			return fmt.Errorf("docker %s: %w: %s", command, err, out)
		}
		return nil
	}
	return pausable{
		stop:   func() error { return docker("pause") },
		resume: func() error { return docker("unpause") },
	}, nil
}

// findProcess finds the process that listens on a port.
func findProcess(ctx context.Context, port string) (pausable, error) {
	connections, err := gopsnet.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return pausable{}, fmt.Errorf("find the process at port %s: %w", port, err)
	}
	i := slices.IndexFunc(connections, func(c gopsnet.ConnectionStat) bool {
		return c.Status == "LISTEN" && strconv.Itoa(int(c.Laddr.Port)) == port && c.Pid > 0
	})
	if i < 0 {
		return pausable{}, fmt.Errorf("no process listens on port %s", port)
	}
	pid := int(connections[i].Pid)
	return pausable{
		stop:   func() error { return syscall.Kill(pid, syscall.SIGSTOP) },
		resume: func() error { return syscall.Kill(pid, syscall.SIGCONT) },
	}, nil
}
