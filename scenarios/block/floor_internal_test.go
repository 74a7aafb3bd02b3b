package block

import (
	"testing"

	"github.com/zkbench/zkbench/scenarios/pool"
)

// As many rounds in a row as there are pairs of servers have each pair once, a server with itself included, and no session watches
// its own write.
func TestFloorPairsAllServers(t *testing.T) {
	for servers := 1; servers <= 5; servers++ {
		f := floorMeter{sessions: &pool.Pool{}}
		for id := range 2 * servers {
			f.sessions.Clients = append(f.sessions.Clients, &pool.Client{ID: id})
		}
		seen := map[[2]int]bool{}
		for round := range servers * servers {
			from, to := f.pair(round)
			if from == to {
				t.Errorf("%d servers, round %d: session %d watches its own write", servers, round, from.ID)
			}
			seen[[2]int{from.ID % servers, to.ID % servers}] = true // as Home assigns them
		}
		if len(seen) != servers*servers {
			t.Errorf("%d servers: %d pairs, want %d", servers, len(seen), servers*servers)
		}
	}
}
