package variants

import "context"

// Driver is a program through which clients of a library take part that is written in another language. docs/drivers.md has its protocol.
type Driver struct {
	Program string   // its file in the recipe's Code, such as "drivers/CuratorLock.java"
	Args    []string // for the program, such as which of its locks to use
	Needs   []Need
}

// Need is something that a driver cannot run without.
type Need struct {
	Path    string // a file, or a program if it has no slash
	Package string // of Debian, which has it
}

// Caller is one client in a driver. It does one thing at a time.
type Caller interface {
	// Call lets the client do something, and returns the result when it has. The error is the library's, as the driver reports it, or that
	// of ctx: the client then goes on by itself.
	Call(ctx context.Context, verb string) (result string, err error)
}
