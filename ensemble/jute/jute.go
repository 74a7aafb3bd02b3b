// Package jute reads and writes ZooKeeper's serialization format: big-endian integers, length-prefixed buffers and
// strings, and the few records made of them that servers and clients share.
//
// It takes one position: bytes from a network are hostile. A [Decoder] never panics, never reads beyond its input and
// never allocates by a length that its input does not bear out; it remembers the first mistake, so that a record is read without a check
// after every field and judged once at its end.
package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// absent is the length that stands for a buffer, string or vector that is null, as opposed to empty.
const absent = -1

// ErrMalformed is wrapped by everything that a Decoder finds wrong.
var ErrMalformed = errors.New("malformed record")

// Decoder reads the fields of records from a frame. After a mistake all its methods return zero values.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder returns a decoder of frame, which it does not copy: buffers that it returns are parts of it.
func NewDecoder(frame []byte) *Decoder { return &Decoder{rest: frame} }

// Err returns the first mistake, wrapped around ErrMalformed.
func (d *Decoder) Err() error { return d.err }

// Rest returns how many bytes have not been read.
func (d *Decoder) Rest() int { return len(d.rest) }

// Reject makes a mistake of what was read without one but means nothing.
func (d *Decoder) Reject(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
	d.rest = nil
}

// take returns the next n bytes, or nil after a mistake.
func (d *Decoder) take(what string, n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.Reject(fmt.Sprintf("%s of %d bytes, with %d left", what, n, len(d.rest)))
		return nil
	}
	p := d.rest[:n:n]
	d.rest = d.rest[n:]
	return p
}

// Bool reads one byte; everything but zero is true.
func (d *Decoder) Bool() bool {
	p := d.take("bool", 1)
	return p != nil && p[0] != 0
}

// Int reads an int.
func (d *Decoder) Int() int32 {
	if p := d.take("int", 4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads a long.
func (d *Decoder) Long() int64 {
	if p := d.take("long", 8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Buffer reads a buffer; a null one is nil.
func (d *Decoder) Buffer() []byte {
	n := int(d.Int())
	if n == absent || d.err != nil {
		return nil
	}
	return d.take("buffer", n)
}

// Text reads a string. A null one is a mistake: no record needs one.
func (d *Decoder) Text() string {
	n := int(d.Int())
	if d.err != nil {
		return ""
	}
	return string(d.take("string", n))
}

// Texts reads a vector of strings; a null one is nil.
func (d *Decoder) Texts() []string {
	var out []string
	for n := d.Int(); n > 0 && d.err == nil; n-- {
		out = append(out, d.Text())
	}
	return out
}

// Encoder appends fields to a record. Its zero value is an empty one.
type Encoder struct{ record []byte }

// lengthSize is the length prefix of a frame.
const lengthSize = 4

// NewFrame returns an encoder that leaves room for the length of a frame, whose body is about so many bytes long.
func NewFrame(size int) *Encoder { return &Encoder{make([]byte, lengthSize, lengthSize+size)} }

// Frame returns what has been written behind its length. The encoder must come from NewFrame.
func (e *Encoder) Frame() []byte {
	binary.BigEndian.PutUint32(e.record, uint32(len(e.record)-lengthSize))
	return e.record
}

// Bytes returns what has been written.
func (e *Encoder) Bytes() []byte { return e.record }

// ReadFrame reads one length-prefixed frame and returns its body. A length that is negative or above limit is
// ErrMalformed.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var prefix [lengthSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(prefix[:])))
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: a frame of %d bytes, with at most %d allowed", ErrMalformed, n, limit)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// Bool writes one byte.
func (e *Encoder) Bool(v bool) {
	var b byte
	if v {
		b = 1
	}
	e.record = append(e.record, b)
}

// Int writes an int.
func (e *Encoder) Int(v int32) { e.record = binary.BigEndian.AppendUint32(e.record, uint32(v)) }

// Long writes a long.
func (e *Encoder) Long(v int64) { e.record = binary.BigEndian.AppendUint64(e.record, uint64(v)) }

// Buffer writes a buffer; nil is written as null.
func (e *Encoder) Buffer(p []byte) {
	if p == nil {
		e.Int(absent)
		return
	}
	e.Int(int32(len(p)))
	e.record = append(e.record, p...)
}

// Text writes a string.
func (e *Encoder) Text(s string) {
	e.Int(int32(len(s)))
	e.record = append(e.record, s...)
}

// Texts writes a vector of strings.
func (e *Encoder) Texts(v []string) {
	e.Int(int32(len(v)))
	for _, s := range v {
		e.Text(s)
	}
}

// Raw writes what is encoded already.
func (e *Encoder) Raw(p []byte) { e.record = append(e.record, p...) }
