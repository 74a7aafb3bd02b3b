package takequeue

import (
	"math/rand/v2"
	"testing"
)

func TestFinishedKnowsEveryItemThatWasAdded(t *testing.T) {
	const clients, puts = 4, 2000 // clients of two lives each
	var ids []int64
	for client := range clients {
		for n := range int64(puts) {
			ids = append(ids, newID(uint8(n%2), client/2, client%2, n))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // no secret
	var f Finished
	for i, id := range ids {
		if owner, ok := f.Owner(id); ok {
			t.Fatalf("item %#x has owner %v before it was added", id, owner)
		}
		f.Add(id, Owner{Client: i, Done: i})
		if owner, ok := f.Owner(id); !ok || owner.Client != i {
			t.Fatalf("item %#x has owner %v, want client %d", id, owner, i)
		}
	}
	for i, id := range ids {
		want := i
		if i < len(ids)-ownersKept {
			want = UnknownClient
		}
		if owner, ok := f.Owner(id); !ok || owner.Client != want || owner.Done < i {
			t.Fatalf("item %#x, the %d. that was added, has owner %v, want client %d", id, i, owner, want)
		}
	}
	if n := len(f.ranges); n != clients {
		t.Errorf("%d ranges for %d lives whose items are all finished", n, clients)
	}
}
