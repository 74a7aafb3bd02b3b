// Package wire counts what a ZooKeeper session really sent and received.
//
// It takes one position: the network is the only honest place to count. A client library retries, coalesces events in
// a channel of limited capacity and fans one notification out to many watchers; a recipe that counted itself would be
// measured by its own opinion. So a [Ledger] hands the client a net.Conn that decodes the header of every frame on its
// way through, and nothing else knows that it is there.
//
// What it counts as a recipe's doing excludes upkeep: the connect handshake, pings, re-sent watches, authentication,
// closing, and the instrument's own fences (see [FencePath]).
package wire

// FencePath is the path that the instrument itself syncs to learn that a session has received everything up to now.
// A sync of this path is upkeep, so that a fence does not change what it is there to measure. ZooKeeper syncs paths
// that do not exist.
const FencePath = "/zkbench-fence"

// Opcode is the type of a request, as the protocol numbers it.
type Opcode int32

// The opcodes that ZooKeeper's servers and zkbench's ledger tell apart; others are counted under their number.
const (
	OpClose           Opcode = -11
	OpCreate          Opcode = 1
	OpDelete          Opcode = 2
	OpExists          Opcode = 3
	OpGetData         Opcode = 4
	OpSetData         Opcode = 5
	OpGetACL          Opcode = 6
	OpSetACL          Opcode = 7
	OpGetChildren     Opcode = 8
	OpSync            Opcode = 9
	OpPing            Opcode = 11
	OpGetChildren2    Opcode = 12
	OpCheck           Opcode = 13
	OpMulti           Opcode = 14
	OpCreate2         Opcode = 15
	OpReconfig        Opcode = 16
	OpCreateContainer Opcode = 19
	OpCreateTTL       Opcode = 21
	OpAuth            Opcode = 100
	OpSetWatches      Opcode = 101
	OpSetWatches2     Opcode = 105
)

// maxOpcode bounds the opcodes that ZooKeeper gives to requests with a place in the order of replies.
const maxOpcode = 127

// String returns the operation's name in ZooKeeper's documentation.
func (op Opcode) String() string {
	switch op {
	case OpCreate:
		return "create"
	case OpDelete:
		return "delete"
	case OpExists:
		return "exists"
	case OpGetData:
		return "getData"
	case OpSetData:
		return "setData"
	case OpGetACL:
		return "getACL"
	case OpSetACL:
		return "setACL"
	case OpGetChildren, OpGetChildren2:
		return "getChildren"
	case OpSync:
		return "sync"
	case OpCheck:
		return "check"
	case OpMulti:
		return "multi"
	case OpCreate2:
		return "create2"
	case OpReconfig:
		return "reconfig"
	case OpCreateContainer:
		return "createContainer"
	case OpCreateTTL:
		return "createTTL"
	default:
		return "other"
	}
}

// IsWrite tells whether the request goes through the leader as a proposal, and so costs a quorum round and an fsync
// on each server of it, whether it succeeds or not.
func (op Opcode) IsWrite() bool {
	switch op {
	case OpCreate, OpDelete, OpSetData, OpSetACL, OpMulti, OpCreate2, OpReconfig, OpCreateContainer, OpCreateTTL:
		return true
	default:
		return false
	}
}

// isUpkeep tells whether clients send the request for the sake of the session itself, as they do all those that have no
// number that a recipe's request can have.
func (op Opcode) isUpkeep() bool {
	switch op {
	case OpPing, OpAuth, OpSetWatches, OpSetWatches2:
		return true
	default:
		return op <= 0 || op > maxOpcode
	}
}

// armsWatch tells whether the request can carry a watch flag, and, if so, whether it leaves a watch behind even when
// it is answered with NoNode: exists does, getData and getChildren do not.
func (op Opcode) armsWatch() (can, evenOnNoNode bool) {
	switch op {
	case OpExists:
		return true, true
	case OpGetData, OpGetChildren, OpGetChildren2:
		return true, false
	default:
		return false, false
	}
}

// EventType is the type of a notification, as the protocol numbers it.
type EventType int32

// The notifications of one-shot watches.
const (
	NodeCreated         EventType = 1
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4
)

// String returns the event's name in ZooKeeper's documentation.
func (t EventType) String() string {
	switch t {
	case NodeCreated:
		return "NodeCreated"
	case NodeDeleted:
		return "NodeDeleted"
	case NodeDataChanged:
		return "NodeDataChanged"
	case NodeChildrenChanged:
		return "NodeChildrenChanged"
	default:
		return "other"
	}
}
