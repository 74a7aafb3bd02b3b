// Package membership compares two ways to know which members a group has.
//
// A member is an ephemeral znode below the group's, with the data that others need, such as an address. Every client
// keeps a view of the group; a watch on the group's children notifies it when the view is out of date. The promise of
// both variants: every view becomes what the group is, also when a member's session is lost. No member is in a view that
// never joined, or that left before another one in the view joined. No member that has left comes back. And no member is
// missing that had joined before another one in the view did.
//
//	variant             a change of a group of N is answered by each client with
//	relist-and-reread   a listing, and a read of every member
//	diff-cache          a listing, and a read of the member that is new, if one is
//
// With both, every change notifies all N clients, as a watch on the children does. They differ in the reads that follow:
// N² or N. Each membership has a znode of its own name, so that what was read of a name is good for as long as the name is
// listed.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run membership-drain` checks the formulas.
package membership

import (
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// ErrMember is returned by Join to a client that is a member already.
var ErrMember = errors.New("already a member of the group")

// Member is one membership. A client that leaves and joins again is another member.
type Member struct {
	Name string // of the znode, which no other membership ever has
	Data []byte
}

// View is the members of a group, in the order of joining.
type View []Member

// Changes returns the members that have joined and those that have left between an earlier view and this one.
func (v View) Changes(earlier View) (joined, left []Member) {
	return v.without(earlier), earlier.without(v)
}

func (v View) without(other View) []Member {
	known := make(map[string]bool, len(other))
	for _, m := range other {
		known[m.Name] = true
	}
	var out []Member
	for _, m := range v {
		if !known[m.Name] {
			out = append(out, m)
		}
	}
	return out
}

// Recipe returns the membership recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "membership",
		Summary:   "every member knows all members of the group",
		Source:    "ZooKeeper recipes page, Group Membership; Junqueira and Reed, ZooKeeper, chapter 4",
		Variants:  []variants.Variant{relistAndRereadVariant(), diffCacheVariant()},
		Phases:    phases(),
		Operation: phaseJoin,
		Workload: variants.Workload{
			CountFrom:  variants.FromLineUp,
			Collective: true,
		},
		NewObserver: newObserver,
		Code:        code,
		Calls:       []variants.EventKind{joining, leaving},
		Events: []string{
			"takes part", "begins to join", "has joined", "begins to leave", "has left", "loses its membership", "waits for a change",
			"adds a member to its view", "drops a member from its view", "has updated its view", "has seen all members join",
		},
	}
}
