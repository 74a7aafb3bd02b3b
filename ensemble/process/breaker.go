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
	pid, alive := running(server)
	if !alive {
		return fmt.Errorf("it is %s", ensemble.Kill.Condition())
	}
	signal := map[ensemble.ServerFault]syscall.Signal{ensemble.Kill: syscall.SIGKILL, ensemble.Pause: pause}[f]
	if err := send(pid, signal); err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	for alive && (f != ensemble.Pause || !stopped(pid)) {
		if err := ensemble.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		_, alive = running(server)
	}
	return nil
}

func (e *Ensemble) undo(_ context.Context, s ensemble.Server) error {
	server := serverDir(e.dir, s.ID)
	if pid, alive := running(server); alive {
		return send(pid, resume)
	}
	installation, err := findInstallation(e.home)
	if err != nil {
		return err
	}
	return launch(installation, server)
}
