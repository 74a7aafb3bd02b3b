// Package mutants measures how much the simulation finds: it leaves out one step of a recipe at a time, such as a sync or
// a check for the loss of the session, and plays runs until something is found.
//
// It takes one position: a fault finder is measured by the faults that it finds. A mutant that survives is either
// equivalent to the original, or a mistake that a variant could have and no test would notice.
//
// All mutants are compiled once, into one test binary, and an environment variable chooses one. Nothing but tests is in this package:
//
//	ZKBENCH_MUTATE='^lock/' ZKBENCH_MUTATE_RESULTS=/tmp/results.tsv go test ./variants/mutants -run TestMutants -v -timeout 0
package mutants
