package pool

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/variants/catalog"
)

// silent is a server that accepts connections and never answers.
type silent struct{}

func (silent) DialContext(context.Context, string, string) (net.Conn, error) {
	client, _ := dial.Pipe()
	return client, nil
}

// If no further session is established, the measurement ends with the number of established ones, which is shown until then.
func TestConnectingStops(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		servers := append(e.Servers(), ensemble.Server{Name: "silent", Addr: "192.0.2.2:2181", Dialer: silent{}})
		var joined atomic.Int64
		begun := time.Now()
		at := Config{Servers: servers, Clients: 5, Root: "/", Joined: func() { joined.Add(1) }}
		_, err := Connect(t.Context(), at, catalog.Recipes()[0].Variants[0])
		if err == nil || !strings.Contains(err.Error(), "3 of 5 sessions are established") || !strings.Contains(err.Error(), "maxClientCnxns") {
			t.Errorf("error = %v, want how many sessions are established, and what to look at", err)
		}
		patience := ConnectTimeout
		if took := time.Since(begun); took < patience || took > 3*patience || joined.Load() != 3 {
			t.Errorf("it took %s, and %d joined", took, joined.Load())
		}
	})
}

// A number that grows between two ticks, however slowly, is not stuck.
func TestWhileGrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		stuck := make(chan int64, 1)
		stop := WhileGrowing(n.Load, time.Hour, func(n int64) { stuck <- n })
		for range 5 {
			time.Sleep(time.Hour - time.Minute)
			n.Add(1)
		}
		select {
		case at := <-stuck:
			t.Errorf("stuck at %d", at)
		default:
		}
		if at := <-stuck; at != 5 {
			t.Errorf("stuck at %d, want 5", at)
		}
		stop()
	})
}

// Every other client of a crowd uses the second address of its server, unless clients fail.
func TestHome(t *testing.T) {
	t.Parallel()
	servers := []ensemble.Server{{Name: "a", Addr: "a1", Second: "a2"}, {Name: "b", Addr: "b1"}}
	for _, tt := range []struct {
		clients int
		faults  bool
		want    string
	}{
		{100, false, "a1 b1 a1 b1"},
		{2 * crowd, false, "a1 b1 a2 b1"},
		{2 * crowd, true, "a1 b1 a1 b1"},
	} {
		at := Config{Servers: servers, Clients: tt.clients, Faults: tt.faults}
		var got []string
		for i := range 4 {
			got = append(got, at.Home(i).Addr)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%d clients, faults %t: %s, want %s", tt.clients, tt.faults, text, tt.want)
		}
	}
}
