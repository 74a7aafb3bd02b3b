package observe

import (
	"math"
	"path"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	mostChildren = 1 << 14 // znodes that are remembered by the session that has created them
	mostLine     = 1 << 10 // ephemeral znodes of a directory that are known in their order
)

// znodes knows which session has made which znode, and the ephemeral ones that exist.
type znodes struct {
	made    latest[string, origin]
	numbers numbers
	ends    map[int64][]string    // the ephemeral znodes of sessions
	owners  map[string]int64      // of these znodes
	lines   map[string]line       // by directory
	claims  latest[string, int64] // the sessions that have claimed sequential znodes, by the names of these
}

// origin says which session has created a znode, 0 if it is gone, and which one has created the znode of that path before. The reply to
// a delete may be seen after the reply to the create that followed it, on another connection.
type origin struct {
	session, zxid, before int64
	number                int32 // that a sequential znode was given; of another one, the largest
}

func (o origin) by(zxid int64) int64 {
	if zxid < o.zxid {
		return o.before
	}
	return o.session
}

// line has the ephemeral znodes of a directory, and the one with the lowest number once its session has listed.
type line struct {
	paths  []string
	looked string
}

func newZnodes() *znodes {
	return &znodes{
		made:    latest[string, origin]{most: mostChildren, by: map[string]origin{}},
		claims:  latest[string, int64]{most: mostChildren, by: map[string]int64{}},
		numbers: numbers{}, ends: map[int64][]string{}, owners: map[string]int64{}, lines: map[string]line{},
	}
}

// has reports whether a session has such an ephemeral znode in a directory.
func (z *znodes) has(session int64, directory string, such func(path string) bool) bool {
	return slices.ContainsFunc(z.ends[session], func(path string) bool { return parentOf(path) == directory && such(path) })
}

// first returns the ephemeral znode of a directory that has the lowest number, or is the oldest of those without one; empty if none exists.
func (z *znodes) first(directory string) string {
	if z.lines[directory].paths == nil {
		return ""
	}
	return slices.MinFunc(z.lines[directory].paths, z.byNumber)
}

// byNumber compares the numbers that two sequential znodes were given. Those after 2147483647 are negative.
func (z *znodes) byNumber(a, b string) int { return int(z.made.by[a].number - z.made.by[b].number) }

func (z *znodes) created(session int64, e wire.Exchange) {
	directory, before := parentOf(e.Path), z.made.by[e.Path].session
	z.forget(e.Path) // its end was not seen, or not yet
	if isEphemeral(e.Flags) {
		l := z.lines[directory]
		z.lines[directory] = line{append(l.paths[max(len(l.paths)-mostLine+1, 0):], e.Path), l.looked}
		z.ends[session], z.owners[e.Path] = append(z.ends[session], e.Path), session
	}
	if isClaim(e) {
		z.claims.add(path.Base(e.Path), session)
	}
	number := e.Number
	if !e.Sequential {
		number = math.MaxInt32
	}
	z.made.add(e.Path, origin{session, e.Zxid, before, number})
}

// isClaim reports whether an ephemeral znode is created with the number of a sequential one, as a claim for it.
func isClaim(e wire.Exchange) bool {
	return !e.Sequential && isSequential(e.Path) && isEphemeral(e.Flags)
}

// isEphemeral reports whether the flags of a create, which are as those of [zk.Conn.Create], are of an ephemeral znode.
func isEphemeral(flags int32) bool { return flags == 1 || flags == 3 }

func (z *znodes) deleted(path string, zxid int64) {
	if o := z.made.by[path]; zxid >= o.zxid {
		z.made.add(path, origin{})
		z.forget(path)
	}
}

// listed remembers that a session has looked whose znode is the first.
func (z *znodes) listed(session int64, directory string) {
	if first := z.first(directory); z.made.by[first].session == session {
		z.lines[directory] = line{z.lines[directory].paths, first}
	}
}

func (z *znodes) over(session int64) {
	for _, path := range slices.Clone(z.ends[session]) {
		z.deleted(path, z.made.by[path].zxid)
	}
}

// forget drops an ephemeral znode.
func (z *znodes) forget(path string) {
	session := z.owners[path]
	delete(z.owners, path)
	isPath := func(p string) bool { return p == path }
	if z.ends[session] = slices.DeleteFunc(z.ends[session], isPath); len(z.ends[session]) == 0 {
		delete(z.ends, session)
	}
	l := z.lines[parentOf(path)]
	l.paths = slices.DeleteFunc(l.paths, isPath)
	if z.lines[parentOf(path)] = l; len(l.paths) == 0 {
		delete(z.lines, parentOf(path))
	}
}
