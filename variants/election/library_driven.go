package election

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/tickets"
)

func joinDriven() variants.JoinFunc { return exclusion.JoinDriven("campaign", "resign") }

// CuratorLatch is LeaderLatch of Apache Curator. It uses the algorithm of [PredecessorWatch].
//
//  1. Create <dir>/_c_<guid>-latch-, ephemeral and sequential.
//  2. List <dir>, without a watch. If its own znode is the lowest, the client leads.
//  3. Read the next lower znode with a watch. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. To resign, delete the client's own znode.
//
// Curator hands out no epoch. The driver takes the sequence number from the path of the latch's znode.
//
// Cost of one term: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and getChildren), 2 of them writes. One
// resignation notifies one client.
//
// Source: as written: LeaderLatch in Apache Curator 5.4.
func CuratorLatch() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/CuratorLeaderLatch.java"}, joinDriven(), variants.Variant{
		Name:    "curator-latch",
		Summary: "LeaderLatch of Apache Curator: sequential znodes, each candidate watches the one just before its own",
		BadAt:   "lost connections: all candidates list the whole line when they are connected again",
		Free:    predecessorWatchVariant().Free,
	})
}

// Kazoo is Election of kazoo, which is its lock with a function that is called while the lock is held.
//
//  1. List <dir> and look for the GUID of this object: it has been used before, and its znode may be there.
//  2. Create <dir>/<guid>__lock__, ephemeral and sequential.
//  3. List <dir>, without a watch. If its own znode is the lowest, the client leads.
//  4. Read the next lower znode with a watch. If it is gone, go to 3.
//  5. Wait for the watch, then go to 3.
//  6. To resign, delete the client's own znode.
//
// Kazoo hands out no epoch. The driver takes the sequence number from the name of the lock's znode.
//
// Cost of one term: 4 requests alone, 6 after a wait, 2 of them writes. One resignation notifies one client.
//
// Source: as written: Election in kazoo 2.8.
func Kazoo() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/kazoo_election.py"}, joinDriven(), variants.Variant{
		Name:    "kazoo",
		Summary: "Election of kazoo: sequential znodes, each candidate watches the one just before its own",
		BadAt:   "long lines: every candidate lists the whole line twice, and once more when its turn comes",
		Free:    tickets.FreeCost("6 (4 for N=1)", "2"),
	})
}
