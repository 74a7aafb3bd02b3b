// Package catalog lists every recipe that zkbench knows.
//
// It takes one position: a registry is a list that one can read. Adding a recipe is one folder and one line here.
package catalog

import (
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/barrier"
	"github.com/zkbench/zkbench/variants/blockingqueue"
	"github.com/zkbench/zkbench/variants/config"
	"github.com/zkbench/zkbench/variants/doublebarrier"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/enqueue"
	"github.com/zkbench/zkbench/variants/hiddenchannel"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/membership"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/treecache"
	"github.com/zkbench/zkbench/variants/twophasecommit"
	"github.com/zkbench/zkbench/variants/watchload"
)

// Recipes returns all recipes in the order in which they are listed.
func Recipes() []variants.Recipe {
	return []variants.Recipe{
		lock.Recipe(),
		rwlock.Recipe(),
		rwlock.RevocableRecipe(),
		revocable.Recipe(),
		queue.Recipe(),
		blockingqueue.Recipe(),
		enqueue.Recipe(),
		priorityqueue.Recipe(),
		election.Recipe(),
		barrier.Recipe(),
		doublebarrier.Recipe(),
		twophasecommit.Recipe(),
		membership.Recipe(),
		config.Recipe(),
		config.ReadRecipe(),
		treecache.Recipe(),
		masterworker.Recipe(),
		hiddenchannel.Recipe(),
		watchload.Recipe(),
	}
}

// Named returns a constructor of the recipe with this name, or nil if there is none.
func Named(name string) func() variants.Recipe {
	i := slices.IndexFunc(Recipes(), func(r variants.Recipe) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return func() variants.Recipe { return Recipes()[i] }
}

// Variant returns the variant with a name such as "lock/znode", and its recipe.
func Variant(name string) (r variants.Recipe, v variants.Variant, known bool) {
	for _, r := range Recipes() {
		for _, v := range r.All() {
			if r.Name+"/"+v.Name == name {
				return r, v, true
			}
		}
	}
	return r, v, false
}
