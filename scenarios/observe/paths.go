package observe

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// mostPaths bounds how many folded paths have numbers of their own. When there are more, those of the less busy half move to the rest.
const mostPaths = 1000

// paths holds the statistics of folded paths, and the sum of those that have none of their own.
type paths struct {
	ranked[string, PathReport]
	rest *PathReport // nil without any
}

func newPaths() *paths {
	ps := &paths{}
	ps.ranked = ranked[string, PathReport]{
		by: map[string]*PathReport{}, most: mostPaths, fresh: newPathReport, dropped: func(p *PathReport) { ps.rest = ps.rest.plus(p) },
		compare: func(a, b *PathReport) int {
			return cmp.Or(cmp.Compare(b.requests()+b.Fired, a.requests()+a.Fired), cmp.Compare(a.Path, b.Path))
		},
	}
	return ps
}

func newPathReport(path string) *PathReport {
	return &PathReport{Path: path, Operations: []OperationReport{}}
}

// report returns the busiest paths, and the sum of the others, which is nil without any.
func (ps *paths) report() (listed []PathReport, others *PathReport) {
	listed = []PathReport{}
	if ps.rest != nil {
		others = others.plus(ps.rest)
	}
	for i, p := range ps.sorted() {
		if i >= reportedPaths {
			others = others.plus(p)
			continue
		}
		own := *newPathReport(p.Path).plus(p)
		own.sort()
		listed = append(listed, own)
	}
	if others != nil {
		others.sort()
	}
	return listed, others
}

// requests returns the number of requests.
func (p *PathReport) requests() (n int64) {
	for _, o := range p.Operations {
		n += o.Count
	}
	return n
}

// plus adds what happened to other znodes, and returns the sum.
func (p *PathReport) plus(other *PathReport) *PathReport {
	if p == nil {
		p = newPathReport("")
	}
	for _, theirs := range other.Operations {
		o := p.operation(theirs.Operation)
		o.Count += theirs.Count
		o.BytesIn += theirs.BytesIn
		o.BytesOut += theirs.BytesOut
		for code, n := range theirs.Failed {
			o.Failed[code] += n
		}
	}
	p.WatchesSet += other.WatchesSet
	p.Fired += other.Fired
	p.Unfollowed += other.Unfollowed
	return p
}

// sort sorts the operations, the most frequent first.
func (p *PathReport) sort() {
	slices.SortFunc(p.Operations, func(a, b OperationReport) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation))
	})
}

// operation returns the statistics of a kind of request.
func (p *PathReport) operation(name string) *OperationReport {
	i := slices.IndexFunc(p.Operations, func(o OperationReport) bool { return o.Operation == name })
	if i < 0 {
		i = len(p.Operations)
		p.Operations = append(p.Operations, OperationReport{Operation: name, Failed: map[string]int64{}})
	}
	return &p.Operations[i]
}

// exchanged counts a request.
func (p *PathReport) exchanged(e wire.Exchange) {
	o := p.operation(e.Op.String())
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
func (p *PathReport) notified(s *session) {
	p.Fired++
	if len(s.woken) == mostPaths { // a reader that never writes, of paths that do not fold
		clear(s.woken)
	}
	if s.woken[p] {
		p.Unfollowed++
	}
	s.woken[p] = true
}
