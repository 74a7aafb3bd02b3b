package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Remains is how many objects of an ensemble the Docker engine has.
type Remains struct{ Containers, Networks, Volumes int }

// Any reports whether there is any.
func (r Remains) Any() bool { return r != Remains{} }

// String lists the numbers, such as "3 containers, 2 networks, 6 volumes".
func (r Remains) String() string {
	return fmt.Sprintf("%d containers, %d networks, %d volumes", r.Containers, r.Networks, r.Volumes)
}

// Inventory counts what there is of an ensemble, in use or not.
func Inventory(ctx context.Context, name string) (Remains, error) {
	o, err := objectsOf(ctx, name)
	return o.count(), err
}

// Claimed reports whether a zkbench that is running uses the ensemble of that name.
func Claimed(name string) bool { return ensemble.Claimed(name) }

// Down removes everything of the ensemble of that name, also what a run has left that was killed, and returns what there
// was of it.
func Down(ctx context.Context, name string) (removed Remains, err error) {
	claim, err := ensemble.TryClaim(name)
	if err != nil {
		return Remains{}, err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	return remove(ctx, name)
}

// objects are the ids of an ensemble's objects by kind.
type objects [3][]string

func (o objects) count() Remains { return Remains{len(o[0]), len(o[1]), len(o[2])} }

// kinds are the commands for each kind of object, in the order in which they can be removed.
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

// removeTimeout is how long the engine may take to remove all of an ensemble.
const removeTimeout = 45 * time.Second

// removePause is the time between two attempts.
const removePause = 250 * time.Millisecond

// remove deletes every container, network and volume that carries the ensemble's label, and returns what there was of it.
//
// Note: one attempt is not enough. A container whose removal was asked for by a process that is gone is refused ("removal
// is already in progress"), and until it is gone, so are its networks and volumes. What that process had asked the engine
// to create may also appear late. So it is over when nothing is left, and not when the commands succeed.
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
			return most, nil
		}
		refused := removeOnce(ctx, o)
		if refused == nil {
			continue // look again
		}
		select {
		case <-ctx.Done():
			return most, fmt.Errorf("%s of ensemble %q are left: %w", left, name, refused)
		case <-time.After(removePause):
		}
	}
}

// removeOnce asks the engine to remove each of the objects.
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

// list returns the ids of the ensemble's objects of one kind.
func list(ctx context.Context, name string, command ...string) ([]string, error) {
	out, err := docker(ctx, append(command, "--quiet", "--filter", "label="+nameLabel+"="+name)...)
	return strings.Fields(out), err
}

// Names returns the names of all ensembles of which anything is left.
func Names(ctx context.Context) ([]string, error) {
	names := map[string]bool{}
	for _, kind := range kinds() {
		out, err := docker(ctx, append(kind.list, "--filter", "label="+nameLabel, "--format", `{{.Label "`+nameLabel+`"}}`)...)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(out) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
