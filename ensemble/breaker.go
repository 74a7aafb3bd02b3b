package ensemble

import (
	"context"
	"time"
)

// ServerFault is a way in which a server can be made to fail.
type ServerFault string

// The server faults.
const (
	Kill      ServerFault = "kill"      // ends it at once, as a crash or a power failure does
	Pause     ServerFault = "pause"     // stops it without ending its connections, as a long garbage collection does
	Partition ServerFault = "partition" // cuts it off from the other servers, while clients still reach it
)

// Dater is an ensemble that knows when a server ended.
type Dater interface {
	// EndedAt returns when a server that was killed ended, by the machine's clock. It is an error if the server runs.
	EndedAt(ctx context.Context, s Server) (time.Time, error)
}

// Breaker is an ensemble whose servers zkbench can make fail. Its methods may be called concurrently for different servers.
type Breaker interface {
	Ensemble
	// ServerFaults returns the faults that this engine can cause.
	ServerFaults() []ServerFault
	// Break makes a server fail, and returns when it has. A server has one fault at a time.
	Break(ctx context.Context, s Server, f ServerFault) error
	// Restore undoes the fault of a server: it starts a killed one. It returns when the server has what it needs to work, which is
	// before it serves requests; see [AwaitQuorum]. Restore has no effect on a server without a fault.
	Restore(ctx context.Context, s Server) error
}
