package conformance_test

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

const authXid = -4

// auth sends credentials, and returns the code.
func (p *peer) auth(scheme string, credentials []byte) wire.Code {
	p.t.Helper()
	p.write(encode(authXid, wire.OpAuth, func(out *jute.Encoder) {
		out.Int(0)
		out.Text(scheme)
		out.Buffer(credentials)
	}))
	return p.await().code
}

// as returns a new peer that is authenticated as a user, whose password is secret.
func (s *site) as(user string) *peer {
	s.Helper()
	p := s.peer()
	s.want("authentication", p.auth("digest", []byte(user+":secret")), wire.OK)
	return p
}

func digest(user string) string {
	hash := sha1.Sum([]byte(user + ":secret"))
	return user + ":" + base64.StdEncoding.EncodeToString(hash[:])
}

func allow(permissions int32, scheme, id string) []zk.ACL {
	return []zk.ACL{{Perms: permissions, Scheme: scheme, ID: id}}
}

func (p *peer) createACL(path string, acl []zk.ACL) wire.Code {
	p.t.Helper()
	return p.call(wire.OpCreate, putCreateACL(path, []byte{}, acl, persistent)).code
}

func (p *peer) getACL(path string) ([]zk.ACL, zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpGetACL, func(out *jute.Encoder) { out.Text(path) })
	if r.code != wire.OK {
		return nil, zk.Stat{}, r.code
	}
	return r.body.ACLs(), r.body.Stat(), r.code
}

func putSetACL(path string, acl []zk.ACL, version int32) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		out.Text(path)
		out.ACLs(acl)
		out.Int(version)
	}
}

func (p *peer) setACL(path string, acl []zk.ACL, version int32) (zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpSetACL, putSetACL(path, acl, version))
	return stat(r), r.code
}

func sortedACL(list []zk.ACL) []string {
	var out []string
	for _, a := range list {
		out = append(out, fmt.Sprintf("%d %s %s", a.Perms, a.Scheme, a.ID))
	}
	slices.Sort(out)
	return out
}

// whoAmI returns the identities of the connection, sorted, without addresses.
func (p *peer) whoAmI() (identities []string) {
	p.t.Helper()
	d := p.call(wire.OpWhoAmI, nil).body
	for n := d.Int(); n > 0; n-- {
		scheme, user := d.Text(), d.Text()
		if scheme == "ip" {
			user = ""
		}
		identities = append(identities, strings.TrimSpace(scheme+" "+user))
	}
	slices.Sort(identities)
	return identities
}

// attempts are requests on a znode that has a child named child and on that child, with the permission that each one needs.
func attempts() map[string]struct {
	permission int32
	do         func(p *peer, path string) wire.Code
} {
	type attempt = struct {
		permission int32
		do         func(p *peer, path string) wire.Code
	}
	read := func(op wire.Opcode) func(*peer, string) wire.Code {
		return func(p *peer, path string) wire.Code { return p.call(op, putPathWatch(path, false)).code }
	}
	return map[string]attempt{
		"exists":       {zk.PermRead, read(wire.OpExists)},
		"getData":      {zk.PermRead, read(wire.OpGetData)},
		"getChildren":  {zk.PermRead, read(wire.OpGetChildren)},
		"getChildren2": {zk.PermRead, read(wire.OpGetChildren2)},
		"check": {zk.PermRead, func(p *peer, path string) wire.Code {
			results, _ := p.multi(step{wire.OpCheck, putPathVersion(path, -1)})
			return results[0].code
		}},
		"getACL": {zk.PermRead | zk.PermAdmin, func(p *peer, path string) wire.Code {
			_, _, code := p.getACL(path)
			return code
		}},
		"setData": {zk.PermWrite, func(p *peer, path string) wire.Code {
			_, code := p.setData(path, nil, -1)
			return code
		}},
		"create": {zk.PermCreate, func(p *peer, path string) wire.Code {
			_, code := p.create(path+"/n-", sequential)
			return code
		}},
		"delete": {zk.PermDelete, func(p *peer, path string) wire.Code { return p.delete(path+"/child", -1).code }},
		"setACL": {zk.PermAdmin, func(p *peer, path string) wire.Code {
			_, code := p.setACL(path, zk.WorldACL(zk.PermAll), -1)
			return code
		}},
	}
}

