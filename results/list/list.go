// Package list has the few functions on slices that the standard library lacks.
package list

import (
	"cmp"
	"slices"
)

// Map returns the results of a function for each element; nil without elements.
func Map[T, U any](elements []T, of func(T) U) []U {
	var out []U
	for _, e := range elements {
		out = append(out, of(e))
	}
	return out
}

// Texts returns words of any type as texts.
func Texts[T ~string](words []T) []string {
	return Map(words, func(word T) string { return string(word) })
}

// AppendNew appends each of the elements that is not in the list yet.
func AppendNew[T comparable](list []T, elements ...T) []T {
	for _, e := range elements {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// Distinct returns each of the elements once, in ascending order.
func Distinct[T cmp.Ordered](elements []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(elements)))
}

// Where returns the elements for which is returns true, in a new slice.
func Where[T any](elements []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(elements), func(e T) bool { return !is(e) })
}

// Sum returns the sum of the values, and 0 without any.
func Sum[T ~int | ~int64 | ~float64](values []T) T {
	var total T
	for _, v := range values {
		total += v
	}
	return total
}

// Largest returns the largest of the values, and 0 if none is larger.
func Largest[T ~int | ~int64 | ~float64](values []T) T { return slices.Max(append([]T{0}, values...)) }

// GroupBy returns the elements in groups of equal keys, in the order in which the keys first come.
func GroupBy[T any, K comparable](elements []T, key func(T) K) [][]T {
	var groups [][]T
	index := map[K]int{}
	for _, e := range elements {
		k := key(e)
		i, known := index[k]
		if !known {
			i, groups = len(groups), append(groups, nil)
			index[k] = i
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}
