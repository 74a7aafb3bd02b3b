// Package mutants measures how much the simulation and the gate find.
//
// It takes one position: a fault finder is measured by the faults that it finds. A mutant that survives is either
// equivalent to the original, or a mistake that a variant could have and no test would notice.
//
// For the simulation, it leaves out one step of a recipe at a time, such as a sync or a check for the loss of the session, and plays
// runs until something is found. All mutants are compiled once, into one test binary, and an environment variable chooses one:
//
//	ZKBENCH_MUTATE='^lock/' ZKBENCH_MUTATE_RESULTS=/tmp/results.tsv go test ./variants/mutants -run TestMutants -v -timeout 0
//
// For the gate, it changes one call site at a time at which a variant sends a request: it sends another request before it, or a dearer
// one in its place, sets a watch, or sends none. The algorithm and its answers stay the same. The gate, with the baselines of the project,
// must call each change a regression in at least one run whose counts are exact. Each `go test` tries a sample; this tries all:
//
//	make callsites CALLSITES='^lock/'
//
// Nothing but tests is in this package.
package mutants
