// Package process runs three ZooKeeper servers as local JVM processes, from Debian's zookeeper package or a release.
//
// It takes one position: three servers that share a disk and a kernel with the load do not replace three machines, but are better than
// no ensemble. The servers listen on the loopback address only, and write into one folder that is removed with them.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

// Ensemble is three JVMs and their folder.
type Ensemble struct {
	ensemble.Local
	dir  string // has one folder per server
	home string // where the jars are
}

var _ ensemble.Breaker = (*Ensemble)(nil)

// lockName differs from the lock name of a container ensemble of the same name.
func lockName(name string) string { return "process-" + name }

func stateDir(name string) string { return ensemble.StateDir(ensemble.Process, name) }

// Up starts the ensemble of that name, or attaches to it if it is kept up. The ensemble is locked until Close.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	return ensemble.Lifecycle[*Ensemble]{
		LockName: lockName(opts.Name),
		Find:     func(context.Context) (*Ensemble, error) { return Find(opts.Name) },
		Remove:   func(context.Context) error { _, err := remove(stateDir(opts.Name)); return err },
		Start:    func(context.Context) (*Ensemble, error) { return start(opts) },
	}.Up(ctx, opts)
}

func start(opts ensemble.Options) (*Ensemble, error) {
	installation, err := findInstallation(opts.Home)
	if err != nil {
		return nil, err
	}
	if opts.TLS {
		if err := installation.checkTLS(); err != nil {
			return nil, err
		}
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
	return load(opts.Name, false)
}

func load(name string, found bool) (*Ensemble, error) {
	dir := stateDir(name)
	home, err := os.ReadFile(filepath.Join(dir, homeFile))
	if err != nil {
		return nil, ensemble.ErrNotUp
	}
	log, _ := os.ReadFile(filepath.Join(dir, txnLogFile)) // empty or missing means the default
	local := ensemble.Local{TxnLog: cmp.Or(ensemble.TxnLog(log), ensemble.OnDisk), Found: found, LockName: lockName(name)}
	protection, _ := os.ReadFile(filepath.Join(dir, protectionFile)) // missing for none
	local.Protection = ensemble.ParseProtection(string(protection), filepath.Join(dir, protectionFolder))
	access, err := local.Protection.Access()
	if err != nil {
		return nil, fmt.Errorf("ensemble %q: %w", name, err)
	}
	e := &Ensemble{dir: dir, home: string(home), Local: local}
	e.Heap = e.heapOf
	e.Breakage = &ensemble.Breakage{Possible: []ensemble.ServerFault{ensemble.Kill, ensemble.Pause}, Cause: e.cause, Undo: e.undo}
	for id := 1; id <= ensemble.Size; id++ {
		addr, err := os.ReadFile(filepath.Join(serverDir(dir, id), addrFile))
		if err != nil {
			return nil, fmt.Errorf("the state of ensemble %q is damaged, `%s` removes it: %w", name, ensemble.DownCommand(name), err)
		}
		server := ensemble.Server{ID: id, Name: fmt.Sprintf("zoo%d", id), Addr: string(addr)}
		e.Members = append(e.Members, access.To(server, server.Addr))
	}
	return e, nil
}

// Find returns the ensemble of that name if it is kept up, also with some of its servers killed. After a reboot, none is alive. Find
// does not lock the ensemble, and Close leaves it up.
func Find(name string) (*Ensemble, error) {
	lifetime, err := os.ReadFile(filepath.Join(stateDir(name), lifetimeFile))
	if alive, _ := Inventory(name); err != nil || ensemble.Lifetime(lifetime) != ensemble.Kept || alive == 0 {
		return nil, ensemble.ErrNotUp
	}
	return load(name, true)
}

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Process, e.Members)
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
	for _, s := range e.Members {
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

func (e *Ensemble) heapOf(ctx context.Context, s ensemble.Server) (int64, error) {
	server := serverDir(e.dir, s.ID)
	pid, alive := running(server)
	if !alive {
		return 0, errors.New("it is not running")
	}
	path := filepath.Join(server, logFile)
	before, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if err := send(pid, syscall.SIGQUIT); err != nil {
		return 0, err
	}
	return ensemble.AwaitHistogram(ctx, func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return string(text[min(before.Size(), int64(len(text))):]), nil
	})
}

// Down ends the ensemble with the options' name, even if its run was killed, and returns how many processes it has ended.
func Down(ctx context.Context, opts ensemble.Options) (ended int, err error) {
	lock, err := ensemble.Lock(ctx, lockName(opts.Name), opts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return remove(stateDir(opts.Name))
}

// Inventory returns the number of an ensemble's running processes, in use or not, and its folder. dir is empty if it has none.
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

// InUse reports whether a running zkbench has locked the ensemble of that name.
func InUse(name string) bool { return ensemble.InUse(lockName(name)) }

// Names returns the names of all ensembles that have a folder.
func Names() []string {
	entries, _ := os.ReadDir(filepath.Dir(stateDir(ensemble.DefaultName))) // none if no ensemble was ever started
	return list.Map(entries, os.DirEntry.Name)
}
