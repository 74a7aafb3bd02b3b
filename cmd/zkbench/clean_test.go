package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// The names of runs are those by which their roots are recognised.
func TestRunsNameRoots(t *testing.T) {
	if root := namespace.Root("", newRun()); !namespace.IsRoot(root[1:]) {
		t.Errorf("%s is not recognised as the root of a run", root)
	}
}

func session(t *testing.T, addr string) namespace.Client {
	t.Helper()
	c := must.Get(namespace.Connect(t.Context(), []ensemble.Server{{Addr: addr}}))(t)
	t.Cleanup(c.Conn.Close)
	return c
}

// Roots whose sessions are gone are listed and removed; those in use, and everything else stay.
func TestClean(t *testing.T) {
	const left, used, old = "/zkbench-20260102T030405Z-0001", "/zkbench-20260102T030405Z-0002", "/zkbench-20260102T030405Z-0003"
	for _, chroot := range []string{"", "/app/bench"} {
		server := ensembletest.Embedded(t, embedded.Config{})
		c, gone := session(t, server.Addr()), session(t, server.Addr())
		paths := []string{}
		if chroot != "" {
			paths = append(paths, "/app", chroot)
		}
		for _, path := range append(paths, chroot+"/zkbench-mine", chroot+"/data") {
			must.Do(t, c.CreateTree(t.Context(), []string{path}, 0))
		}
		for path, owner := range map[string]namespace.Client{chroot + left: gone, chroot + used: c, chroot + old: gone} {
			must.Do(t, owner.Create(t.Context(), path, 30*time.Second))
		}
		must.Do(t, c.CreateTree(t.Context(), []string{chroot + old + "/m1"}, 0))
		ensembletest.End(t, gone.Conn, c.Conn, chroot+left+"/owner")
		servers := server.Addr() + chroot
		for _, tt := range []struct {
			args []string
			code int
			says []string
			left []string // of the roots
		}{
			{[]string{"--dry-run"}, outcome.CodePass, []string{left + ": 1 znode of a run that has ended", used + ": in use", "up to 30s after",
				old + ": 2 znodes of a run that has ended", "nothing was removed"}, []string{left, used, old}},
			{[]string{chroot + old}, outcome.CodePass, []string{"removed " + chroot + old + " (2 znodes)"}, []string{left, used}},
			{[]string{old[1:]}, outcome.CodePass, []string{old + ": not there"}, []string{left, used}},
			{nil, outcome.CodePass, []string{"removed " + chroot + left + " (1 znode)"}, []string{used}},
			{nil, outcome.CodePass, []string{"nothing to remove"}, []string{used}},
			{[]string{used}, outcome.CodeFailed, []string{used + " is in use"}, []string{used}},
		} {
			stdout, stderr, code := command(t.Context(), append([]string{"clean", "--servers", servers}, tt.args...)...)
			hasAll(t, stdout+stderr, tt.says...)
			if code != tt.code {
				t.Errorf("%v: exit code %d, want %d: %s", tt.args, code, tt.code, stderr)
			}
			parent := chroot
			if parent == "" {
				parent = "/"
			}
			names, _, err := c.Conn.Children(parent)
			names = slices.DeleteFunc(names, func(name string) bool { return !namespace.IsRoot(name) })
			slices.Sort(names)
			if want := strings.Split(strings.ReplaceAll(strings.Join(tt.left, ""), "/", " ")[1:], " "); err != nil || !slices.Equal(names, want) {
				t.Errorf("%v: roots %v (%v), want %v", tt.args, names, err, want)
			}
		}
		for _, path := range []string{chroot + "/zkbench-mine", chroot + "/data"} {
			if there, _, err := c.Conn.Exists(path); err != nil || !there {
				t.Errorf("%s was removed (%v)", path, err)
			}
		}
	}
}

func TestCleanFails(t *testing.T) {
	t.Parallel()
	server := ensembletest.Embedded(t, embedded.Config{})
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no servers", []string{"clean"}, outcome.CodeUsage, `at least one of the flags in the group [servers workers] is required`},
		{"workers by hand", []string{"clean", "--workers", "2"}, outcome.CodeUsage, "--workers 2: name the hosts"},
		{"no port", []string{"clean", "--servers", "localhost"}, outcome.CodeUsage, "host:port"},
		{"something else", []string{"clean", "--servers", "a:1", "/zookeeper"}, outcome.CodeUsage, "nothing else is removed"},
		{"below a root", []string{"clean", "--servers", "a:1", "/zkbench-20260102T030405Z-0001/m1"}, outcome.CodeUsage, "nothing else is removed"},
		{"nothing there", []string{"clean", "--servers", "127.0.0.1:1"}, outcome.CodeFailed, "nothing listens there"},
		{"no such chroot", []string{"clean", "--servers", server.Addr() + "/none"}, outcome.CodeFailed, "there is no znode /none"},
	} {
		t.Run(tt.name, func(t *testing.T) { says(t, tt.code, tt.want, tt.args...) })
	}
}
