package wire

import "encoding/binary"

// prefixSize is how much of a frame's body the decoder looks at: the reply header and the first result of a multi, or
// a notification or request with a path of up to about a thousand bytes. Whatever follows is only measured.
const prefixSize = 1024

// frames cuts one direction of a connection into its length-prefixed frames.
//
// The client writes a frame in one piece and reads it in two (length, body), but the network may cut it anywhere, so
// the decoder keeps what it has until the prefix of a frame is whole. It never allocates after the first split frame.
type frames struct {
	header  [4]byte
	nheader int // bytes of header seen
	length  int // length of the current frame's body
	seen    int // bytes of the current frame's body seen
	prefix  []byte
}

// feed passes the next bytes of the stream and calls frame once for each frame completed by them, with the first
// prefixSize bytes of its body and the length of the whole body. The prefix is valid during the call only.
func (f *frames) feed(p []byte, frame func(prefix []byte, length int)) {
	for len(p) > 0 {
		if f.nheader < len(f.header) {
			p = f.feedHeader(p)
			if f.nheader < len(f.header) || f.length > 0 {
				continue
			}
		}
		p = f.feedBody(p, frame)
	}
}

func (f *frames) feedHeader(p []byte) []byte {
	n := copy(f.header[f.nheader:], p)
	f.nheader += n
	if f.nheader == len(f.header) {
		f.length = int(int32(binary.BigEndian.Uint32(f.header[:])))
		f.seen = 0
		f.prefix = f.prefix[:0]
	}
	return p[n:]
}

func (f *frames) feedBody(p []byte, frame func(prefix []byte, length int)) []byte {
	n := max(min(f.length-f.seen, len(p)), 0)
	chunk := p[:n]
	whole := f.seen == 0 && n == f.length
	if !whole {
		f.prefix = append(f.prefix, chunk[:min(n, prefixSize-len(f.prefix))]...)
	}
	f.seen += n
	if f.seen >= f.length {
		prefix := f.prefix
		if whole { // the common case, decoded where it stands
			prefix = chunk[:min(n, prefixSize)]
		}
		frame(prefix, f.length)
		f.nheader = 0
	}
	return p[n:]
}
