package doublebarrier

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// roundsAmong returns the numbers of the rounds among the children of the directory.
func roundsAmong(children []string) (rounds []int64) {
	for _, name := range children {
		digits, ours := strings.CutPrefix(name, roundPrefix)
		if round, err := strconv.ParseInt(digits, 10, 64); ours && err == nil {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// processesAmong returns the processes' znodes in their order, in which 10 comes after 9.
func processesAmong(children []string) (processes []string) {
	for _, name := range children {
		if strings.HasPrefix(name, processPrefix) {
			processes = append(processes, name)
		}
	}
	slices.SortFunc(processes, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return processes
}
