package masterworker

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// servicePause is the time after which a service goes on that has failed.
const servicePause = 50 * time.Millisecond

// service is what a participant does in the background. It ends when the session is lost.
type service struct {
	session *variants.Session
	act     func(context.Context) (bool, error) // does one thing that is due, or returns false
	await   func(context.Context) error         // returns when something may be due
	end     context.CancelFunc
	done    chan struct{}

	mu  sync.Mutex
	err error // since the last call of failure
}

// start begins the service. The context ends it no sooner than stop does.
func (s *service) start(ctx context.Context) {
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for ctx.Err() == nil && s.session.Alive() == nil {
			s.fail(s.serve(ctx))
			_ = s.session.Sleep(ctx, servicePause)
		}
	}()
}

// serve does what is due until something fails, and returns what.
func (s *service) serve(ctx context.Context) error {
	for {
		acted, err := s.act(ctx)
		if err == nil && !acted {
			err = s.await(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (s *service) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// failure returns what has failed since the last call, or ErrSessionLost.
func (s *service) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = nil
	if alive := s.session.Alive(); alive != nil {
		return alive
	}
	return err
}

// stop ends the service and waits for it. It may be called on nil.
func (s *service) stop() {
	if s == nil {
		return
	}
	s.end()
	<-s.done
}
