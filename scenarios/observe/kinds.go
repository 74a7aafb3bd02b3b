package observe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

const (
	mostKinds     = 500 // herds with the same cause that are told apart
	reportedKinds = 10
)

// kindKey names herds with the same cause, up to sequence numbers and ids.
type kindKey struct {
	known bool
	op    wire.Opcode
	cause string // a folded path
	typ   wire.EventType
	path  string // a folded path
}

// herdKind is all herds of one kind.
type herdKind struct {
	key     kindKey
	sizes   sizes
	largest *herd
}

// herdKinds groups herds by their cause. When there are too many kinds, the half with the smaller herds is only summed up.
type herdKinds struct {
	by    map[kindKey]*herdKind
	sizes sizes // of all herds
	gone  int64 // herds of kinds that are only in sizes
}

func newHerdKinds() herdKinds { return herdKinds{by: map[kindKey]*herdKind{}, sizes: sizes{}} }

// add takes a herd that is complete.
func (hk *herdKinds) add(h *herd) {
	hk.sizes[h.size]++
	key := kindKey{typ: h.typ, path: fold(h.path)}
	if h.causeKnown {
		op, path := h.cause.of(h.path)
		key.known, key.op, key.cause = true, op, fold(path)
	}
	k := hk.by[key]
	if k == nil {
		if len(hk.by) == mostKinds {
			hk.prune()
		}
		k = &herdKind{key: key, sizes: sizes{}}
		hk.by[key] = k
	}
	k.sizes[h.size]++
	if k.largest == nil || h.size > k.largest.size {
		k.largest = h
	}
}

func (hk *herdKinds) prune() {
	all := hk.sorted()
	for _, k := range all[len(all)/2:] {
		hk.gone += k.sizes.count()
		delete(hk.by, k.key)
	}
}

// sorted returns the kinds, those with the largest herds first.
func (hk *herdKinds) sorted() []*herdKind {
	return slices.SortedFunc(maps.Values(hk.by), func(a, b *herdKind) int {
		return cmp.Or(cmp.Compare(b.largest.size, a.largest.size), cmp.Compare(b.sizes.count(), a.sizes.count()),
			cmp.Compare(a.key.path, b.key.path), cmp.Compare(a.key.cause, b.key.cause), cmp.Compare(a.key.typ, b.key.typ))
	})
}

// sizes counts herds by their size. It has at most as many entries as there were watches at a time.
type sizes map[int]int64

func (s sizes) count() int64 { return list.Sum(slices.Collect(maps.Values(s))) }

// herd returns the herds as a document has them.
func (s sizes) herd() results.Herd { return results.Herd{Sizes: results.HerdSizes(s)} }
