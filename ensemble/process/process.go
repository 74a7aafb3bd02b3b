// Package process runs three ZooKeeper servers as local JVM processes, from Debian's zookeeper package or any unpacked
// release.
//
// It takes one position: an installation that is there is better than none, but three servers that share one disk and
// one kernel with the load are not three machines; the result says which engine it came from. The servers listen on
// the loopback address only, and everything they write stands in one folder that goes when they go.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

// Ensemble is three JVMs and the folder they live in.
type Ensemble struct {
	dir      string // one folder per server below it
	home     string // where the jars came from
	servers  []ensemble.Server
	txnLog   ensemble.TxnLog
	attached bool
	claim    *ensemble.Claim
}

var _ ensemble.Ensemble = (*Ensemble)(nil)

// claimName keeps the claims of this engine apart from those of containers of the same name.
func claimName(name string) string { return "process-" + name }

// stateDir is where the ensemble of that name lives. The user's cache folder is on a disk, which the temporary folder
// often is not.
func stateDir(name string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "zkbench", "process", name)
}

// Up starts the ensemble of that name, or attaches to it if it is kept; the caller has it to itself until Close.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	e, claim, err := ensemble.Lifecycle[*Ensemble]{
		ClaimName: claimName(opts.Name),
		Find:      func(context.Context) (*Ensemble, error) { return Find(opts.Name) },
		Remove: func(context.Context) error {
			_, err := remove(stateDir(opts.Name))
			return err
		},
		Start:    func(ctx context.Context) (*Ensemble, error) { return start(ctx, opts) },
		TxnLogOf: func(e *Ensemble) ensemble.TxnLog { return e.txnLog },
	}.Up(ctx, opts)
	if err != nil {
		return nil, err
	}
	e.claim = claim
	return e, nil
}

func start(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	installation, err := findInstallation(opts.Home)
	if err != nil {
		return nil, err
	}
	configs, err := configure(stateDir(opts.Name), opts)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(opts.Progress, "starting three ZooKeeper processes from %s\n", installation.home)
	for _, c := range configs {
		if err := launch(installation, c); err != nil {
			return nil, err
		}
	}
	e, err := load(opts.Name)
	if err != nil {
		return nil, err
	}
	return e, ensemble.AwaitReady(ctx, e)
}

// load reads back what configure wrote.
func load(name string) (*Ensemble, error) {
	dir := stateDir(name)
	home, err := os.ReadFile(filepath.Join(dir, homeFile))
	if err != nil {
		return nil, ensemble.ErrNotUp
	}
	e := &Ensemble{dir: dir, home: string(home), txnLog: ensemble.OnDisk}
	if place, err := os.ReadFile(filepath.Join(dir, txnLogFile)); err == nil && ensemble.TxnLog(place) == ensemble.InMemory {
		e.txnLog = ensemble.InMemory
	}
	for id := 1; id <= ensemble.Size; id++ {
		addr, err := os.ReadFile(filepath.Join(serverDir(dir, id), addrFile))
		if err != nil {
			return nil, fmt.Errorf("the state of ensemble %q is damaged, `zkbench ensemble down --name %s` removes it: %w", name, name, err)
		}
		e.servers = append(e.servers, ensemble.Server{ID: id, Name: fmt.Sprintf("zoo%d", id), Addr: string(addr)})
	}
	return e, nil
}

// Find returns the kept ensemble of that name without claiming it; ending it is Down's business, not Close's.
func Find(name string) (*Ensemble, error) {
	dir := stateDir(name)
	lifetime, err := os.ReadFile(filepath.Join(dir, lifetimeFile))
	if err != nil || ensemble.Lifetime(lifetime) != ensemble.Kept {
		return nil, ensemble.ErrNotUp
	}
	for id := 1; id <= ensemble.Size; id++ {
		if _, alive := running(serverDir(dir, id)); !alive {
			return nil, ensemble.ErrNotUp
		}
	}
	e, err := load(name)
	if err != nil {
		return nil, err
	}
	e.attached = true
	return e, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Owned implements [ensemble.Ensemble]: the processes listen on the loopback address and run under a claim.
func (e *Ensemble) Owned() bool { return true }

// Attached reports whether the ensemble was found running: Close leaves it up.
func (e *Ensemble) Attached() bool { return e.attached }

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Process, e.servers)
	if err != nil {
		return d, err
	}
	d.Image = e.home
	d.Config["heap"] = heap
	d.Config["snapCount"] = snapCount
	d.Config["jvm.pause.sleep.time.ms"] = pauseSleep
	if mounts, err := os.ReadFile("/proc/mounts"); err == nil {
		d.TxnLog = ensemble.FileSystemOf(string(mounts), d.Config["dataLogDir"])
	}
	return d, nil
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(_ context.Context, w io.Writer, lines int) error {
	for _, s := range e.servers {
		text, err := os.ReadFile(filepath.Join(serverDir(e.dir, s.ID), logFile))
		if err != nil {
			return err
		}
		all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		for _, line := range all[max(len(all)-lines, 0):] {
			fmt.Fprintf(w, "%s | %s\n", s.Name, line)
		}
	}
	return nil
}

// Close implements [ensemble.Ensemble]: an ensemble that was found running stays.
func (e *Ensemble) Close(context.Context) error {
	var err error
	if !e.attached {
		_, err = remove(e.dir)
	}
	return errors.Join(err, e.claim.Release())
}

// Release gives up the claim on an ensemble that shall stay up.
func (e *Ensemble) Release() error { return e.claim.Release() }

// Down ends the ensemble of that name, also one whose run was killed, and returns how many processes it ended.
func Down(name string) (ended int, err error) {
	claim, err := ensemble.TryClaim(claimName(name))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	return remove(stateDir(name))
}

// Inventory returns how many processes of an ensemble are running, in use or not, and the folder that they live in, if it
// is there.
func Inventory(name string) (alive int, dir string) {
	dir = stateDir(name)
	if _, err := os.Stat(dir); err != nil {
		return 0, ""
	}
	for id := 1; id <= ensemble.Size; id++ {
		if _, runs := running(serverDir(dir, id)); runs {
			alive++
		}
	}
	return alive, dir
}

// Claimed reports whether a zkbench that is running uses the ensemble of that name.
func Claimed(name string) bool { return ensemble.Claimed(claimName(name)) }

// Names returns the names of all ensembles of which anything is left.
func Names() []string {
	entries, err := os.ReadDir(filepath.Dir(stateDir(ensemble.DefaultName)))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
