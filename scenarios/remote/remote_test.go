package remote_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios/remote"
)

func double(_ context.Context, _ string, args any) (any, error) { return 2 * args.(int), nil }

// The same over TCP on loopback, with the description of this process.
func TestLoopback(t *testing.T) {
	self := remote.Self("rack 1")
	c := must.Get(remote.Listen("127.0.0.1:0", self, nil))(t)
	joins := make(chan error)
	for range 3 {
		go func() {
			joins <- remote.Join(t.Context(), c.Addr().String(), c.Token(), remote.Self("rack 1"), nil, double)
		}()
	}
	workers := must.Get(c.Gather(t.Context(), 3, time.Minute))(t)
	for i, w := range workers {
		if got, err := w.Do(t.Context(), "double", i); got != 2*i || err != nil {
			t.Errorf("twice %d is %v, %v", i, got, err)
		}
		now := time.Since(self.Epoch())
		if h := w.Hello(); h.Build != self.Build || h.Zone != "rack 1" || h.CPUs < 1 {
			t.Errorf("the worker says %+v", h)
		}
		if there := w.Clock().Ours(w.Clock().Theirs(now)); (there - now).Abs() > 2 {
			t.Errorf("%v is %v there and back", now, there)
		}
		t.Logf("worker %v: bound %v", w, w.Clock().Bound())
	}
	must.Do(t, c.Close())
	for range workers {
		must.Do(t, <-joins)
	}
}