func aclCases() []namedCase {
	everything := func(user string) []zk.ACL { return allow(zk.PermAll, "digest", digest(user)) }
	return []namedCase{
		{"each request needs a permission", func(s *site) {
			for name, a := range attempts() {
				for _, permissions := range []int32{0, zk.PermRead, zk.PermWrite, zk.PermCreate, zk.PermDelete, zk.PermAdmin, zk.PermAll} {
					path := s.at(fmt.Sprintf("%s-%d", name, permissions))
					owner, other := s.as("owner"), s.peer()
					s.want("create", owner.createACL(path, append(everything("owner"), allow(permissions, "world", "anyone")...)), wire.OK)
					owner.mustCreate(path+"/child", persistent)
					other.sync("/")
					want := wire.OK
					if permissions&a.permission == 0 {
						want = wire.NoAuth
					}
					s.want(fmt.Sprintf("%s with permissions %d", name, permissions), a.do(other, path), want)
					owner.sync("/")
					owner.clear(path)
					owner.bye()
					other.bye()
				}
			}
		}},
		{"a znode is deleted with its parent's permission", func(s *site) {
			s.want("create", s.peer().createACL(s.at("x"), everything("owner")), wire.OK)
			p := s.peer()
			p.sync("/")
			p.mustDelete(s.at("x"))
		}},
		{"the list and its version", func(s *site) {
			p := s.peer()
			_, created, _ := p.create2(wire.OpCreate2, s.at("x"), nil, persistent)
			list, st, code := p.getACL(s.at("x"))
			s.want("code", code, wire.OK)
			s.want("list", list, zk.WorldACL(zk.PermAll))
			s.want("stat", st, created)
			_, before, _ := p.children(s.root, false)
			p.getData(s.at("x"), true)
			p.children(s.root, true)
			p.children(s.at("x"), true)
			acl := append(zk.WorldACL(zk.PermRead), allow(zk.PermAdmin, "world", "anyone")...)
			st, code = p.setACL(s.at("x"), acl, 0)
			s.want("code", code, wire.OK)
			created.Aversion = 1
			s.want("stat of setACL", st, created)
			list, st, _ = p.getACL(s.at("x"))
			s.want("list", list, acl)
			s.want("stat of getACL", st, created)
			_, after, _ := p.children(s.root, false)
			s.want("parent", after, before)
			s.want("events", p.events(), "")
			for _, tt := range []struct {
				version int32
				want    wire.Code
			}{{0, wire.BadVersion}, {2, wire.BadVersion}, {1, wire.OK}, {-1, wire.OK}, {3, wire.OK}} {
				_, code := p.setACL(s.at("x"), acl, tt.version)
				s.want(fmt.Sprintf("version %d", tt.version), code, tt.want)
			}
		}},
		{"setACL is a transaction", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			before := p.call(wire.OpSetACL, putSetACL(s.at("x"), zk.WorldACL(zk.PermAll), -1)).zxid
			s.want("zxid", p.delete(s.at("x"), -1).zxid, before+1)
		}},
		{"mistakes in setACL and getACL", func(s *site) {
			owner, p := s.as("owner"), s.peer()
			s.want("create", owner.createACL(s.at("x"), append(everything("owner"), zk.WorldACL(zk.PermRead)...)), wire.OK)
			p.sync("/")
			bad := allow(zk.PermAll, "nonsense", "x")
			for _, tt := range []struct {
				name, path string
				acl        []zk.ACL
				version    int32
				want       wire.Code
			}{
				{"the path before the list", "x", bad, -1, wire.BadArguments},
				{"the list before the znode", s.at("none"), bad, -1, wire.InvalidACL},
				{"the list before the permission", s.at("x"), bad, -1, wire.InvalidACL},
				{"an empty list", s.at("x"), nil, -1, wire.InvalidACL},
				{"no znode", s.at("none"), zk.WorldACL(zk.PermAll), -1, wire.NoNode},
				{"the permission before the version", s.at("x"), zk.WorldACL(zk.PermAll), 9, wire.NoAuth},
				{"ZooKeeper's own", "/zookeeper/config", zk.WorldACL(zk.PermAll), -1, wire.NoAuth},
			} {
				_, code := p.setACL(tt.path, tt.acl, tt.version)
				s.want(tt.name, code, tt.want)
			}
			_, _, code := p.getACL(s.at("none"))
			s.want("getACL without a znode", code, wire.NoNode)
			list, st, _ := p.getACL("/zookeeper/config")
			s.want("list of ZooKeeper's own", list, zk.WorldACL(zk.PermRead))
			s.want("its version", st.Aversion, int32(-1))
		}},
		{"the order of checks", func(s *site) {
			owner, p := s.as("owner"), s.peer()
			s.want("create", owner.createACL(s.at("x"), everything("owner")), wire.OK)
			owner.mustCreate(s.at("x/child"), persistent)
			p.sync("/")
			s.want("create with a bad list", p.createACL(s.at("x/y"), allow(1, "nonsense", "")), wire.InvalidACL)
			_, code := p.create(s.at("x/child"), persistent)
			s.want("create what exists", code, wire.NoAuth)
			_, code = p.create(s.at("x/\x01"), persistent)
			s.want("create with a bad character", code, wire.NoAuth)
			s.want("delete what does not exist", p.delete(s.at("x/none"), -1).code, wire.NoAuth)
			_, code = p.setData(s.at("x"), nil, 9)
			s.want("setData of a wrong version", code, wire.NoAuth)
			owner.clear(s.at("x"))
		}},
		{"a multi that lacks a permission does nothing", func(s *site) {
			owner, p := s.as("owner"), s.peer()
			s.want("create", owner.createACL(s.at("x"), append(everything("owner"), zk.WorldACL(zk.PermRead)...)), wire.OK)
			p.sync("/")
			results, _ := p.multi(step{wire.OpCreate, putCreate(s.at("y"), nil, persistent)}, step{wire.OpCheck, putPathVersion(s.at("x"), 0)},
				step{wire.OpSetData, putSetData(s.at("x"), nil, -1)}, step{wire.OpDelete, putPathVersion(s.at("y"), -1)})
			s.want("codes", codes(results), "OK OK NoAuth RuntimeInconsistency")
			_, code := p.exists(s.at("y"), false)
			s.want("the first part", code, wire.NoNode)
		}},
		{"auth stands for the identities of the connection", func(s *site) {
			p := s.as("one")
			p.auth("digest", []byte("two:secret"))
			p.auth("digest", []byte("two:secret"))
			s.want("whoAmI", p.whoAmI(), []string{"digest one", "digest two", "ip"})
			s.want("create", p.createACL(s.at("x"), allow(zk.PermAll, "auth", "ignored")), wire.OK)
			list, _, _ := p.getACL(s.at("x"))
			s.want("list", sortedACL(list), sortedACL(append(everything("one"), everything("two")...)))
			s.want("without authentication", s.peer().createACL(s.at("y"), allow(zk.PermAll, "auth", "")), wire.InvalidACL)
			_, code := s.as("two").exists(s.at("x"), false)
			s.want("the other user", code == wire.NoAuth, false)
		}},
		{"identities end with their connection", func(s *site) {
			p := s.as("owner")
			s.want("create", p.createACL(s.at("x"), everything("owner")), wire.OK)
			p.conn.Close()
			again := s.reopen(p, s.addrs[0])
			again.sync("/")
			_, _, code := again.getData(s.at("x"), false)
			s.want("before it authenticates again", code, wire.NoAuth)
			again.auth("digest", []byte("owner:secret"))
			_, _, code = again.getData(s.at("x"), false)
			s.want("after that", code, wire.OK)
			s.want("with another password", again.auth("digest", []byte("other:wrong")), wire.OK)
		}},
		{"hashes are for administrators", func(s *site) {
			owner, reader := s.as("owner"), s.as("reader")
			acl := slices.Concat(everything("owner"), allow(zk.PermRead, "digest", digest("reader")), allow(zk.PermRead, "ip", "0.0.0.0/0"))
			s.want("create", owner.createACL(s.at("x"), acl), wire.OK)
			list, _, _ := owner.getACL(s.at("x"))
			s.want("as the owner sees it", list, acl)
			reader.sync("/")
			list, _, _ = reader.getACL(s.at("x"))
			masked := slices.Clone(acl)
			masked[0].ID, masked[1].ID = "owner:x", "reader:x"
			s.want("as a reader sees it", list, masked)
		}},
		{"an id may be null", func(s *site) {
			p := s.as("owner")
			r := p.call(wire.OpCreate, func(out *jute.Encoder) {
				out.Text(s.at("x"))
				out.Buffer(nil)
				out.Int(1)
				out.Int(zk.PermAll)
				out.Text("auth")
				out.Buffer(nil)
				out.Int(persistent)
			})
			s.want("code", r.code, wire.OK)
			list, _, _ := p.getACL(s.at("x"))
			s.want("list", list, everything("owner"))
		}},
		{"entries are not repeated", func(s *site) {
			p := s.peer()
			acl := slices.Concat(zk.WorldACL(zk.PermAdmin), everything("owner"), zk.WorldACL(zk.PermAdmin), zk.WorldACL(zk.PermRead))
			s.want("create", p.createACL(s.at("x"), acl), wire.OK)
			list, _, _ := p.getACL(s.at("x"))
			s.want("list", list, slices.Delete(acl, 2, 3))
		}},
		{"valid ids", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				scheme, id string
				valid      bool
			}{
				{"digest", "a:b", true}, {"digest", ":b", true}, {"digest", "a:b:", true}, {"digest", "a", false}, {"digest", "", false},
				{"digest", "a:", false}, {"digest", "a:b:c", false}, {"digest", "a::b", false}, {"digest", ":", false},
				{"ip", "10.0.0.1", true}, {"ip", "10.0.0.1/0", true}, {"ip", "10.0.0.1/32", true}, {"ip", "010.0.0.1", true},
				{"ip", "10.0.0.1/33", false}, {"ip", "10.0.0.1/-1", false}, {"ip", "10.0.0.1/", false}, {"ip", "10.0.0", false},
				{"ip", "10.0.0.256", false}, {"ip", "10.0.0.1.2", false}, {"ip", "localhost", false}, {"ip", "", false},
				{"world", "", false}, {"super", "", false}, {"", "", false},
			} {
				r := p.call(wire.OpCreate, putCreateACL(s.at("n-"), nil, allow(zk.PermAll, tt.scheme, tt.id), sequential))
				s.want(fmt.Sprintf("%s %q is valid", tt.scheme, tt.id), r.code == wire.OK, tt.valid)
				if !tt.valid {
					s.want(fmt.Sprintf("%s %q", tt.scheme, tt.id), r.code, wire.InvalidACL)
				}
			}
		}},
		{"addresses", func(s *site) {
			p := s.peer()
			for id, want := range map[string]wire.Code{"0.0.0.0/0": wire.OK, "192.0.2.1/0": wire.OK, "192.0.2.1": wire.NoAuth, "192.0.2.0/24": wire.NoAuth} {
				path := p.mustCreate(s.at("n-"), sequential)
				_, code := p.setACL(path, allow(zk.PermRead, "ip", id), -1)
				s.want("setACL", code, wire.OK)
				_, _, code = p.getData(path, false)
				s.want(id, code, want)
			}
		}},
		{"clients that may not read are not notified", func(s *site) {
			owner, p := s.as("owner"), s.peer()
			for _, name := range []string{"open", "secret"} {
				owner.mustCreate(s.at(name), persistent)
			}
			p.sync("/")
			for _, name := range []string{"open", "secret"} {
				p.getData(s.at(name), true)
				p.children(s.at(name), true)
			}
			p.exists(s.at("new"), true)
			_, code := owner.setACL(s.at("secret"), everything("owner"), -1)
			s.want("setACL", code, wire.OK)
			for _, name := range []string{"open", "secret"} {
				owner.mustCreate(s.at(name+"/child"), persistent)
				owner.setData(s.at(name), nil, -1)
			}
			s.want("create", owner.createACL(s.at("new"), everything("owner")), wire.OK)
			s.want("events", p.events(), "NodeChildrenChanged /open, NodeDataChanged /open")
			s.want("the watch is gone", p.checkWatches(s.at("secret"), anyWatch), wire.NoWatcher)
			owner.clear(s.at("secret"))
		}},
		{"a read without permission sets no watch", func(s *site) {
			p := s.peer()
			s.want("create", p.createACL(s.at("x"), everything("owner")), wire.OK)
			for _, op := range []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren} {
				s.want("code", p.call(op, putPathWatch(s.at("x"), true)).code, wire.NoAuth)
			}
			s.want("watches", p.checkWatches(s.at("x"), anyWatch), wire.NoWatcher)
		}},
		{"the end of a session needs no permission", func(s *site) {
			owner, p := s.as("owner"), s.peer()
			acl := append(everything("owner"), zk.WorldACL(zk.PermCreate|zk.PermRead)...)
			s.want("create", owner.createACL(s.at("x"), acl), wire.OK)
			p.sync("/")
			p.mustCreate(s.at("x/e"), ephemeral)
			s.want("delete", p.delete(s.at("x/e"), -1).code, wire.NoAuth)
			p.bye()
			owner.sync("/")
			list, _, _ := owner.children(s.at("x"), false)
			s.want("children", list, "")
		}},
		{"authentication that fails", func(s *site) {
			p := s.peer()
			s.want("address", p.auth("ip", nil), wire.OK)
			s.want("whoAmI", p.whoAmI(), []string{"ip"})
			s.want("no credentials", p.auth("digest", nil), wire.AuthFailed)
			s.want("replies after it", len(p.closed()), 0)
			s.reopen(p, s.addrs[0]).bye()
		}},
		{"a password may be anything", func(s *site) {
			p := s.peer()
			for _, credentials := range []string{"", "user", "user:", ":", "a:b:c", "ä:ö"} {
				s.want(fmt.Sprintf("%q", credentials), p.auth("digest", []byte(credentials)), wire.OK)
			}
			s.want("create", p.createACL(s.at("x"), allow(zk.PermAll, "auth", "")), wire.OK)
			list, _, _ := p.getACL(s.at("x"))
			var want []zk.ACL
			for _, credentials := range []string{"", "user", "user:", ":", "a:b:c", "ä:ö"} {
				user, _, _ := strings.Cut(credentials, ":")
				hash := sha1.Sum([]byte(credentials))
				want = append(want, allow(zk.PermAll, "digest", user+":"+base64.StdEncoding.EncodeToString(hash[:]))...)
			}
			s.want("list", sortedACL(list), sortedACL(want))
		}},
	}
}
