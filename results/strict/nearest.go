package strict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"

	"github.com/zkbench/zkbench/results/list"
)

// Nearest returns a hint for a name that does not exist: the most similar name if one is similar enough, else a few names that fit it.
func Nearest(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if longest := 100; len(name) <= longest { // comparing longer names takes long, and none is similar
		distance := func(to string) int { return edlib.OSADamerauLevenshteinDistance(name, to) }
		nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
		if distance(nearest) <= max(2, len(name)/2) {
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

// fitting returns the names that begin with a name or, without any, those that contain its first word; else all names.
func fitting(name string, names []string) []string {
	first, _, _ := strings.Cut(strings.ReplaceAll(name, "/", "-"), "-")
	for _, fits := range []func(string, string) bool{strings.HasPrefix, strings.Contains} {
		if found := list.Where(names, func(n string) bool { return fits(n, first) }); len(found) > 0 && first != "" {
			return found
		}
	}
	return names
}
