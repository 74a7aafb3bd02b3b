package wire

import "encoding/binary"

// prefixSize is how many bytes of a frame's body are decoded: enough for the reply header and the first result of a multi,
// or for a notification or request with a path of up to about a thousand bytes. The rest is only measured.
const prefixSize = 1024

// frames splits one direction of a connection into its length-prefixed frames. The network may split a frame anywhere, so the
// decoder buffers the prefix of a frame until it is complete. It allocates for the first split frame only.
type frames struct {
	// frame is called once for each complete frame, with the first prefixSize bytes of its body and the length of the whole body.
	// The prefix is valid during the call only.
	frame   func(prefix []byte, length int)
	header  [4]byte
	nheader int // bytes of header seen
	length  int // length of the current frame's body
	seen    int // bytes of the current frame's body seen
	prefix  []byte
}

func (f *frames) feed(p []byte) {
	for len(p) > 0 {
		if f.nheader < len(f.header) {
			n := copy(f.header[f.nheader:], p)
			p = p[n:]
			if f.nheader += n; f.nheader < len(f.header) {
				return
			}
			f.length, f.seen, f.prefix = int(int32(binary.BigEndian.Uint32(f.header[:]))), 0, f.prefix[:0]
		}
		if len(p) > 0 || f.length <= 0 {
			p = f.feedBody(p)
		}
	}
}

func (f *frames) feedBody(p []byte) []byte {
	n := max(min(f.length-f.seen, len(p)), 0)
	chunk := p[:n]
	whole := f.seen == 0 && n == f.length
	if !whole {
		f.prefix = append(f.prefix, chunk[:min(n, prefixSize-len(f.prefix))]...)
	}
	f.seen += n
	if f.seen >= f.length {
		prefix := f.prefix
		if whole { // the common case, decoded without a copy
			prefix = chunk[:min(n, prefixSize)]
		}
		f.frame(prefix, f.length)
		f.nheader = 0
	}
	return p[n:]
}

// isEvent reports whether a frame has the form of a notification: the length of the path is that of the rest.
func isEvent(body []byte, length int) bool {
	const path = replyHeaderSize + 12 // after the type, the state and the length
	return len(body) > path && body[path] == '/' && length == path+int(binary.BigEndian.Uint32(body[path-4:]))
}
