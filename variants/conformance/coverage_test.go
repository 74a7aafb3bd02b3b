package conformance_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants/catalog"
)

// tables returns the names of the variants under test of the recipes with a table of constructors. The other recipes' variants are all
// under test: they are opened as their participants open them.
func tables() map[string][]string {
	return map[string][]string{
		"config": labels(allConfigs()), "configread": labels(configVariants), "doublebarrier": labels(doubleBarrierVariants),
		"hiddenchannel": labels(hiddenVariants), "masterworker": labels(masterworkerVariants), "membership": labels(membershipVariants),
		"treecache": labels(cacheVariants), "twophasecommit": labels(siteVariants), "watchload": labels(watchloadVariants),
	}
}

func labels[V named](all []V) []string {
	var out []string
	for _, v := range all {
		out = append(out, v.label())
	}
	return out
}

// Every variant of a recipe with a table but those of libraries stands in it, so that the checks of the recipe are run on it.
func TestEveryVariantIsUnderTest(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		table, has := tables()[recipe.Name]
		for _, v := range recipe.Variants {
			name := v.Name
			if recipe.Name == "config" && name == "multi" {
				name = "watched-cache" // the readers of both recipes share the writer
			}
			if has && !slices.Contains(table, name) {
				t.Errorf("%s/%s is not in the table of constructors of its recipe's conformance test", recipe.Name, v.Name)
			}
		}
	}
}
