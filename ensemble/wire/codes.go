package wire

import "fmt"

// Code is what a server answers to a request, as the protocol numbers it.
type Code int32

// The codes that zkbench's recipes and its embedded server can meet.
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
)

// String returns the code's name in ZooKeeper's documentation.
func (c Code) String() string {
	switch c {
	case OK:
		return "OK"
	case RuntimeInconsistency:
		return "RuntimeInconsistency"
	case MarshallingError:
		return "MarshallingError"
	case Unimplemented:
		return "Unimplemented"
	case BadArguments:
		return "BadArguments"
	case NoNode:
		return "NoNode"
	case NoAuth:
		return "NoAuth"
	case BadVersion:
		return "BadVersion"
	case NoChildrenForEphemerals:
		return "NoChildrenForEphemerals"
	case NodeExists:
		return "NodeExists"
	case NotEmpty:
		return "NotEmpty"
	case InvalidACL:
		return "InvalidACL"
	case AuthFailed:
		return "AuthFailed"
	default:
		return fmt.Sprintf("code %d", int32(c))
	}
}
