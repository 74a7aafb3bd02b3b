package scenarios

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// The groups of embedded scenarios, besides the bounds and the fault matrix, whose scenarios are generated.
const (
	allGroup   = "all"
	exactGroup = "exact" // see [Scenario.isExact]
	// OverviewGroup is the name of the scenarios without faults that name a pair of variants. Each has this pair alone, at its largest number
	// of clients, so that all of them together take minutes.
	OverviewGroup = "overview"
)

// Groups returns the names of all groups of scenarios.
func Groups() []string { return []string{allGroup, exactGroup, OverviewGroup, BoundsName, MatrixName} }

// Group returns the scenarios of a group; none if there is no such group. The error lists the scenarios that have mistakes.
func Group(name string, recipes []variants.Recipe) (selected []Scenario, err error) {
	switch name {
	case allGroup, exactGroup, OverviewGroup:
	case MatrixName:
		return Matrix(recipes), nil
	case BoundsName:
		return Bounds(recipes), nil
	default:
		return nil, nil
	}
	for _, one := range Names() {
		s, loadErr := Load(one, recipes)
		err = errors.Join(err, loadErr)
		if loadErr == nil && (name == allGroup || name == exactGroup && s.isExact() || name == OverviewGroup && s.reduceToPair()) {
			selected = append(selected, s)
		}
	}
	return selected, err
}

// reduceToPair leaves the variants of the overview at the largest number of clients, without the claims, which are about the whole load.
// It returns false if the scenario is not in the overview.
func (s *Scenario) reduceToPair() bool {
	pair, err := claim.ParsePair(s.Overview)
	if err != nil || len(s.Faults) > 0 {
		return false
	}
	s.Variants, s.Clients, s.Expect = []string{pair.Naive, pair.Optimized}, []int{slices.Max(s.Clients)}, nil
	return true
}

// isExact reports whether the counts are the same in each run, on each engine. It leaves out heaps, which only real servers have.
func (s *Scenario) isExact() bool {
	alone := s.Operations > 0 && slices.Max(s.Clients) == 1 && len(s.Faults) == 0
	return !s.Heap && (s.Mode == Lockstep || alone)
}

// BoundsName is the name under which the scenarios of [Bounds] are run together.
const BoundsName = "bounds"

// The load of [Bounds].
const (
	boundsClients    = 50
	boundsOperations = 10 // of each client, so that the counts are those of whole operations, which a window would cut off
	boundsHold       = time.Millisecond
	boundsWarmUp     = time.Second
	driverWarmUp     = 5 * time.Second // a driver starts anew for each measurement, and a JVM compiles what it runs
)

// Bounds returns one scenario for each recipe: its optimized variants, and those of client libraries, in a closed loop of many clients, to
// be compared with the recipe's [variants.Bound].
func Bounds(recipes []variants.Recipe) []Scenario { return list.Map(recipes, boundsOf) }

func boundsOf(recipe variants.Recipe) Scenario {
	s := Default()
	s.Name, s.Recipe = BoundsName+"-"+recipe.Name, recipe.Name
	s.Question = "How far from its bound is each " + recipe.Name + " with many clients?"
	s.Clients, s.Size, s.Repeats = []int{boundsClients}, recipe.UsualSize(), 1
	s.Operations, s.Hold, s.WarmUp = max(boundsOperations/recipe.BatchOf(s.Size), 2), boundsHold, boundsWarmUp
	for _, v := range recipe.All() {
		if v.Kind == variants.Naive {
			continue
		}
		s.Variants = append(s.Variants, v.Name)
		if v.Broken != "" {
			s.Broken = append(s.Broken, v.Name)
		}
	}
	if s.HasDriver(recipe) {
		s.WarmUp = driverWarmUp
	}
	return s
}

// MatrixName is the name under which the scenarios of [Matrix] are run together.
const MatrixName = "fault-matrix"

// MatrixFault is one column of the fault matrix: a fault, with which all variants are measured.
type MatrixFault struct {
	Name     string
	Schedule []faults.Fault
	Window   time.Duration
	Hold     time.Duration
	Roam     bool
}

