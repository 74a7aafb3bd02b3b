package embedded

import (
	"crypto/sha1" //nolint:gosec // ZooKeeper's hash of passwords
	"encoding/base64"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results/list"
)

// The schemes of identities and of entries in access control lists.
const (
	worldScheme  = "world"
	anyone       = "anyone" // the only id of worldScheme
	authScheme   = "auth"   // stands for the identities of the client that sets the list
	digestScheme = "digest"
	ipScheme     = "ip"
)

// identity is who a client is, in one scheme. A connection has the address of its peer, and one more for each password that it sends.
type identity struct{ scheme, id string }

func peerOf(conn net.Conn) identity {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil { // in memory
		host = "127.0.0.1"
	}
	return identity{ipScheme, host}
}

// digestOf returns the identity of a user. The credentials are the user's name and password, with a colon between them.
func digestOf(credentials []byte) identity {
	user, _, _ := strings.Cut(string(credentials), ":")
	hash := sha1.Sum(credentials) //nolint:gosec // as above
	return identity{digestScheme, user + ":" + base64.StdEncoding.EncodeToString(hash[:])}
}

// user returns the identity without its secret part.
func (i identity) user() string {
	if i.scheme != digestScheme {
		return i.id
	}
	user, _, _ := strings.Cut(i.id, ":")
	return user
}

func (i identity) matches(entry zk.ACL) bool {
	switch {
	case i.scheme != entry.Scheme:
		return false
	case i.scheme == ipScheme:
		peer, _, isIPv4 := network(i.id)
		allowed, mask, _ := network(entry.ID)
		return isIPv4 && peer&mask == allowed&mask
	default:
		return i.id == entry.ID
	}
}

// network parses an IPv4 address, or a range of them such as 10.0.0.0/8. Like ZooKeeper 3.9, it does not know IPv6.
func network(text string) (address, mask uint32, ok bool) {
	host, bits, isRange := strings.Cut(text, "/")
	parts := strings.Split(host, ".")
	if len(parts) != 4 {
		return 0, 0, false
	}
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return 0, 0, false
		}
		address = address<<8 | uint32(n)
	}
	n, err := uint64(32), error(nil)
	if isRange {
		n, err = strconv.ParseUint(bits, 10, 8)
	}
	return address, ^uint32(0) << (32 - n), err == nil && n <= 32
}

// acl is the access control list of a znode; nil gives all permissions to all clients. It is never changed in place, because trees
// share it.
type acl []zk.ACL

func isAnyone(entry zk.ACL) bool { return entry.Scheme == worldScheme && entry.ID == anyone }

// allows reports whether a client with these identities has at least one of the permissions.
func (a acl) allows(permissions int32, ids []identity) bool {
	return a == nil || slices.ContainsFunc(a, func(entry zk.ACL) bool {
		return entry.Perms&permissions != 0 &&
			(isAnyone(entry) || slices.ContainsFunc(ids, func(i identity) bool { return i.matches(entry) }))
	})
}

// resolve returns the list that a znode gets from a client's request, without repeated entries. ok is false if the list is not valid.
func resolve(given []zk.ACL, ids []identity) (resolved acl, ok bool) {
	for _, entry := range list.AppendNew(nil, given...) {
		entries := expand(entry, ids)
		if len(entries) == 0 {
			return nil, false
		}
		resolved = append(resolved, entries...)
	}
	if slices.Equal(resolved, zk.WorldACL(zk.PermAll)) { // in the form that is cheap to check
		resolved = nil
	}
	return resolved, len(given) > 0
}

// expand returns what an entry of a client stands for: nothing if it is not valid.
func expand(entry zk.ACL, ids []identity) (out []zk.ACL) {
	valid := isAnyone(entry)
	switch entry.Scheme {
	case authScheme:
		for _, i := range ids {
			if i.scheme == digestScheme { // an address is not authenticated
				out = append(out, zk.ACL{Perms: entry.Perms, Scheme: i.scheme, ID: i.id})
			}
		}
	case ipScheme:
		_, _, valid = network(entry.ID)
	case digestScheme: // Java's split ignores colons at the end
		valid = strings.Count(strings.TrimRight(entry.ID, ":"), ":") == 1
	}
	if valid {
		out = []zk.ACL{entry}
	}
	return out
}

// list returns the list as clients read it. Only clients that may change it see the hashes of passwords.
func (a acl) list(ids []identity) []zk.ACL {
	if a == nil {
		return zk.WorldACL(zk.PermAll)
	}
	if a.allows(zk.PermAdmin, ids) {
		return a
	}
	out := slices.Clone(a)
	for i, entry := range out {
		if entry.Scheme == digestScheme {
			out[i].ID = identity{entry.Scheme, entry.ID}.user() + ":x"
		}
	}
	return out
}
