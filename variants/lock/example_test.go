package lock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// Here the program brings its own server. Yours has the addresses of an ensemble.
func Example() {
	server, err := embedded.Listen(embedded.Config{})
	if err == nil {
		err = workAlone(context.Background(), server.Addr())
	}
	fmt.Println(err)
	// Output:
	// at work, with fencing token 0
	// <nil>
}

// workAlone works while no other client of these servers does.
func workAlone(ctx context.Context, servers ...string) error {
	s, err := session.Open(ctx, servers, 10*time.Second)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Ensure(ctx, "/job", nil, 0); err != nil {
		return err
	}
	l := lock.NewPredecessorWatch(s, "/job")
	grant, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Println("at work, with fencing token", grant.Token) // until the work is done, or grant.Lost is closed
	return l.Release(ctx)
}
