package runner

import (
	"context"
	"fmt"
	"time"
)

// drainPatience is the longest time after the load in which no request of the background is answered or fails. Within it, requests to
// a silent server fail. All that are left together may take longer: a load that slows the background down leaves many.
const drainPatience = time.Minute

// drain stops the background, and returns when every request that was due has been sent and has been answered or has failed.
func (b *background) drain(ctx context.Context) error {
	if b == nil || !b.started || b.drained {
		return nil
	}
	b.stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer whileGrowing(b.finished, growth{patience: drainPatience, stuck: func(finished int64) {
		cancel(fmt.Errorf("%d requests of the background are left after the load, and none was answered or failed within %s", b.allDue()-finished, drainPatience))
	}})()
	done := make(chan struct{})
	go func() { b.wait.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop lets no further request become due.
func (b *background) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drained = true
	b.until.Store(int64(time.Since(b.epoch)))
	close(b.stopping)
}

// finished returns how many requests have been answered or have failed.
func (b *background) finished() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return sum(b.done)
}

// allDue returns how many requests have been due since the beginning.
func (b *background) allDue() int64 { return sum(b.progress().due) }

func sum(each [kinds]int64) (total int64) {
	for _, n := range each {
		total += n
	}
	return total
}
