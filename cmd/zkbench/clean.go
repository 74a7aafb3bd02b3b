package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/launch"
)

func cleanCommand(a *app) *cobra.Command {
	var servers string
	var access accessFlags
	var workers workerFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use: "clean --servers host:port,…[/chroot] [ROOT…]", Short: "Remove what killed runs have left",
		Long: `Remove the root znodes, /zkbench-RUN, that killed runs have left on servers,
with everything below them. Nothing else is removed.

A root is in use while the session of its run is alive, which an ephemeral znode
below it shows. The servers end the session of a killed run after its timeout,
usually 30 s. With ROOTs, only these are removed.

With --workers, remove what runs on several machines have left there: copies of
zkbench, or Jobs without a ready pod. No run may begin meanwhile.

Exit codes: 0 nothing is left to remove; 1 something could not be removed;
2 usage; 130 interrupted.`,
		Example: `  zkbench clean --servers zk1:2181,zk2:2181,zk3:2181 --dry-run
  zkbench clean --servers zk1:2181,zk2:2181,zk3:2181
  zkbench clean --servers zk1:2181/app /zkbench-20260102T030405Z-ab12
  zkbench clean --workers ssh:host1,host2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			with, err := access.read(cmd, a.stderr) // never from the environment: this command removes things
			if err != nil {
				return usage(err)
			}
			if servers == "" && len(args) > 0 {
				return usage(fmt.Errorf("on which servers is %s? Give --servers", args[0]))
			}
			err = a.cleanWorkers(cmd.Context(), workers, dryRun)
			if servers != "" {
				err = errors.Join(err, a.clean(cmd.Context(), servers, with, args, dryRun))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&servers, "servers", "", "host:port,host:port,…[/chroot]")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	access.bind(cmd)
	workers.bindEngine(cmd)
	cmd.MarkFlagsOneRequired("servers", "workers")
	return cmd
}

func (a *app) cleanWorkers(ctx context.Context, f workerFlags, dryRun bool) error {
	switch {
	case f.N() == 0:
		return nil
	case f.Manual():
		return ofFlag("workers", f.String(), errors.New("name the hosts, ssh:HOST,…, or kubernetes:1"))
	case dryRun:
		return ofFlag("workers", f.String(), errors.New("there is no dry run of this"))
	}
	removed, err := launch.Clean(ctx, f.Workers, f.kubernetes)
	for _, name := range removed {
		table.Line(a.stdout, "removed %s", name)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.stdout, "nothing to remove from workers")
	}
	return err
}

func (a *app) clean(ctx context.Context, servers string, access ensemble.Access, names []string, dryRun bool) error {
	where, err := external.Parse(servers)
	base := where.Chroot
	named, mistake := rootsNamed(base, names)
	if err := cmp.Or(err, mistake); err != nil {
		return usage(err)
	}
	given := where.Servers(access)
	c, err := namespace.Connect(ctx, given)
	if err != nil {
		return asUsage(fmt.Errorf("cannot use --servers %s: %w", servers, external.Explain(ctx, given[0], err)))
	}
	defer c.Conn.Close()
	found, err := c.Find(ctx, base)
	if err != nil {
		return asUsage(external.Denied(given[0], "list", cmp.Or(base, "/"), err))
	}
	removable, err := a.selectRoots(found, named)
	switch {
	case len(removable) == 0:
		fmt.Fprintln(a.stdout, "nothing to remove")
	case dryRun:
		fmt.Fprintln(a.stdout, "dry run: nothing was removed")
	default:
		err = errors.Join(err, a.removeRoots(ctx, c, removable))
	}
	return err
}

func rootsNamed(base string, names []string) ([]string, error) {
	var out []string
	var errs []error
	for _, name := range names {
		short := strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
		if !namespace.IsRoot(short) {
			errs = append(errs, fmt.Errorf("%q is not the root of a run, such as /zkbench-20260102T030405Z-ab12: nothing else is removed", name))
		}
		out = append(out, base+"/"+short)
	}
	return out, errors.Join(errs...)
}

func cleanHint(servers string, access []string) string {
	return strings.Join(append([]string{"zkbench clean --servers", servers}, access...), " ")
}

// selectRoots prints the state of each root, and returns the roots to remove, and an error if one that was named is in use.
func (a *app) selectRoots(found []namespace.Found, named []string) (removable []namespace.Found, err error) {
	for _, path := range named {
		if !slices.ContainsFunc(found, func(r namespace.Found) bool { return r.Path == path }) {
			table.Line(a.stdout, "%s: not there", path)
		}
	}
	for _, r := range found {
		switch asked := slices.Contains(named, r.Path); {
		case len(named) > 0 && !asked:
		case !r.InUse:
			table.Line(a.stdout, "%s: %d %s of a run that has ended", r.Path, r.Znodes, table.Plural(r.Znodes, "znode"))
			removable = append(removable, r)
		default:
			table.Line(a.stdout, "%s: in use, kept: the session of its run is alive (servers end it up to %s after a run is killed)",
				r.Path, r.Timeout)
			if asked {
				err = errors.Join(err, fmt.Errorf("%s is in use", r.Path))
			}
		}
	}
	return removable, err
}

func (a *app) removeRoots(ctx context.Context, c namespace.Client, roots []namespace.Found) (err error) {
	for _, r := range roots {
		n, failure := c.Remove(ctx, r.Path)
		if failure == nil {
			table.Line(a.stdout, "removed %s (%d %s)", r.Path, n, table.Plural(n, "znode"))
			continue
		}
		err = errors.Join(err, fmt.Errorf("remove %s (%d znodes are removed, the others are left): %w", r.Path, n, failure))
		if ctx.Err() != nil {
			return err
		}
		if errors.Is(failure, namespace.ErrSilent) {
			return errors.Join(err, errors.New("repeat the command: it uses the server that answers first"))
		}
	}
	return err
}

// printLeftovers prints how many runs have left znodes on servers, and how many are under way; nothing if no server answers.
func (a *app) printLeftovers(ctx context.Context, servers []ensemble.Server, base, list string, access []string) {
	c, err := namespace.Connect(ctx, servers)
	if err != nil {
		return
	}
	defer c.Conn.Close()
	paths, _ := c.List(ctx, base)
	left, used := 0, 0
	for _, path := range paths {
		switch f, there, err := c.Glance(ctx, path); {
		case err != nil:
			return
		case f.InUse:
			used++
		case there:
			left++
		}
	}
	if left > 0 {
		fmt.Fprintf(a.stderr, "%d earlier %s left znodes on these servers: `%s` removes them\n",
			left, table.Plural(left, "run"), cleanHint(list, access))
	}
	if used > 0 {
		fmt.Fprintf(a.stderr, "%d other %s under way on these servers, or killed within the last %s: runs disturb each other's numbers\n",
			used, table.Plural(used, "run"), ensemble.SessionTimeout)
	}
}
