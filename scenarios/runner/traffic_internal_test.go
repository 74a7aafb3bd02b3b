package runner

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// sender is a client that sends requests which no server answers.
type sender struct{ *wire.Conn }

// nowhere is a connection that discards its input.
type nowhere struct{ net.Conn }

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// newSender returns a sender whose requests are counted for a client.
func newSender(t *testing.T, c *pool.Client) sender {
	t.Helper()
	s := sender{c.Ledger.Wrap(nowhere{})}
	s.send(t, 1) // the connect request, which is housekeeping
	return s
}

func (s sender) send(t *testing.T, requests int) {
	t.Helper()
	frame := binary.BigEndian.AppendUint32(nil, 8)
	frame = binary.BigEndian.AppendUint32(frame, 1)
	frame = binary.BigEndian.AppendUint32(frame, uint32(wire.OpSync))
	for range requests {
		if _, err := s.Write(frame); err != nil {
			t.Error(err)
		}
	}
}

// faultyStream returns a stream without an observer, and a function that returns the requests of its busiest second.
func faultyStream(p *pool.Pool) (s *stream, requests func(t *testing.T) int64) {
	recipe := variants.Recipe{NewObserver: func(variants.Findings) variants.Observer { return variants.Observers{} }}
	r := recorder.New(recorder.Config{Clients: len(p.Clients), Faulty: true})
	return newStream(crewOf(p), recipe, r, nil), func(t *testing.T) int64 {
		t.Helper()
		d := &results.Document{}
		r.Close(d, recorder.Unserved{})
		return d.Failure.PeakRequests
	}
}

// A burst of requests remains one, although the stream keeps everything back for seconds.
func TestBurstWhileHeld(t *testing.T) {
	p := poolOf(1)
	from := newSender(t, p.Clients[0])
	s, peak := faultyStream(p)
	s.openWindow()
	release := s.KeepBack()
	s.drain()
	from.send(t, 300)
	s.drain()
	p.Epoch = p.Epoch.Add(-5 * time.Second) // five seconds later
	s.crew.epoch = p.Epoch
	s.drain()
	release()
	s.closeWindow()
	if got := peak(t); got < 150 { // of requests within five seconds, it would be 60
		t.Errorf("%d requests in the busiest second, want about 300", got)
	}
}

// Traffic, like counts, includes all lives of a client.
func TestTrafficOfLives(t *testing.T) {
	p := poolOf(2)
	for i, c := range p.Clients {
		newSender(t, c).send(t, 10+i)
		c.Reborn(pool.NewLife(1, p.Epoch, i, nil))
		newSender(t, c).send(t, 100)
	}
	counts := p.Counts()
	if got := p.Traffic(); got != counts.Traffic() || got.Requests != 221 {
		t.Errorf("traffic %+v, counts %+v, want 221 requests", got, counts.Traffic())
	}
}

// The busiest second of a window of up to a second has the requests of the window, although clients send requests while it opens
// and closes.
func TestTrafficOfShortWindows(t *testing.T) {
	for range 30 {
		p := poolOf(2)
		s, peak := faultyStream(p)
		stop, at := make(chan struct{}), newSender(t, p.Clients[0])
		var sending sync.WaitGroup
		sending.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					at.send(t, 1)
				}
			}
		})
		start := s.openWindow()
		newSender(t, p.Clients[1]).send(t, 1000)
		end := s.closeWindow()
		close(stop)
		sending.Wait()
		counts := s.closed
		counts.Sub(s.opened)
		if got := peak(t); end-start <= time.Second && got != counts.TotalRequests() {
			t.Fatalf("%d requests in the busiest second of a window with %d", got, counts.TotalRequests())
		}
	}
}
