package simulation_test

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/enqueue"
)

// UnmarkedItems returns a producer that creates no markers, and promises all the same that it enqueues each item once.
func UnmarkedItems() variants.Variant {
	return rewritten(named(enqueue.Recipe(), "guid-marker"), "unmarked-items", "guid-marker without markers", func(ops []any) []any {
		return slices.DeleteFunc(ops, func(op any) bool {
			switch o := op.(type) {
			case *zk.CreateRequest:
				return strings.Contains(o.Path, "/markers/")
			case *zk.DeleteRequest:
				return strings.Contains(o.Path, "/markers/")
			default:
				return false
			}
		})
	})
}
