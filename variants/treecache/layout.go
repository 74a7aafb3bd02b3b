package treecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// The layout of the tree: parents below the root, leaves below the parents. A leaf has a slot. The name of a leaf has its slot and
// the number of the change that created it, and its data has the number of the change that wrote it last.
const (
	leavesPerParent = 50
	leafDepth       = 2
	leafBytes       = 100 // of data
)

func parentName(slot int) string { return fmt.Sprintf("p%05d", slot/leavesPerParent) }

func leafPath(root string, slot int, number int64) string {
	return path.Join(root, parentName(slot), fmt.Sprintf("l%05d-%d", slot, number))
}

// isLeaf is false for paths of other znodes.
func slotIn(p string) (slot int, isLeaf bool) {
	digits, _, isLeaf := strings.Cut(strings.TrimPrefix(path.Base(p), "l"), "-")
	if !isLeaf {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}

func leafData(number int64) []byte { return fmt.Appendf(nil, "%-*d", leafBytes, number) }

// numberIn returns the number of the change that a leaf shows; 0 if no change can have written the data.
func numberIn(data []byte) int64 { return max(variants.DecimalIn(bytes.TrimSpace(data)), 0) }

// slotOf returns the slot of the leaf that a change sets or replaces. Changes have numbers from 1 on. They go through
// the tree in big steps, so that consecutive ones have different parents.
func slotOf(number, leaves int64) int64 { return number * 7919 % leaves }

// opsPerMulti keeps the requests that create the tree well below the 1 MB that a server accepts.
const opsPerMulti = 500

func prepare(ctx context.Context, env variants.Env) error {
	var ops []any
	create := func(p string, data []byte) { ops = append(ops, &zk.CreateRequest{Path: p, Data: data}) }
	for slot := range max(env.Size, 1) {
		if slot%leavesPerParent == 0 {
			create(path.Join(env.Root, parentName(slot)), nil)
		}
		create(leafPath(env.Root, slot, 0), leafData(0))
	}
	for some := range slices.Chunk(ops, opsPerMulti) {
		// After a lost reply, the znodes of a multi may be there already: all of them or none.
		if _, _, err := env.Session.Multi(ctx, some...); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create the tree: %w", err)
		}
	}
	return nil
}
