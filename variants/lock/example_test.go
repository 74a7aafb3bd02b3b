package lock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// A program does something while no other one holds the lock. Here it brings its own server; yours has addresses of an ensemble.
func Example() {
	ctx := context.Background()
	server, err := embedded.Listen(embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	s, err := session.Open(ctx, []string{server.Addr()}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Ensure(ctx, "/job", nil, 0); err != nil {
		log.Fatal(err)
	}
	l := lock.NewPredecessorWatch(s, "/job")
	grant, err := l.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("nobody else does it now; fencing token", grant.Token)
	if err := l.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: nobody else does it now; fencing token 0
}
