// Package ensemble is what a scenario runs against: a handful of ZooKeeper servers, wherever they come from.
//
// It takes one position: a measurement is of a server as it was configured, so an ensemble must be able to say what it
// is (version, settings, where the transaction log lives) and whether it is ours alone. The engines live in folders of
// their own: container, process, external and embedded; auto chooses among them.
package ensemble

import (
	"context"
	"errors"
	"io"
	"time"
)

// Engine names where the servers come from. It travels with every result, because numbers from different engines are
// not comparable.
type Engine string

// The engines.
const (
	Container Engine = "container"
	Process   Engine = "process"
	External  Engine = "external"
	Embedded  Engine = "embedded"
)

// ErrUnavailable is wrapped by errors that mean that this machine cannot run an engine at all, as opposed to an
// engine that failed.
var ErrUnavailable = errors.New("not available on this machine")

// Server is one member of an ensemble.
type Server struct {
	ID   int    // as in its myid file; its position for an external one
	Name string // how `zkbench ensemble status` calls it
	Addr string // host:port for clients
}

// Description is what a result records of an ensemble.
type Description struct {
	Engine  Engine
	Version string            // of ZooKeeper, as the servers report it
	Image   string            // of containers; the installation's folder for processes
	TxnLog  string            // where the transaction log lives: path and file system
	Config  map[string]string // the servers' own account of their settings (the `conf` command)
}

// Ensemble is a running ensemble. Its methods may be called concurrently, Close once.
type Ensemble interface {
	// Servers lists the members in the order of their ids.
	Servers() []Server
	// Describe asks the servers what they are. It costs a few administrative commands.
	Describe(ctx context.Context) (Description, error)
	// Owned tells whether zkbench started the servers, so that nobody else's sessions are on them and their own
	// counters can serve as a second oracle.
	Owned() bool
	// Logs writes the last lines of each server's log.
	Logs(ctx context.Context, w io.Writer, lines int) error
	// Close takes down what was started for this run and releases the rest as it was found.
	Close(ctx context.Context) error
}

// Chrooted is an ensemble that lends zkbench one znode instead of its root.
type Chrooted interface {
	// Chroot is that znode: an absolute path without a slash at its end, or empty for the root itself.
	Chroot() string
}

// ChrootOf returns the path that precedes every znode that zkbench creates on an ensemble; empty where that is the root.
func ChrootOf(e Ensemble) string {
	if c, ok := e.(Chrooted); ok {
		return c.Chroot()
	}
	return ""
}

// Lifetime tells who ends an ensemble that zkbench started.
type Lifetime string

const (
	// OneRun ends with the process that started it; found without its owner, it is debris.
	OneRun Lifetime = "run"
	// Kept stays until `zkbench ensemble down`.
	Kept Lifetime = "kept"
)

// DefaultName is the ensemble that is meant when no name is given.
const DefaultName = "default"

// Options say which ensemble to start.
type Options struct {
	Name     string    // tells ensembles on one machine apart; DefaultName if empty
	Lifetime Lifetime  // OneRun if empty
	Ports    []int     // client ports, one per server; free ones are found if empty
	Image    string    // container engine: image to use instead of the usual ones
	Home     string    // process engine: folder of an unpacked ZooKeeper release instead of an installed one
	TxnLog   TxnLog    // container and process engines: OnDisk if one is started and this is empty
	Clients  int       // external engine: the most clients that a run will have, to be held against the servers' limits
	Progress io.Writer // receives a line for each step that takes time; nil for none

	ReadDelay, WriteDelay time.Duration // embedded engine: how long the server is busy with each request
}

// Size is the number of servers that zkbench starts: the smallest ensemble that survives the loss of one.
const Size = 3

// WithDefaults fills in what was left empty.
func (o Options) WithDefaults() Options {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Lifetime == "" {
		o.Lifetime = OneRun
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}
