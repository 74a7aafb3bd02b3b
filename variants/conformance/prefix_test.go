package conformance_test

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// A run that fails is cut off in the midst of operations, which by itself breaks no promise.
func TestCutOffHistoriesKeepThePromise(t *testing.T) {
	onEveryVariant(t, func(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant) {
		hasCleanPrefixes(t, recipe, variant, historyOf(t, v, recipe, variant, 4, 2))
	})
}

// onEveryVariant tests each variant of each recipe in virtual time.
func onEveryVariant(t *testing.T, test func(*testing.T, venue, variants.Recipe, variants.Variant)) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			onEachOf(t, bubbles, recipe, func(t *testing.T, v venue, variant variants.Variant) { test(t, v, recipe, variant) })
		})
	}
}

// hasCleanPrefixes fails if a history in which nothing fails breaks a variant's promise when it is cut off.
func hasCleanPrefixes(t *testing.T, recipe variants.Recipe, variant variants.Variant, h variants.History) {
	t.Helper()
	variantstest.HasCleanPrefixes(t, h, func(prefix variants.History) []variants.Violation {
		return breachesOf(recipe, variant, prefix, false)
	})
}