// The durations of the matrix. A session runs out and an election ends within the longer window.
const (
	matrixTimeout      = 4 * time.Second
	matrixFixedTimeout = 30 * time.Second // for clients that cannot join again: longer than an election on a busy machine
	matrixShort        = 3 * time.Second
	matrixLong         = 10 * time.Second
	matrixHold         = 2 * time.Millisecond
	matrixClients      = 6
)

// MatrixFaults returns the columns of the fault matrix.
func MatrixFaults() []MatrixFault {
	at := func(f faults.Fault) []faults.Fault {
		f.At = time.Second
		return []faults.Fault{f}
	}
	server := func(name string, kind faults.Kind, whom string) MatrixFault {
		return MatrixFault{name, at(faults.Fault{Kind: kind, Whom: whom, For: matrixTimeout / 2}), matrixLong, matrixHold, true}
	}
	// Repeated, because no other client sees the end of the last waiter. With longer holds, nearly all clients wait.
	waiters := []faults.Fault{{Kind: faults.Expire, Whom: faults.Waiter, Every: 800 * time.Millisecond}}
	return []MatrixFault{
		{"stop-holder", at(faults.Fault{Kind: faults.Stop, Whom: faults.Holder}), matrixLong, matrixHold, false},
		{"stop-waiter", at(faults.Fault{Kind: faults.Stop, Whom: faults.Waiter}), matrixLong, matrixHold, false},
		{"expire-holder", at(faults.Fault{Kind: faults.Expire, Whom: faults.Holder}), matrixShort, matrixHold, false},
		{"expire-waiter", waiters, matrixShort, 10 * matrixHold, false},
		{"expire-any", at(faults.Fault{Kind: faults.Expire, Whom: faults.Any}), matrixShort, matrixHold, false},
		{"cut-all", at(faults.Fault{Kind: faults.Cut, Whom: faults.All}), matrixShort, matrixHold, false},
		{"lose-requests", eachWrite(func(op string) faults.Fault { return faults.Fault{Before: op} }), matrixShort, matrixHold, false},
		{"lose-replies", eachWrite(func(op string) faults.Fault { return faults.Fault{After: op} }), matrixShort, matrixHold, false},
		server("kill-leader", faults.Kill, faults.Leader),
		server("kill-follower", faults.Kill, faults.Follower),
		server("pause-leader", faults.Pause, faults.Leader),
		server("cut-off-follower", faults.Partition, faults.Follower),
	}
}

// eachWrite returns, for each operation that writes, a repeated cut of the connection of a random client.
func eachWrite(at func(op string) faults.Fault) []faults.Fault {
	var schedule []faults.Fault
	for i, op := range []string{"create", "delete", "setData", "multi"} {
		f := at(op)
		f.Kind, f.Whom = faults.Cut, faults.Any
		f.At, f.Every = time.Duration(2+i)*100*time.Millisecond, 400*time.Millisecond
		schedule = append(schedule, f)
	}
	return schedule
}

// Matrix returns one scenario for each recipe and each fault that applies to it. A scenario has all variants of its recipe.
func Matrix(recipes []variants.Recipe) []Scenario {
	var out []Scenario
	for _, recipe := range recipes {
		for _, f := range MatrixFaults() {
			if s := f.scenario(recipe); len(s.Validate(recipes)) == 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

func (f MatrixFault) scenario(recipe variants.Recipe) Scenario {
	s := Default()
	s.Name, s.Recipe = strings.Join([]string{MatrixName, recipe.Name, f.Name}, "-"), recipe.Name
	s.Question = "What does the fault " + f.Name + " do to " + recipe.Name + "?"
	s.Clients, s.Size, s.Repeats = []int{matrixClients}, recipe.UsualSize(), 1
	s.Duration, s.Hold, s.Think = f.Window, f.Hold, time.Millisecond
	s.SessionTimeout, s.Faults, s.Roam = matrixTimeout, f.Schedule, f.Roam
	if recipe.Fixed {
		s.SessionTimeout = matrixFixedTimeout
	}
	return s
}

// FaultOfMatrix returns the fault of a scenario of the matrix; empty for any other scenario.
func FaultOfMatrix(scenario string) (fault string) {
	if cell, ok := strings.CutPrefix(scenario, MatrixName+"-"); ok {
		_, fault, _ = strings.Cut(cell, "-") // after the recipe
	}
	return fault
}
