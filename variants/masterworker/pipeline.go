package masterworker

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// window is how many requests a role that pipelines has outstanding: assignments of a master, or submissions of a
// client.
const window = 10

// pipeline calls do n times, with at most so many calls outstanding. It begins no call after an error, and returns all
// errors: one of them may say that the session is lost.
func pipeline(ctx context.Context, outstanding, n int, do func(i int) error) error {
	errs := make([]error, n)
	group, stop := errgroup.WithContext(ctx)
	group.SetLimit(outstanding)
	for i := range n {
		group.Go(func() error {
			if stop.Err() == nil {
				errs[i] = do(i)
			}
			return errs[i]
		})
	}
	if group.Wait() == nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}
