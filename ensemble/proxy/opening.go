package proxy

import "encoding/binary"

// opening is what the first bytes of a connection show.
type opening int

const (
	undecided opening = iota // there are too few of them
	handshake                // a connect request
	command                  // a four-letter command
	encrypted                // TLS
	foreign                  // something else
)

// The layout of a connect request: its length, the protocol's version, the last zxid seen, the timeout, and the session to resume.
const (
	lengthSize  = 4
	sessionAt   = lengthSize + 4 + 8 + 4
	sessionEnd  = sessionAt + 8
	mostOpening = 1 << 10 // a longer frame is no connect request: it has 44 or 45 bytes, with a password of 16
)

// classify says what a connection is, by its first bytes.
func classify(first []byte) opening {
	const tlsHandshake, tlsMajor = 0x16, 0x03
	switch {
	case len(first) >= 2 && first[0] == tlsHandshake && first[1] == tlsMajor:
		return encrypted
	case len(first) > 0 && first[0] != 0 && first[0] != tlsHandshake && !isLetter(first[0]):
		return foreign
	case len(first) < lengthSize:
		return undecided
	case isCommand(first[:lengthSize]):
		return command
	}
	length := int(int32(binary.BigEndian.Uint32(first)))
	switch {
	case length < sessionEnd-lengthSize || length > mostOpening:
		return foreign
	case len(first) < sessionEnd:
		return undecided
	default:
		return handshake
	}
}

func isCommand(word []byte) bool {
	for _, b := range word {
		if !isLetter(b) {
			return false
		}
	}
	return true
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' }

// sessionIn returns the session that a connect request wants to resume; zero for a new one.
func sessionIn(first []byte) int64 { return int64(binary.BigEndian.Uint64(first[sessionAt:])) }
