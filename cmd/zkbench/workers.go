package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/launch"
	"github.com/zkbench/zkbench/scenarios/remote"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// workerFlags say which processes have the clients, instead of this one.
type workerFlags struct {
	launch.Workers
	listen     string
	wait       time.Duration
	kubernetes launch.KubernetesOptions
}

// bindEngine declares the flags that say where workers are.
func (f *workerFlags) bindEngine(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.Workers, "workers", "ssh:HOST,… or kubernetes:N, which starts them,\nor N, which prints the command for each")
	flags.StringVar(&f.kubernetes.Context, "kube-context", "", "`context` of kubectl")
	flags.StringVar(&f.kubernetes.Namespace, "namespace", "", "`namespace` of the Job")
}

func (f *workerFlags) bind(cmd *cobra.Command) {
	f.bindEngine(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "",
		"`host:port` at which workers reach this process\n(default: this machine's way to the servers)")
	flags.DurationVar(&f.wait, "workers-wait", time.Minute, "how long workers may take to join")
	flags.StringVar(&f.kubernetes.Image, "worker-image", "", "`image` with zkbench, for kubernetes")
	flags.StringVar(&f.kubernetes.CPU, "worker-cpu", "2", "CPUs of each pod")
	flags.StringVar(&f.kubernetes.Memory, "worker-memory", "1Gi", "memory of each pod")
	flags.StringToStringVar(&f.kubernetes.AwayFrom, "away-from", nil,
		"`labels` of pods with which no worker shares a\nmachine, such as app=zookeeper")
	flags.StringToStringVar(&f.kubernetes.Secrets, "worker-secret", nil,
		"Secret and its path in each pod: a `mount`\nsuch as zk-tls=/etc/zk/tls")
	flags.StringVar(&f.kubernetes.Spread, "spread", "", "`label` of nodes over which pods are spread\n(default kubernetes.io/hostname)")
	putInGroup(cmd, workerGroup)
}

// share returns a scenario with the clients of one worker, whose limits are taken to be those of this machine.
func (f *workerFlags) share(s scenarios.Scenario) scenarios.Scenario {
	if workers := f.N(); workers > 0 {
		s.Clients = list.Map(s.Clients, func(n int) int { return (n + workers - 1) / workers })
	}
	return s
}

// admitWorkers returns an error if scenarios cannot run on the workers of --workers.
func (a *app) admitWorkers(where site) error {
	f := &where.workers
	switch {
	case f.N() == 0:
		return nil
	case strings.HasPrefix(f.String(), "kubernetes") && f.kubernetes.Image == "":
		return errors.New("--workers kubernetes needs --worker-image, an image with this zkbench")
	case len(a.drivers) > 0:
		return errors.New("--driver has its clients in this process: leave out --workers")
	case where.engine != ensemble.External && !f.Manual():
		return fmt.Errorf("--workers %s: servers that zkbench starts can only be reached on this machine: give --servers", f)
	}
	for _, s := range where.selected {
		switch recipe, n := s.RecipeAmong(a.recipes()), slices.Min(s.Clients); {
		case s.Mode == scenarios.Lockstep:
			return fmt.Errorf("%s: a load in lockstep has all clients in one process: leave out --workers", s.Name)
		case recipe.Together && f.N() > 1:
			return fmt.Errorf("%s: the clients of recipe %s share memory: leave out --workers", s.Name, recipe.Name)
		case n < f.N():
			return fmt.Errorf("%s: %d clients for %d workers: each worker needs one", s.Name, n, f.N())
		}
	}
	return nil
}

// crew is the workers of a run; nil without --workers.
type crew struct {
	controller *remote.Controller
	started    launch.Started
	done       func() // removes the workers from app.started
}

// gather starts the workers, unless the user does, and gives them to a runner when all have joined. The crew must be ended in any case.
func (a *app) gather(ctx context.Context, f *workerFlags, t target, r *runner.Runner) (*crew, error) {
	if f.N() == 0 {
		return nil, nil
	}
	address, err := f.address(ctx, t.Servers())
	if err != nil {
		return nil, err
	}
	controller, err := remote.Listen(address, remote.Self(""), block.Known())
	if err != nil {
		return nil, usage(fmt.Errorf("--listen: %w", err))
	}
	c := &crew{controller: controller, done: func() {}}
	if !f.Manual() {
		c.done = a.started.add(item{what: "workers", command: "zkbench clean --workers " + f.String()})
	}
	job := launch.Job{
		Run: t.run, Join: controller.Addr().String(), Token: controller.Token(), Args: t.AccessFlags, Say: r.Notice,
		Kubernetes: f.kubernetes,
	}
	if c.started, err = launch.Start(ctx, f.Workers, job); err != nil {
		c.done() // nothing of the workers remains
		return nil, errors.Join(err, controller.Close())
	}
	if f.Manual() {
		r.Notice(fmt.Sprintf("start %d workers, each by: %s=%s zkbench worker --join %s", f.N(), tokenVariable, job.Token,
			strings.Join(append([]string{job.Join}, job.Args...), " ")))
	}
	if r.Workers, err = c.join(ctx, f.N(), f.wait); err == nil {
		r.Notice("workers: " + strings.Join(list.Map(r.Workers, (*remote.Worker).String), ", "))
	}
	return c, err
}

// address returns where workers reach this process: as the flag says, or as this machine reaches the first server.
func (f *workerFlags) address(ctx context.Context, servers []ensemble.Server) (string, error) {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		host, port = "", cmp.Or(f.listen, "0")
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listenAddress("listen", f.listen)
	}
	way, err := servers[0].Dial(ctx)
	if err != nil {
		return "", err
	}
	defer way.Close()
	own, _, err := net.SplitHostPort(way.LocalAddr().String())
	return net.JoinHostPort(own, port), err
}

// join waits until all workers have joined. A worker that ends before ends the wait.
func (c *crew) join(ctx context.Context, n int, wait time.Duration) ([]*remote.Worker, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case text := <-c.started.Exited():
			cancel(errors.New(text))
		case <-waiting.Done():
		}
	}()
	workers, err := c.controller.Gather(waiting, n, wait)
	if err != nil {
		missing, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer stop()
		if text := c.started.Missing(missing); text != "" {
			err = fmt.Errorf("%w\n%s", err, text)
		}
	}
	return workers, err
}

// end ends the workers, first by the end of the connection.
func (c *crew) end(ctx context.Context) error {
	if c == nil {
		return nil
	}
	var early error // of a worker that has ended before the run
	select {
	case text := <-c.started.Exited():
		early = errors.New(text)
	default:
	}
	closed, err := c.controller.Close(), c.started.End(ctx)
	if err == nil {
		c.done()
	}
	return errors.Join(early, closed, err)
}
