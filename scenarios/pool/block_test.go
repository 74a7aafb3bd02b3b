package pool

import (
	"slices"
	"testing"
)

// Blocks have all clients, one after another, and their ranks are the numbers from 0 on, so that a stage of n clients has n of them.
func TestBlocks(t *testing.T) {
	for clients := 1; clients <= 30; clients++ {
		for of := 1; of <= clients; of++ {
			next, ranks := 0, []int{}
			for i := range of {
				b := BlockOf(clients, i, of)
				if b.First != next || b.Count < clients/of || b.Count > clients/of+1 {
					t.Errorf("block %d of %d has %d of %d clients, from %d on", i, of, b.Count, clients, b.First)
				}
				for id := range b.Count {
					ranks = append(ranks, b.Rank(b.First+id))
				}
				next = b.First + b.Count
			}
			slices.Sort(ranks)
			if next != clients || ranks[len(ranks)-1] != clients-1 || len(slices.Compact(ranks)) != clients {
				t.Errorf("%d clients in %d blocks have the ranks %v", clients, of, ranks)
			}
		}
	}
}
