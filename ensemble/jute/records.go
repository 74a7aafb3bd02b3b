package jute

import "github.com/go-zookeeper/zk"

// Stat writes a stat.
func (e *Encoder) Stat(s zk.Stat) {
	e.Long(s.Czxid)
	e.Long(s.Mzxid)
	e.Long(s.Ctime)
	e.Long(s.Mtime)
	e.Int(s.Version)
	e.Int(s.Cversion)
	e.Int(s.Aversion)
	e.Long(s.EphemeralOwner)
	e.Int(s.DataLength)
	e.Int(s.NumChildren)
	e.Long(s.Pzxid)
}

// Stat reads a stat.
func (d *Decoder) Stat() zk.Stat {
	return zk.Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(),
		Version: d.Int(), Cversion: d.Int(), Aversion: d.Int(),
		EphemeralOwner: d.Long(), DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}

// ACLs writes an access control list.
func (e *Encoder) ACLs(list []zk.ACL) {
	e.Int(int32(len(list)))
	for _, a := range list {
		e.Int(a.Perms)
		e.Text(a.Scheme)
		e.Text(a.ID)
	}
}

// ACLs reads an access control list; a null one is nil.
func (d *Decoder) ACLs() []zk.ACL {
	var out []zk.ACL
	for n := d.Int(); n > 0 && d.err == nil; n-- {
		out = append(out, zk.ACL{Perms: d.Int(), Scheme: d.Text(), ID: d.Text()})
	}
	return out
}
