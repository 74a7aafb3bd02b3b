package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Remains is how many objects of an ensemble the Docker engine has.
type Remains struct{ Containers, Networks, Volumes int }

// Any reports whether at least one object is left.
func (r Remains) Any() bool { return r != Remains{} }

// String lists the numbers, such as "3 containers, 2 networks, 6 volumes".
func (r Remains) String() string {
	return fmt.Sprintf("%d containers, %d networks, %d volumes", r.Containers, r.Networks, r.Volumes)
}

// Inventory counts the objects of an ensemble, in use or not.
func Inventory(ctx context.Context, name string) (Remains, error) {
	o, err := objectsOf(ctx, name)
	return o.count(), err
}

// InUse reports whether a running zkbench has locked the ensemble of that name.
func InUse(name string) bool { return ensemble.InUse(name) }

// Down removes all objects of the ensemble with the options' name, even if its run was killed, and returns their numbers.
func Down(ctx context.Context, opts ensemble.Options) (removed Remains, err error) {
	lock, err := ensemble.Lock(ctx, opts.Name, opts)
	if err != nil {
		return Remains{}, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return remove(ctx, opts.Name)
}

type objects [3][]string

func (o objects) count() Remains { return Remains{len(o[0]), len(o[1]), len(o[2])} }

// kinds returns the commands for each kind of object, in the order in which the kinds can be removed.
func kinds() [3]struct{ list, remove []string } {
	return [3]struct{ list, remove []string }{
		{[]string{"ps", "-a"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls"}, []string{"network", "rm"}},
		{[]string{"volume", "ls"}, []string{"volume", "rm"}},
	}
}

func objectsOf(ctx context.Context, name string) (o objects, err error) {
	for i, kind := range kinds() {
		if o[i], err = list(ctx, name, kind.list...); err != nil {
			return o, err
		}
	}
	return o, nil
}

const (
	removeTimeout = 45 * time.Second       // for all objects of an ensemble
	removePause   = 250 * time.Millisecond // between two attempts
)

// remove deletes all containers, networks and volumes with the ensemble's label, and returns how many it has found. It deletes
// the ensemble's certificates, too.
//
// Note: it repeats until nothing is left. While another process's removal of a container is in progress, the engine refuses to
// remove the container, its networks and its volumes; and objects that a killed process asked for may appear late.
func remove(ctx context.Context, name string) (Remains, error) {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	var most Remains
	for {
		o, err := objectsOf(ctx, name)
		if err != nil {
			return most, err
		}
		left := o.count()
		most = Remains{max(most.Containers, left.Containers), max(most.Networks, left.Networks), max(most.Volumes, left.Volumes)}
		if !left.Any() {
			return most, ensemble.RemoveState(stateDir(name))
		}
		if refused := removeOnce(ctx, o); refused != nil && ensemble.Sleep(ctx, removePause) != nil {
			return most, fmt.Errorf("%s of ensemble %q are left: %w", left, name, refused)
		}
	}
}

func removeOnce(ctx context.Context, o objects) error {
	var errs []error
	for i, kind := range kinds() {
		if len(o[i]) == 0 {
			continue
		}
		_, err := docker(ctx, append(kind.remove, o[i]...)...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func list(ctx context.Context, name string, command ...string) ([]string, error) {
	out, err := docker(ctx, append(command, "--quiet", "--filter", "label="+nameLabel+"="+name)...)
	return strings.Fields(out), err
}

// Names returns the names of all ensembles that have any object left.
func Names(ctx context.Context) ([]string, error) {
	var names []string
	for _, kind := range kinds() {
		out, err := docker(ctx, append(kind.list, "--filter", "label="+nameLabel, "--format", `{{.Label "`+nameLabel+`"}}`)...)
		if err != nil {
			return nil, err
		}
		names = append(names, strings.Fields(out)...)
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}
