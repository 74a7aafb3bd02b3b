package proxy

import (
	"encoding/binary"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
)

type opening int

const (
	undecided opening = iota // more bytes are needed
	handshake                // a connect request
	command                  // a four-letter command
	encrypted                // TLS
	foreign                  // something else
)

const (
	lengthSize  = 4       // of a frame's length prefix
	mostOpening = 1 << 10 // a longer frame is not a connect request: it has 44 or 45 bytes, with a password of 16
)

func classify(first []byte) opening {
	const tlsHandshake, tlsMajor = 0x16, 0x03
	switch {
	case len(first) >= 2 && first[0] == tlsHandshake && first[1] == tlsMajor:
		return encrypted
	case len(first) > 0 && first[0] != 0 && first[0] != tlsHandshake && !isLetter(first[0]):
		return foreign
	case len(first) < lengthSize:
		return undecided
	case !slices.ContainsFunc(first[:lengthSize], func(b byte) bool { return !isLetter(b) }):
		return command
	}
	length := int(int32(binary.BigEndian.Uint32(first)))
	switch {
	case length < wire.LeastConnectRequest || length > mostOpening:
		return foreign
	case len(first) < lengthSize+wire.LeastConnectRequest:
		return undecided
	default:
		return handshake
	}
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' }
