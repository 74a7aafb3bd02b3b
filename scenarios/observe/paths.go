package observe

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// mostPaths bounds how many folded paths have their own numbers. Beyond it, the less busy half is added to the rest.
const mostPaths = 1000

// paths holds the statistics of folded paths, and the sum of all others.
type paths struct {
	ranked[string, PathReport]
	rest *PathReport // nil without any
}

func newPaths() *paths {
	ps := &paths{}
	ps.ranked = ranked[string, PathReport]{
		by: map[string]*PathReport{}, most: mostPaths, fresh: newPathReport, dropped: func(p *PathReport) { ps.rest = ps.rest.plus(p) },
		merge: func(into, from *PathReport) { into.plus(from) },
		compare: func(a, b *PathReport) int {
			return cmp.Or(cmp.Compare(b.requests()+b.Fired, a.requests()+a.Fired), cmp.Compare(a.Path, b.Path))
		},
	}
	return ps
}

func newPathReport(path string) *PathReport {
	return &PathReport{Path: path, Operations: []OperationReport{}}
}

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
		listed = append(listed, *newPathReport(p.Path).plus(p))
	}
	return listed, others
}

func (p *PathReport) requests() (n int64) {
	for _, o := range p.Operations {
		n += o.Count
	}
	return n
}

// plus adds the numbers of another path, and puts the most frequent operations first.
func (p *PathReport) plus(other *PathReport) *PathReport {
	if p == nil {
		p = newPathReport("(others)")
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
	slices.SortFunc(p.Operations, func(a, b OperationReport) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation))
	})
	p.WatchesSet += other.WatchesSet
	p.Fired += other.Fired
	p.Unfollowed += other.Unfollowed
	return p
}

func (p *PathReport) operation(name string) *OperationReport {
	i := slices.IndexFunc(p.Operations, func(o OperationReport) bool { return o.Operation == name })
	if i < 0 {
		i = len(p.Operations)
		p.Operations = append(p.Operations, OperationReport{Operation: name, Failed: map[string]int64{}})
	}
	return &p.Operations[i]
}

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

// notified counts a notification to a session. The previous one was of no use if no successful write of the session followed.
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
