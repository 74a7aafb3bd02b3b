package observe

import (
	"cmp"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

const (
	mostKinds     = 500 // herds with the same cause that have their own statistics
	reportedKinds = 10
)

// kindKey names herds with the same cause, up to sequence numbers and ids.
type kindKey struct {
	op    wire.Opcode // zero if the cause is not known
	cause string      // a folded path
	typ   wire.EventType
	path  string // a folded path
}

type herdKind struct {
	HerdKind // without its median
	key      kindKey
	sizes    sizes
	largest  *herd // replies may still add effects to it
	cause    *cause
}

// herdKinds groups herds by their cause. When there are too many kinds, those with the smaller herds are only summed up.
type herdKinds struct {
	ranked[kindKey, herdKind]
	sizes sizes // of all herds
	gone  int64 // herds of kinds that are only in sizes
}

func newHerdKinds() *herdKinds {
	hk := &herdKinds{sizes: sizes{}}
	hk.ranked = ranked[kindKey, herdKind]{
		by: map[kindKey]*herdKind{}, most: mostKinds,
		fresh:   func(key kindKey) *herdKind { return &herdKind{key: key, sizes: sizes{}} },
		dropped: func(k *herdKind) { hk.gone += k.Count }, merge: (*herdKind).plus,
		compare: func(a, b *herdKind) int {
			return cmp.Or(cmp.Compare(b.Largest.Notifications, a.Largest.Notifications), cmp.Compare(b.Count, a.Count),
				cmp.Compare(a.key.path, b.key.path), cmp.Compare(a.key.cause, b.key.cause), cmp.Compare(a.key.typ, b.key.typ))
		},
	}
	return hk
}

func (hk *herdKinds) add(h *herd, c *cause) {
	key := kindKey{typ: h.typ, path: fold(h.Path)}
	if c != nil {
		op, path := c.of(h.Path)
		key.op, key.cause = op, fold(path)
	}
	hk.sizes[h.Notifications]++
	one := HerdKind{Count: 1, Notifications: int64(h.Notifications), Largest: Herd{Notifications: h.Notifications}}
	hk.of(key).plus(&herdKind{HerdKind: one, sizes: sizes{h.Notifications: 1}, largest: h, cause: c})
}

func (k *herdKind) plus(other *herdKind) {
	k.Count += other.Count
	k.Notifications += other.Notifications
	for size, n := range other.sizes {
		k.sizes[size] += n
	}
	most, size := k.Largest.Notifications, other.Largest.Notifications
	if size > most || size == most && other.largest.zxid < k.largest.zxid {
		k.Largest, k.largest, k.cause = other.Largest, other.largest, other.cause
	}
}

func (hk *herdKinds) report() (kinds []HerdKind, others int64) {
	kinds, others = []HerdKind{}, hk.gone
	for i, k := range hk.sorted() {
		if i >= reportedKinds {
			others += k.Count
			continue
		}
		k.P50, k.Largest = k.sizes.herd().Quantile(0.5), k.largest.report(k.cause)
		kinds = append(kinds, k.HerdKind)
	}
	return kinds, others
}

// sizes counts herds by their size. It has at most as many entries as there were watches at a time.
type sizes map[int]int64

func (s sizes) herd() results.Herd { return results.Herd{Sizes: results.HerdSizes(s)} }
