// Package wire counts the frames that a ZooKeeper session sends and receives.
//
// It takes one position: the network is the only reliable place to count. A client library retries, drops events from a
// channel of limited capacity and fans one notification out to several watchers, and a recipe that counted itself could
// count its intentions instead of its actions. A [Ledger] therefore gives the client a net.Conn that decodes the header
// of every frame that passes. Neither the client library nor the recipe knows about it.
//
// Frames that no recipe causes are housekeeping and are counted apart: the connect handshake, pings, re-sent watches, authentication,
// closing, and zkbench's own fences (see [FencePath]). If a recipe opens and closes a session itself, the connect handshake and the
// closing of that session are requests of the recipe (see [Ledger.Further]).
package wire

import (
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results/list"
)

// FencePath is the path that zkbench syncs to make sure that a session has received all earlier notifications. It need not
// exist. A sync of this path counts as housekeeping, so that fences leave the counts of a recipe unchanged.
const FencePath = "/zkbench-fence"

// Opcode is the type of a request, as the protocol numbers it.
type Opcode int32

// The opcodes that have a name in zkbench. Requests with other opcodes are counted under their number.
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
	OpCheckWatches    Opcode = 17
	OpRemoveWatches   Opcode = 18
	OpCreateContainer Opcode = 19
	OpCreateTTL       Opcode = 21
	OpMultiRead       Opcode = 22
	OpAuth            Opcode = 100
	OpSetWatches      Opcode = 101
	OpSASL            Opcode = 102
	OpGetEphemerals   Opcode = 103
	OpCountChildren   Opcode = 104 // getAllChildrenNumber
	OpSetWatches2     Opcode = 105
	OpAddWatch        Opcode = 106
	OpWhoAmI          Opcode = 107
)

// maxOpcode bounds the opcodes of requests that ZooKeeper answers in order.
const maxOpcode = 127

// The opening and the closing of a further session, see [Ledger.Further], are counted under these opcodes: each is a transaction, and
// so costs a proposal like any other write. ZooKeeper numbers them -10 and -11, and the first one has no request but the handshake.
const (
	OpCreateSession Opcode = maxOpcode + 1 + iota
	OpCloseSession
)

// String returns the operation's name in ZooKeeper's documentation.
func (op Opcode) String() string {
	switch op {
	case OpCreateSession:
		return "createSession"
	case OpCloseSession:
		return "closeSession"
	default:
		return nameOf(opcodeNames(), int(op))
	}
}

// opcodeNames returns the names of the requests of recipes by opcode. Both versions of getChildren have one name.
func opcodeNames() []string {
	return []string{
		OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
		OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync",
		OpGetChildren2: "getChildren", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2", OpReconfig: "reconfig",
		OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches", OpCreateContainer: "createContainer", OpCreateTTL: "createTTL",
		OpMultiRead: "multiRead", OpGetEphemerals: "getEphemerals", OpCountChildren: "getAllChildrenNumber", OpAddWatch: "addWatch",
		OpWhoAmI: "whoAmI",
	}
}

// OpcodeNamed returns the opcode with the given name, and false if there is none. If two opcodes have the name, it returns the newer one.
func OpcodeNamed(name string) (Opcode, bool) {
	for op, known := range slices.Backward(opcodeNames()) {
		if name != "" && known == name {
			return Opcode(op), true
		}
	}
	return 0, false
}

// OpcodeNames returns the names that OpcodeNamed knows, sorted.
func OpcodeNames() []string {
	return list.Distinct(list.Where(opcodeNames(), func(name string) bool { return name != "" }))
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) || names[i] == "" {
		return "other"
	}
	return names[i]
}

// IsWrite reports whether the request, even if it fails, costs a proposal: a quorum round and an fsync on each server of the quorum.
func (op Opcode) IsWrite() bool {
	switch op {
	case OpCreate, OpDelete, OpSetData, OpSetACL, OpMulti, OpCreate2, OpReconfig, OpCreateContainer, OpCreateTTL,
		OpCreateSession, OpCloseSession:
		return true
	default:
		return false
	}
}

// IsHousekeeping reports whether clients send the request to maintain the session itself.
func (op Opcode) IsHousekeeping() bool {
	return op <= 0 || op > maxOpcode || op == OpPing || op == OpAuth || op == OpSASL || op.resetsWatches()
}

// resetsWatches reports whether clients send the request after a reconnect, to set their watches again.
func (op Opcode) resetsWatches() bool { return op == OpSetWatches || op == OpSetWatches2 }

// armsWatch reports whether the request can carry a watch flag. If the reply is NoNode, only exists sets the watch.
func (op Opcode) armsWatch() bool {
	return op == OpExists || op == OpGetData || op == OpGetChildren || op == OpGetChildren2
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
	names := [...]string{
		NodeCreated: "NodeCreated", NodeDeleted: "NodeDeleted",
		NodeDataChanged: "NodeDataChanged", NodeChildrenChanged: "NodeChildrenChanged",
	}
	return nameOf(names[:], int(t))
}

// Code is the result of a request, as the protocol numbers it.
type Code int32

// The codes that recipes receive or the embedded server sends.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2 // of an operation in a multi that failed before or after it
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	NoWatcher               Code = -121
	// SessionClosedRequireSASLAuth answers a client without an identity of a scheme that the servers demand. The connection ends.
	SessionClosedRequireSASLAuth Code = -124

	UnknownCode Code = math.MinInt32 // of a failed request whose code is not decoded; not of the protocol
)

// String returns the code's name in ZooKeeper's documentation.
func (c Code) String() string {
	name, ok := map[Code]string{
		OK: "OK", RuntimeInconsistency: "RuntimeInconsistency", MarshallingError: "MarshallingError",
		Unimplemented: "Unimplemented", BadArguments: "BadArguments", NoNode: "NoNode", NoAuth: "NoAuth",
		BadVersion: "BadVersion", NoChildrenForEphemerals: "NoChildrenForEphemerals", NodeExists: "NodeExists",
		NotEmpty: "NotEmpty", InvalidACL: "InvalidACL", AuthFailed: "AuthFailed", NoWatcher: "NoWatcher",
		SessionClosedRequireSASLAuth: "SessionClosedRequireSaslAuth", UnknownCode: "unknown",
	}[c]
	if !ok {
		return fmt.Sprintf("code %d", int32(c))
	}
	return name
}
