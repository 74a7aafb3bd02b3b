package variants

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/variants/session"
)

// Driver is a program through which clients of a library in another language take part in a recipe. Its protocol is in
// docs/drivers.md.
type Driver struct {
	Program string   // its file in the recipe's Code, such as "drivers/CuratorLock.java", or the absolute path of a user's own
	Args    []string // for the program, such as which of its locks to use
	// Notified reports whether a waiting client continues only after a notification, so that the runner can report at once
	// that a load stands still. It is for variants that are known to be broken; other libraries may look again after some time.
	Notified bool
}

// WithDriver completes a variant whose participants are in a driver.
func WithDriver(driver Driver, join JoinFunc, v Variant) Variant {
	v.Kind, v.Driver, v.Join = Library, &driver, join
	return v
}

// Caller is one client in a driver. It makes one call at a time.
type Caller interface {
	// Call lets the client do something, and returns the result when it is done. The error is the library's, as the driver
	// reports it, or the error of ctx: the client then continues by itself.
	Call(ctx context.Context, verb string) (result string, err error)
	// Reconnects returns how many times the client's session has moved to another connection.
	Reconnects() int
}

// Driven is a participant's client in a driver.
type Driven struct {
	session *session.Session // says when the driver's session is lost
	Caller
}

// NewDriven returns the client of a participant in a driver. It fails if the participant has a size, because a client in a
// driver takes part once.
func NewDriven(_ context.Context, env Env) (Driven, error) {
	if env.Size > 1 {
		return Driven{}, errors.New("a client in a driver takes part once: --size must be 1")
	}
	return Driven{env.Session, env.Driven}, nil
}

// Lost returns the channel that is closed when the session is lost.
func (d Driven) Lost() <-chan struct{} { return d.session.Lost() }

// Call is [Caller.Call] until the session is lost. It then returns ErrSessionLost.
func (d Driven) Call(ctx context.Context, verb string) (string, error) {
	ctx, cancel := session.UntilLost(ctx, d.session.Lost(), d.session.Alive)
	defer cancel()
	text, err := d.Caller.Call(ctx, verb)
	if err != nil && d.session.Alive() != nil {
		return "", session.ErrSessionLost
	}
	return text, err
}

// Do is Call for a verb without a result.
func (d Driven) Do(ctx context.Context, verb string) error {
	_, err := d.Call(ctx, verb)
	return err
}

// Acquire is Call for a verb that acquires something. The result is its fencing token.
func (d Driven) Acquire(ctx context.Context, verb string) (session.Grant, error) {
	text, err := d.Call(ctx, verb)
	if err != nil {
		return session.Grant{}, err
	}
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return session.Grant{}, fmt.Errorf("the driver's answer to %s is %.100q, and a token is a 64-bit integer", verb, text)
	}
	return session.Grant{Token: token, Lost: d.Lost()}, nil
}
