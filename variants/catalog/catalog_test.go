package catalog_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants/catalog"
)

// Every recipe names its events, each by a name of its own.
func TestRecipesNameTheirEvents(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		if len(recipe.Events) == 0 {
			t.Errorf("%s names no events", recipe.Name)
		}
		for kind, name := range recipe.Events {
			if name == "" || slices.Index(recipe.Events, name) < kind {
				t.Errorf("%s: event %d is named %q, which is empty or the name of another event", recipe.Name, kind, name)
			}
		}
	}
}
