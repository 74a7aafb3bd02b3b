package jute

// Stat is the metadata of a znode. Times are in milliseconds since 1970.
type Stat struct {
	Czxid, Mzxid, Ctime, Mtime  int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64 // session id; zero for persistent znodes
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// Stat writes a stat.
func (e *Encoder) Stat(s Stat) {
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
func (d *Decoder) Stat() Stat {
	return Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(),
		Version: d.Int(), Cversion: d.Int(), Aversion: d.Int(),
		EphemeralOwner: d.Long(), DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}

// ACL is one entry of an access control list.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// PermAll is all permissions.
const PermAll int32 = 31

// World returns the access control list that gives all permissions to all clients.
func World() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

// ACLs writes an access control list.
func (e *Encoder) ACLs(list []ACL) {
	e.Int(int32(len(list)))
	for _, a := range list {
		e.Int(a.Perms)
		e.Text(a.Scheme)
		e.Text(a.ID)
	}
}

// ACLs reads an access control list; a null one is nil.
func (d *Decoder) ACLs() []ACL {
	var out []ACL
	for n := d.Int(); n > 0 && d.err == nil; n-- {
		out = append(out, ACL{Perms: d.Int(), Scheme: d.Text(), ID: d.Text()})
	}
	return out
}
