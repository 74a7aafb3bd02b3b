// Package ensemble provides the ZooKeeper servers that scenarios run against.
//
// It takes one position: results depend on how servers are configured. An ensemble therefore reports its version, its
// settings and where its transaction log is, and whether other programs may use it. Each engine has its own folder:
// container, process, external and embedded. Package auto chooses among them.
package ensemble

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

// Engine is the way in which the servers are run. It is stored in results, because results of different engines are not comparable.
type Engine string

// The engines.
const (
	Container Engine = "container"
	Process   Engine = "process"
	External  Engine = "external"
	Embedded  Engine = "embedded"
)

// ErrUnavailable is wrapped by errors of engines that cannot run on this machine, as opposed to engines that failed.
var ErrUnavailable = errors.New("not available on this machine")

// Server is one member of an ensemble.
type Server struct {
	ID   int    // as in its myid file; its position for an external one
	Name string // in the output of `zkbench ensemble status`
	Addr string // host:port for clients

	// Second is another address of the same server, or empty. Docker forwards each published port by its own process, which can
	// forward only a few thousand connections.
	Second string

	Dialer dial.Dialer  // opens connections to the server; nil means TCP
	Auth   *Credentials // of sessions with the server; nil without
}

// Dial opens a connection to the server.
func (s Server) Dial(ctx context.Context) (net.Conn, error) { return dial.To(ctx, s.Dialer, s.Addr) }

// Description is the part of a result that describes the ensemble.
type Description struct {
	Engine  Engine
	Product string            // such as ZooKeeper, as the servers report it
	Version string            // of the product, as the servers report it
	Image   string            // of containers; the installation's folder for processes
	TxnLog  string            // path and file system of the transaction log
	Config  map[string]string // the settings that the servers report (the `conf` command)
	TLS     bool              // clients connect by TLS
	Auth    string            // the scheme by which clients authenticate, such as "digest"; empty if they do not
}

// Ensemble is a running ensemble. Its methods may be called concurrently, Close once.
type Ensemble interface {
	// Servers lists the members in the order of their ids.
	Servers() []Server
	// Describe asks the servers for their version and settings, by a few four-letter commands.
	Describe(ctx context.Context) (Description, error)
	// Owned reports whether no other program uses the servers, so that their counters can serve as a second oracle.
	Owned() bool
	// Logs writes the last lines of each server's log.
	Logs(ctx context.Context, w io.Writer, lines int) error
	// Close takes down the servers that were started for this run. Servers that were up before stay up.
	Close(ctx context.Context) error
}

// ChrootOf returns the path of the znode below which zkbench creates all its znodes on an ensemble. It is empty for the root.
func ChrootOf(e Ensemble) string {
	if c, ok := e.(interface{ Chroot() string }); ok {
		return c.Chroot()
	}
	return ""
}

// Lifetime is how long an ensemble that zkbench starts stays up.
type Lifetime string

const (
	// OneRun ends with the process that started it. If that process was killed, the next start removes the servers.
	OneRun Lifetime = "run"
	// Kept stays until `zkbench ensemble down`.
	Kept Lifetime = "kept"
)

// DefaultName is the name of an ensemble for which no name was given.
const DefaultName = "default"

// Options select the ensemble to start.
type Options struct {
	Name     string        // unique on the machine; DefaultName if empty
	Lifetime Lifetime      // OneRun if empty
	Ports    []int         // client ports, one per server; free ones are found if empty
	Image    string        // container engine: image to use instead of the default ones
	Home     string        // process engine: folder of an unpacked ZooKeeper release instead of an installed one
	TxnLog   TxnLog        // container and process engines: OnDisk if one is started and this is empty
	TLS      bool          // not external: clients connect with TLS and a certificate that zkbench issues
	Digest   bool          // not external: sessions need a user, and zkbench generates one
	Clients  int           // external engine: the most clients that a run will have, for comparison with the servers' limits
	Access   Access        // external engine: how clients get access to the servers
	Progress io.Writer     // receives a line for each long step; may be nil
	Wait     time.Duration // how long to wait while another process has locked the ensemble

	ReadDelay, WriteDelay time.Duration // embedded engine with one server: how long it is busy with each request
	Voters                int           // embedded engine: how many servers; one if zero
	Lag                   time.Duration // embedded engine with several servers: how long after its commit followers apply a transaction
}

// Size is the number of servers that zkbench starts: the smallest ensemble that keeps a majority without one of them.
const Size = 3

// WithDefaults sets the name, the lifetime and the progress writer if they are empty.
func (o Options) WithDefaults() Options {
	o.Name, o.Lifetime = cmp.Or(o.Name, DefaultName), cmp.Or(o.Lifetime, OneRun)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}
