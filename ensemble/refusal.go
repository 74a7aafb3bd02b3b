package ensemble

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// enoughRefusals is how many connections in a row a server may close before a session exists. The client library tries
// once a second, and would go on for as long as it is let; what is wrong is to be known within five seconds.
const enoughRefusals = 2

// refusals counts the connections that a server accepts and closes before the session exists. Its methods are called by
// the client's one goroutine that connects.
type refusals struct {
	n         int
	connected bool
	enough    chan struct{} // capacity 1; receives after every enoughRefusals in a row
}

func newRefusals() *refusals { return &refusals{enough: make(chan struct{}, 1)} }

func (r *refusals) observe(state zk.State) {
	switch state {
	case zk.StateConnected:
		r.connected = true
	case zk.StateHasSession:
		r.connected, r.n = false, 0
	case zk.StateDisconnected:
		if !r.connected {
			return
		}
		r.connected = false
		if r.n++; r.n%enoughRefusals == 0 {
			select {
			case r.enough <- struct{}{}:
			default:
			}
		}
	default:
	}
}

// explainRefusals returns why a server closes connections, or nil if it is between two leaders, which will pass.
func explainRefusals(ctx context.Context, addr string) error {
	if _, err := Srvr(ctx, addr); errors.Is(err, ErrNotServing) {
		return nil
	}
	return fmt.Errorf("the server closed %d connections in a row before a session existed: it may be out of connections for this address (maxClientCnxns, 60 by default) or in all (maxCnxns): raise the limit there, or ask for fewer clients", enoughRefusals)
}
