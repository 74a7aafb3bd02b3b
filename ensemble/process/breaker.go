package process

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Faults implements [ensemble.Breaker].
func (e *Ensemble) Faults(context.Context) (map[string]ensemble.ServerFault, error) {
	if _, err := os.Stat(e.dir); err != nil { // taken down since
		return nil, err
	}
	faults := map[string]ensemble.ServerFault{}
	for _, s := range e.Members {
		switch pid, alive := running(serverDir(e.dir, s.ID)); {
		case !alive:
			faults[s.Name] = ensemble.Kill
		case stopped(pid):
			faults[s.Name] = ensemble.Pause
		}
	}
	return faults, nil
}

func (e *Ensemble) cause(ctx context.Context, s ensemble.Server, f ensemble.ServerFault) error {
	server := serverDir(e.dir, s.ID)
	signal, done := syscall.SIGKILL, func() bool { _, alive := running(server); return !alive }
	if f == ensemble.Pause {
		signal, done = syscall.SIGSTOP, func() bool { pid, alive := running(server); return !alive || stopped(pid) }
	}
	pid, alive := running(server)
	if !alive {
		return fmt.Errorf("it is %s", ensemble.Kill.Condition())
	}
	if err := send(pid, signal); err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return await(ctx, done)
}

func (e *Ensemble) undo(_ context.Context, s ensemble.Server) error {
	server := serverDir(e.dir, s.ID)
	if pid, alive := running(server); alive {
		return send(pid, syscall.SIGCONT)
	}
	installation, err := findInstallation(e.home)
	if err != nil {
		return err
	}
	return launch(installation, server)
}

func await(ctx context.Context, condition func() bool) error {
	for !condition() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
