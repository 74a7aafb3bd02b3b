package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/zkbench/zkbench/ensemble"
)

var _ ensemble.HeapMeter = (*Ensemble)(nil)

// HeapUsed implements [ensemble.HeapMeter].
func (e *Ensemble) HeapUsed(ctx context.Context) (int64, error) {
	return e.SumHeaps(func(i int) (int64, error) { return heapOf(ctx, serverDir(e.dir, e.Members[i].ID)) })
}

func heapOf(ctx context.Context, server string) (int64, error) {
	pid, alive := running(server)
	if !alive {
		return 0, errors.New("it is not running")
	}
	path := filepath.Join(server, logFile)
	before, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return 0, err
	}
	return ensemble.AwaitHistogram(ctx, func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return string(text[min(before.Size(), int64(len(text))):]), nil
	})
}
