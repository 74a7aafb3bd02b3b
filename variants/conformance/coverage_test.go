package conformance_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants/catalog"
)

// tables returns the names of the variants under test by recipe.
func tables() map[string][]string {
	return map[string][]string{
		"barrier": labels(barrierVariants), "blockingqueue": labels(blockingQueueVariants), "config": labels(allConfigs()),
		"configread": labels(configVariants), "doublebarrier": labels(doubleBarrierVariants), "election": labels(electionVariants),
		"enqueue": labels(enqueueVariants), "hiddenchannel": labels(hiddenVariants), "lock": labels(slices.Concat(lockVariants, brokenLocks)),
		"masterworker": labels(masterworkerVariants), "membership": labels(membershipVariants), "priorityqueue": labels(priorityVariants),
		"queue": labels(queueVariants), "revocable": labels(revocableVariants),
		"revocablerw": labels(revocableRWVariants), "rwlock": labels(rwlockVariants),
		"treecache": labels(cacheVariants), "twophasecommit": labels(siteVariants), "watchload": labels(watchloadVariants()),
	}
}

func labels[V named](all []V) []string {
	var out []string
	for _, v := range all {
		out = append(out, v.label())
	}
	return out
}

// tableName returns the name under which a table has a variant. Both polling elections are one type with another
// interval. The table of configurations names the reader where both readers share the writer multi.
func tableName(recipe, variant string) string {
	switch recipe + "/" + variant {
	case "election/poll-1s", "election/poll-50ms":
		return "poll"
	case "config/multi":
		return "watched-cache"
	}
	return variant
}

// Every variant of the catalog but those of libraries stands in a table of this package, so that the checks of its recipe are run on it.
func TestEveryVariantIsUnderTest(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		for _, v := range slices.Concat(recipe.Variants, recipe.Broken) {
			if v.Driver != nil { // TestLiveDrivers measures the clients of libraries
				continue
			}
			if !slices.Contains(tables()[recipe.Name], tableName(recipe.Name, v.Name)) {
				t.Errorf("%s/%s is not in the table of variants of its recipe's conformance test: see CONTRIBUTING.md, Adding a variant", recipe.Name, v.Name)
			}
		}
	}
}
