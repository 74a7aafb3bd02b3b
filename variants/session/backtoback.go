package session

import "context"

// SendAwaiter knows when a session sends its requests. The client library does not say so: its operations block until the reply,
// and two operations of different goroutines are sent in any order. Its network connection sees the order.
type SendAwaiter interface {
	// AwaitSend returns a channel that is closed when the session is about to send its next request for a path. A request that is
	// made after that is sent behind this one. The caller calls forget when it no longer waits.
	AwaitSend(path string) (sent <-chan struct{}, forget func())
}

// OrderBy makes the session send requests back to back, in an order that sends guarantees. Call it before the first operation.
func (s *Session) OrderBy(sends SendAwaiter) { s.sends = sends }

// CreateThenChildren makes one attempt to create a znode, and sends a listing of dir right behind it, without waiting for the reply
// to the create. Servers serve the requests of a session in their order. So the listing sees the created znode, and both take one
// round trip. Without [Session.OrderBy], the listing is sent after the reply.
//
// children is nil if the listing failed or was not sent. If the connection was lost between the two, the listing may not show
// the created znode.
func (s *Session) CreateThenChildren(
	ctx context.Context, path string, data []byte, flags int32, dir string,
) (created string, children []string, err error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	var sent <-chan struct{}
	if s.sends != nil {
		var forget func()
		sent, forget = s.sends.AwaitSend(path)
		defer forget()
	}
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		err = s.attempt(func(c Conn) (err error) {
			created, err = c.Create(path, data, flags, nil)
			return err
		})
	}()
	select {
	case <-sent:
	case <-replied:
		if err != nil {
			return "", nil, err
		}
	}
	listed := s.attempt(func(c Conn) (err error) {
		children, _, err = c.Children(dir)
		return err
	})
	if listed != nil {
		children = nil
	}
	<-replied
	return created, children, err
}
