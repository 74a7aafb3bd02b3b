package observe

import "strings"

const (
	manyNumbers     = 20  // different numbers with which names such as task-17 are folded; fewer, such as of shard1, are kept apart
	longestNumbered = 256 // bytes of a path in which numbers are looked for
)

// foldNumbers returns a function that folds the numbers in known paths of which there are many in the same place. It also folds
// a number in whose place another known path is folded.
func foldNumbers(known []string) (fold func(path string) string) {
	numbers := map[string]map[string]bool{} // by series
	for _, path := range known {
		for _, n := range numbersIn(path) {
			if numbers[n.series] == nil {
				numbers[n.series] = map[string]bool{}
			}
			numbers[n.series][n.number] = true
		}
	}
	fold = func(path string) string {
		for _, n := range numbersIn(path) {
			if same := numbers[n.series]; n.number != folded && (same[folded] || len(same) >= manyNumbers) {
				return fold(n.series + n.rest)
			}
		}
		return path
	}
	return fold
}

// numbered is a path with a number: the path up to the end of its name, with the number folded; the number; and the names below.
type numbered struct{ series, number, rest string }

// numbersIn returns the numbers in a path, also those that are folded already.
func numbersIn(path string) (found []numbered) {
	const digits = "0123456789" + folded
	for after := path; strings.ContainsAny(after, digits) && len(path) <= longestNumbered; {
		number := after[strings.IndexAny(after, digits):]
		after = strings.TrimLeft(number, digits)
		from, to := len(path)-len(number), len(path)-len(after)
		name, _, _ := strings.Cut(after, "/")
		found = append(found, numbered{path[:from] + folded + name, path[from:to], after[len(name):]})
	}
	return found
}
