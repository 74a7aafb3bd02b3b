package observe

import (
	"slices"

	"github.com/zkbench/zkbench/results/list"
)

// ranked holds at most a number of values by key. When there are more, it drops the lower half, unless keys can be folded.
type ranked[K comparable, V any] struct {
	most    int
	compare func(a, b *V) int // the first ranks highest
	fresh   func(K) *V
	dropped func(*V)
	merge   func(into, from *V)
	refold  func() // calls rekey
	by      map[K]*V
}

func (r *ranked[K, V]) of(key K) *V {
	if v := r.by[key]; v != nil {
		return v
	}
	if len(r.by) == r.most {
		r.refold()
		for _, k := range r.keys()[min(r.most/2, len(r.by)):] {
			r.dropped(r.by[k])
			delete(r.by, k)
		}
	}
	v := r.fresh(key)
	r.by[key] = v
	return v
}

// rekey gives the values other keys, and merges those that then have the same one.
func (r *ranked[K, V]) rekey(fold func(K) K) {
	for _, old := range r.keys() {
		if key := fold(old); key != old {
			v := r.by[old]
			delete(r.by, old)
			r.merge(r.of(key), v)
		}
	}
}

// keys returns the keys in the order of their values. It sorts pairs, because looking up a long path takes longer than a comparison.
func (r *ranked[K, V]) keys() []K {
	type pair struct {
		key   K
		value *V
	}
	pairs := make([]pair, 0, len(r.by))
	for k, v := range r.by {
		pairs = append(pairs, pair{k, v})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return r.compare(a.value, b.value) })
	return list.Map(pairs, func(p pair) K { return p.key })
}

func (r *ranked[K, V]) sorted() []*V { return list.Map(r.keys(), func(k K) *V { return r.by[k] }) }

// latest holds at most a number of values by key, and drops the oldest key first. Values may change, but keys must not be deleted.
type latest[K comparable, V any] struct {
	most  int
	by    map[K]V
	order []K
}

func (l *latest[K, V]) add(key K, v V) {
	if _, known := l.by[key]; !known {
		if len(l.order) == l.most {
			l.dropFirst()
		}
		l.order = append(l.order, key)
	}
	l.by[key] = v
}

func (l *latest[K, V]) dropFirst() {
	delete(l.by, l.order[0])
	l.order = l.order[1:]
}
