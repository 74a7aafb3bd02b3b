package container_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// name differs from that of the shared ensemble.
var name = ensembletest.Name() + "-container"

func require(t *testing.T) {
	t.Helper()
	ensembletest.Require(t, container.Available(t.Context()))
	t.Cleanup(func() {
		must.Get(container.Down(context.WithoutCancel(t.Context()), ensemble.Options{Name: name}))(t)
	})
}

func left(ctx context.Context) string {
	names, err := container.Names(ctx)
	if err != nil {
		return err.Error()
	}
	if slices.Contains(names, name) {
		return name
	}
	return ""
}

func TestLiveFailedStartLeavesNothing(t *testing.T) {
	require(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	used := listener.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		name, want string
		opts       ensemble.Options
	}{
		{"a port is in use", "is in use", ensemble.Options{Ports: []int{used, used + 1, used + 2}}},
		{"no such image", "could not be pulled", ensemble.Options{Image: "zkbench/no-such-image:0"}},
	} {
		tt.opts.Name = name
		if _, err := container.Up(t.Context(), tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.want)
		}
		if left := left(t.Context()); left != "" {
			t.Errorf("%s: left behind: %s", tt.name, left)
		}
	}
}
