package conformance_test

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// A run that fails is cut off in the midst of operations, which by itself breaks no promise.
func TestCutOffHistoriesKeepThePromise(t *testing.T) {
	t.Parallel()
	v := embeddedVenue(t)
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			onEachOf(t, v, recipe, func(t *testing.T, variant variants.Variant) {
				variantstest.HasCleanPrefixes(t, recipe, historyOf(t, v, variant, 4, 5))
			})
		})
	}
}
