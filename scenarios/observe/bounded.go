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
		for _, p := range r.pairs()[min(r.most/2, len(r.by)):] {
			r.dropped(p.value)
			delete(r.by, p.key)
		}
	}
	v := r.fresh(key)
	r.by[key] = v
	return v
}

// rekey gives the values other keys, and merges those that then have the same one.
func (r *ranked[K, V]) rekey(fold func(K) K) {
	for _, p := range r.pairs() {
		if key := fold(p.key); key != p.key {
			delete(r.by, p.key)
			r.merge(r.of(key), p.value)
		}
	}
}

type pair[K comparable, V any] struct {
	key   K
	value *V
}

// pairs returns the keys with their values, in the order of the values. Looking up a long path takes longer than a comparison.
func (r *ranked[K, V]) pairs() []pair[K, V] {
	pairs := make([]pair[K, V], 0, len(r.by))
	for k, v := range r.by {
		pairs = append(pairs, pair[K, V]{k, v})
	}
	slices.SortFunc(pairs, func(a, b pair[K, V]) int { return r.compare(a.value, b.value) })
	return pairs
}

func (r *ranked[K, V]) sorted() []*V {
	return list.Map(r.pairs(), func(p pair[K, V]) *V { return p.value })
}

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
