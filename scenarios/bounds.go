package scenarios

import (
	"time"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
)

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
