package takequeue

import (
	"fmt"
	"slices"
	"sort"
)

// Finished is the set of the items that are gone for good. It remembers the clients that took the latest; the ids of
// all are kept as ranges. The ids of a client's items grow by one from put to put, so that there are no more ranges
// than clients and open items.
type Finished struct {
	ranges []idRange      // in order; no two touch
	latest []finishedItem // the oldest first
	before int            // the place in the history by which all items that are not in latest had been processed
}

type finishedItem struct {
	id int64
	Owner
}

// Owner is the client that has an item for good.
type Owner struct {
	Client int    // UnknownClient if too many other items have ended since
	Done   int    // the place in the history
	Worker uint16 // that has the client
}

// String names the client for a message.
func (o Owner) String() string {
	if o.Client == UnknownClient {
		return "a client"
	}
	return fmt.Sprintf("client %d", o.Client)
}

// UnknownClient stands for one that is not remembered.
const UnknownClient = -1

const ownersKept = 512

type idRange struct{ first, last int64 }

// withoutClass returns an id without the item's class: no two items of a run differ in their class alone.
func withoutClass(id int64) int64 { return id & (1<<56 - 1) }

// Add adds an item, whose owner is then among the latest.
func (f *Finished) Add(id int64, owner Owner) {
	item := finishedItem{withoutClass(id), owner}
	f.insert(item.id)
	if f.latest = append(f.latest, item); len(f.latest) > ownersKept {
		f.before = f.latest[0].Done
		f.latest = f.latest[1:]
	}
}

// Owner returns the client that has taken an item; false if the item is not finished.
func (f *Finished) Owner(id int64) (Owner, bool) {
	id = withoutClass(id)
	if i := f.at(id); i == len(f.ranges) || id < f.ranges[i].first || id > f.ranges[i].last {
		return Owner{}, false
	}
	if i := slices.IndexFunc(f.latest, func(item finishedItem) bool { return item.id == id }); i >= 0 {
		return f.latest[i].Owner, true
	}
	return Owner{Client: UnknownClient, Done: f.before}, true
}

// at returns the index of the first range that contains an id, ends just before it or lies behind it.
func (f *Finished) at(id int64) int {
	return sort.Search(len(f.ranges), func(i int) bool { return f.ranges[i].last >= id-1 })
}

func (f *Finished) insert(id int64) {
	i := f.at(id)
	end, merged := i, idRange{id, id}
	for ; end < len(f.ranges) && f.ranges[end].first <= id+1; end++ { // it touches id, or contains it
		merged = idRange{min(merged.first, f.ranges[end].first), max(merged.last, f.ranges[end].last)}
	}
	f.ranges = slices.Replace(f.ranges, i, end, merged)
}
