package observe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// mostPaths bounds how many folded paths have numbers of their own. When there are more, those of the less busy half move to the rest.
const mostPaths = 1000

// pathStats is what happened to the znodes of one folded path.
type pathStats struct {
	PathReport // without its operations
	operations map[wire.Opcode]*OperationReport
}

// requests returns the number of requests.
func (p *pathStats) requests() (n int64) {
	for _, o := range p.operations {
		n += o.Count
	}
	return n
}

// paths holds the statistics of paths, and the sum of those that have none of their own.
type paths struct {
	by   map[string]*pathStats
	rest *pathStats
	gone int64 // folded paths that were moved to the rest
}

func newPaths() *paths {
	return &paths{by: map[string]*pathStats{}, rest: newPathStats("")}
}

func newPathStats(path string) *pathStats {
	return &pathStats{PathReport: PathReport{Path: path}, operations: map[wire.Opcode]*OperationReport{}}
}

// of returns the statistics of a path.
func (ps *paths) of(path string) *pathStats {
	key := fold(path)
	p := ps.by[key]
	if p == nil {
		if len(ps.by) == mostPaths {
			ps.prune()
		}
		p = newPathStats(key)
		ps.by[key] = p
	}
	return p
}

// prune moves the less busy half to the rest.
func (ps *paths) prune() {
	all := ps.sorted()
	for _, p := range all[len(all)/2:] {
		ps.rest.add(p)
		delete(ps.by, p.Path)
		ps.gone++
	}
}

// sorted returns the statistics of all paths, the busiest first.
func (ps *paths) sorted() []*pathStats {
	return slices.SortedFunc(maps.Values(ps.by), func(a, b *pathStats) int {
		return cmp.Or(cmp.Compare(b.requests()+b.Fired, a.requests()+a.Fired), cmp.Compare(a.Path, b.Path))
	})
}

// add adds what happened to other znodes.
func (p *pathStats) add(o *pathStats) {
	for op, theirs := range o.operations {
		p.operation(op).add(theirs)
	}
	p.WatchesSet += o.WatchesSet
	p.Fired += o.Fired
	p.Unfollowed += o.Unfollowed
}

// operation returns the statistics of a kind of request.
func (p *pathStats) operation(op wire.Opcode) *OperationReport {
	o := p.operations[op]
	if o == nil {
		o = &OperationReport{Operation: op.String(), Failed: map[string]int64{}}
		p.operations[op] = o
	}
	return o
}

func (o *OperationReport) add(other *OperationReport) {
	o.Count += other.Count
	o.BytesIn += other.BytesIn
	o.BytesOut += other.BytesOut
	for code, n := range other.Failed {
		o.Failed[code] += n
	}
}

// exchanged counts a request.
func (p *pathStats) exchanged(e wire.Exchange) {
	o := p.operation(e.Op)
	o.Count++
	o.BytesIn += e.BytesIn
	o.BytesOut += e.BytesOut
	if e.Code != wire.OK {
		o.Failed[e.Code.String()]++
	}
	if e.Armed {
		p.WatchesSet++
	}
}

// notified counts a notification to a session. The one before it was of no use if no successful write of the session followed.
func (p *pathStats) notified(s *session) {
	p.Fired++
	if len(s.woken) == mostPaths { // a reader that never writes, of paths that do not fold
		clear(s.woken)
	}
	if s.woken[p] {
		p.Unfollowed++
	}
	s.woken[p] = true
}
