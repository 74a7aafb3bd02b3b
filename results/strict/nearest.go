package strict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/list"
)

// Nearest returns a hint for a name that does not exist: the most similar name if one is similar enough, else a few names that fit it.
func Nearest(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if longest := 100; len(name) <= longest { // comparing longer names takes long, and none is similar
		nearest := slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
		if distance(name, nearest) <= max(2, len(name)/2) {
			return fmt.Sprintf("; did you mean %q?", nearest)
		}
	}
	return "; there are: " + Some(fitting(name, names))
}

// Some returns at most twelve names, and the number of the others.
func Some(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// fitting returns the names that begin with a name or, without any, that contain it, or begin with its first word; else all names.
func fitting(name string, names []string) []string {
	first, _, _ := strings.Cut(strings.ReplaceAll(name, "/", "-"), "-")
	for _, fits := range []func(string) bool{
		func(n string) bool { return strings.HasPrefix(n, name) },
		func(n string) bool { return strings.Contains(n, name) },
		func(n string) bool { return first != "" && strings.HasPrefix(n, first) },
	} {
		if found := list.Where(names, fits); len(found) > 0 {
			return found
		}
	}
	return names
}

// distance returns the number of mistakes between two names: a letter too many, too few or wrong, or two neighbours swapped.
// It is the optimal string alignment distance.
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	d := make([][]int, len(a)+1) // of the first letters of both
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
