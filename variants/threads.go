package variants

import (
	"context"
	"errors"
	"sync"
	"time"
)

// JoinThreads makes a Join from the Join of a lock or the like. The result makes as many participants as the size says, on
// one session.
func JoinThreads(join JoinFunc) JoinFunc {
	return func(ctx context.Context, env Env) (Participant, error) {
		if env.Size <= 1 {
			return join(ctx, env)
		}
		var all threads
		for number := range env.Size {
			own := env
			if number > 0 {
				own = env.Beside(number)
			}
			p, err := join(ctx, own)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		if _, standing := all[0].(Standing); standing {
			return standingThreads{all}, nil
		}
		return all, nil
	}
}

type threads []Participant

// threadDelay is the time between the beginnings of two threads' steps. Threads that always began at the same moment would
// never find a znode that another one has just created.
const threadDelay = 2 * time.Millisecond

func (all threads) Step(ctx context.Context) error {
	return all.each(func(number int, p Participant) error {
		if err := WaitFor(ctx, time.Duration(number)*threadDelay, nil, nil); err != nil {
			return err
		}
		return p.Step(ctx)
	})
}

func (all threads) Leave(ctx context.Context) error {
	return all.each(func(_ int, p Participant) error { return p.Leave(ctx) })
}

type standingThreads struct{ threads }

func (all standingThreads) Stand(ctx context.Context) error {
	return all.each(func(_ int, p Participant) error { return p.(Standing).Stand(ctx) })
}

func (all standingThreads) Returns(again bool) {
	for _, p := range all.threads {
		p.(Standing).Returns(again)
	}
}

func (all threads) each(do func(number int, p Participant) error) error {
	errs := make([]error, len(all))
	var working sync.WaitGroup
	for i, p := range all {
		working.Go(func() { errs[i] = do(i, p) })
	}
	working.Wait()
	return errors.Join(errs...)
}

// Standing is a participant that takes its place in line for its next step at the end of one, if it will take another step. Its formulas
// hold for steps of which all but the last one end so, and neither in open loads nor in stages, in which no client knows whether it comes
// back.
type Standing interface {
	// Stand takes the place of a participant that has none, for a step that follows soon.
	Stand(ctx context.Context) error
	// Returns is called before a step, and says whether another step is certain to follow it, unless the participant fails.
	Returns(again bool)
}
