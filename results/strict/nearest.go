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
	if similar := Similar(name, names); similar != "" || len(names) == 0 {
		return similar
	}
	fit, more := fitting(name, names), ""
	if most := 12; len(fit) > most {
		fit, more = fit[:most], fmt.Sprintf(", … and %d more", len(fit)-most)
	}
	return "; there are: " + strings.Join(fit, ", ") + more
}

// Similar returns a hint that quotes the most similar name; empty if none is similar.
func Similar(name string, names []string) string {
	if longest := 100; len(name) > longest || len(names) == 0 { // comparing longer names takes long, and none is similar
		return ""
	}
	distance := func(to string) int { return edlib.OSADamerauLevenshteinDistance(name, to) }
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	if distance(nearest) > max(2, len(name)/2) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", nearest)
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
