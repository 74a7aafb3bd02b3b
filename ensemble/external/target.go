package external

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zkbench/zkbench/ensemble"
)

// Target is a parsed connect string: the servers, and the znode that replaces the root on all of them.
type Target struct {
	Addresses []string // host:port, as given
	Chroot    string   // an absolute path without a slash at its end; empty for the root itself
}

// Servers returns the servers in the order of the connect string, with a way of access to them.
func (t Target) Servers(access ensemble.Access) []ensemble.Server {
	var servers []ensemble.Server
	for i, addr := range t.Addresses {
		servers = append(servers, access.To(ensemble.Server{ID: i + 1, Name: addr, Addr: addr}, addr))
	}
	return servers
}

// Parse parses a connect string like ZooKeeper's own clients do: "host:port,host:port/chroot". The chroot follows the last
// address and applies to all. IPv6 addresses are in brackets.
func Parse(connect string) (Target, error) {
	list, below, _ := strings.Cut(connect, "/")
	chroot := strings.TrimSpace("/" + below)
	if chroot == "/" { // means no chroot, as for ZooKeeper's clients
		chroot = ""
	}
	if err := checkChroot(chroot); err != nil {
		return Target{}, fmt.Errorf("--servers %s: %w", connect, err)
	}
	t := Target{Chroot: chroot}
	for address := range strings.SplitSeq(list, ",") {
		address = strings.TrimSpace(address)
		if err := checkAddress(address); err != nil {
			return Target{}, fmt.Errorf("--servers wants host:port,host:port,… and may end in /chroot: %w", err)
		}
		if slices.ContainsFunc(t.Addresses, func(other string) bool { return strings.EqualFold(other, address) }) {
			return Target{}, fmt.Errorf("--servers has %s twice: give each server once", address)
		}
		t.Addresses = append(t.Addresses, address)
	}
	return t, nil
}

func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if host == "" {
		return fmt.Errorf("%q has no host", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q has no port from 1 to 65535", address)
	}
	return nil
}

// checkChroot returns an error for a path that ZooKeeper does not accept or where zkbench may not write. An empty path means the root.
func checkChroot(chroot string) error {
	if chroot == "" {
		return nil
	}
	switch names := strings.Split(chroot[1:], "/"); {
	case strings.Contains(chroot, ","):
		return fmt.Errorf("the chroot %s has a comma: give one chroot after the last address, for all servers", chroot)
	case names[len(names)-1] == "":
		return fmt.Errorf("the chroot %s ends with a slash: write it without", chroot)
	case slices.Contains(names, ""):
		return fmt.Errorf("the chroot %s has an empty name: write one slash between names", chroot)
	case slices.Contains(names, "."), slices.Contains(names, ".."):
		return fmt.Errorf("the chroot %s is relative: write the path from the root on", chroot)
	case names[0] == "zookeeper":
		return fmt.Errorf("the chroot %s belongs to ZooKeeper itself: choose another", chroot)
	case !utf8.ValidString(chroot), strings.ContainsFunc(chroot, isForbidden):
		return fmt.Errorf("the chroot %q has a character that ZooKeeper does not allow in paths", chroot)
	}
	return nil
}

func isForbidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0xe000 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff
}
