package embedded

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// readOperation reads a write of a client with these identities.
func readOperation(d *jute.Decoder, op wire.Opcode, ids []identity) operation {
	o := operation{op: op, path: d.Text(), ids: ids}
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		o.data = slices.Clone(d.Buffer())
		o.acl, o.validACL = resolve(d.ACLs(), ids)
		o.flags = d.Int()
	case wire.OpSetACL:
		o.acl, o.validACL = resolve(d.ACLs(), ids)
		o.version = d.Int()
	case wire.OpSetData:
		o.data, o.version = slices.Clone(d.Buffer()), d.Int()
	default: // delete, check
		o.version = d.Int()
	}
	if op == wire.OpCreateTTL {
		o.ttl = d.Long()
	}
	return o
}

// The values in a multi's headers instead of an opcode (for errors and the end) and instead of a code.
const (
	endOfMulti = -1
	noCode     = -1
)

// readOperations reads the operations of a multi. It returns none of one that is malformed.
func readOperations(d *jute.Decoder, ids []identity) (out []operation) {
	for d.Err() == nil {
		op, done := wire.Opcode(d.Int()), d.Bool()
		d.Int() // an error code, in replies
		if done && d.Err() == nil {
			return out
		}
		switch op {
		case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete, wire.OpSetData, wire.OpCheck:
			o := readOperation(d, op, ids)
			switch { // in a multi, the mode decides
			case o.flags == zk.FlagContainer:
				o.op = wire.OpCreateContainer
			case op == wire.OpCreateTTL && !o.hasTTL():
				o.op = wire.OpCreate
			case !o.modeKnown(), o.hasTTL() && op != wire.OpCreateTTL: // outside a multi, the code is BadArguments
				d.Reject("create mode in a multi")
			}
			out = append(out, o)
		default:
			d.Reject("operation in a multi")
		}
	}
	return nil
}

func (r outcome) encode(out *jute.Encoder) {
	switch r.op {
	case wire.OpCreate:
		out.Text(r.path)
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		out.Text(r.path)
		out.Stat(r.stat)
	case wire.OpSetData, wire.OpSetACL:
		out.Stat(r.stat)
	}
}

// encodeMulti writes the reply to a multi. If one operation failed, all results are errors.
func encodeMulti(out *jute.Encoder, results []outcome, codes []wire.Code) {
	for i, code := range codes {
		if results == nil { // an operation failed
			encodeHeader(out, endOfMulti, false, code)
			out.Int(int32(code))
			continue
		}
		r := results[i]
		op := r.op
		if op == wire.OpCreateContainer || op == wire.OpCreateTTL { // answered as a create2
			op = wire.OpCreate2
		}
		encodeHeader(out, op, false, wire.OK)
		r.encode(out)
	}
	encodeHeader(out, endOfMulti, true, noCode)
}

func encodeHeader(out *jute.Encoder, op wire.Opcode, done bool, code wire.Code) {
	out.Int(int32(op))
	out.Bool(done)
	out.Int(int32(code))
}
