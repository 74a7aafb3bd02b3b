// Package jute reads and writes ZooKeeper's serialization format: big-endian integers, length-prefixed buffers and
// strings, and the few records that servers and clients share.
//
// It takes one position: bytes from a network are hostile. A [Decoder] never panics, never reads beyond its input, and
// allocates no more than its input can contain. It keeps the first error, to be checked once at the end of a record.
package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-zookeeper/zk"
)

// absent is the length of a null buffer, string or vector, as opposed to an empty one.
const absent = -1

// ErrMalformed is wrapped by all errors of a Decoder.
var ErrMalformed = errors.New("malformed record")

// Decoder reads the fields of records from a frame. After an error, its methods return zero values.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder returns a decoder of frame. It does not copy the frame: Buffer returns parts of it.
func NewDecoder(frame []byte) *Decoder { return &Decoder{rest: frame} }

// Err returns the first error, which wraps ErrMalformed.
func (d *Decoder) Err() error { return d.err }

// Rest returns the number of unread bytes.
func (d *Decoder) Rest() int { return len(d.rest) }

// Reject records an error about a well-formed value that is not allowed.
func (d *Decoder) Reject(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
	d.rest = nil
}

func (d *Decoder) take(what string, n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.Reject(fmt.Sprintf("%s of %d bytes, with %d left", what, n, len(d.rest)))
		return nil
	}
	p := d.rest[:n:n]
	d.rest = d.rest[n:]
	return p
}

// Bool reads one byte; any value but zero is true.
func (d *Decoder) Bool() bool {
	p := d.take("bool", 1)
	return p != nil && p[0] != 0
}

// Int reads four bytes.
func (d *Decoder) Int() int32 {
	if p := d.take("int", 4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads eight bytes.
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

// Text reads a string that must not be null.
func (d *Decoder) Text() string { return string(d.take("string", int(d.Int()))) }

// Nullable reads a string; a null one is empty, as some clients send empty ones.
func (d *Decoder) Nullable() string { return string(d.Buffer()) }

// Texts reads a vector of strings; a null one is nil.
func (d *Decoder) Texts() []string {
	var out []string
	for n := d.Int(); n > 0 && d.err == nil; n-- {
		out = append(out, d.Text())
	}
	return out
}

// Encoder appends fields to a record. Its zero value is an empty record.
type Encoder struct{ record []byte }

const lengthSize = 4

// NewFrame returns an encoder with room for the length prefix of a frame and a body of about size bytes.
func NewFrame(size int) *Encoder { return &Encoder{make([]byte, lengthSize, lengthSize+size)} }

// Frame returns the frame with its length prefix. The encoder must come from NewFrame.
func (e *Encoder) Frame() []byte {
	binary.BigEndian.PutUint32(e.record, uint32(len(e.record)-lengthSize))
	return e.record
}

// Framed returns a frame with a body that is already encoded.
func Framed(body []byte) []byte {
	e := NewFrame(len(body))
	e.Raw(body)
	return e.Frame()
}

// Bytes returns the record. It does not copy it.
func (e *Encoder) Bytes() []byte { return e.record }

// ReadFrame reads a length-prefixed frame and returns its body, or ErrMalformed if its length is negative or above limit.
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
	e.record = append(e.record, 0)
	if v {
		e.record[len(e.record)-1] = 1
	}
}

// Int writes four bytes.
func (e *Encoder) Int(v int32) { e.record = binary.BigEndian.AppendUint32(e.record, uint32(v)) }

// Long writes eight bytes.
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

// Text writes a length-prefixed string. An empty one is not null.
func (e *Encoder) Text(s string) {
	e.Int(int32(len(s)))
	e.record = append(e.record, s...)
}

// Texts writes a vector of strings. A nil slice is written as an empty one, not as null.
func (e *Encoder) Texts(v []string) {
	e.Int(int32(len(v)))
	for _, s := range v {
		e.Text(s)
	}
}

// Raw writes bytes that are already encoded.
func (e *Encoder) Raw(p []byte) { e.record = append(e.record, p...) }

// Stat writes a stat.
func (e *Encoder) Stat(s zk.Stat) {
	e.Long(s.Czxid)
	e.Long(s.Mzxid)
	e.Long(s.Ctime)
	e.Long(s.Mtime)
	e.Int(s.Version)
	e.Int(s.Cversion)
	e.Int(s.Aversion)
	e.Long(s.EphemeralOwner)
	e.Int(s.DataLength)
	e.Int(s.NumChildren)
	e.Long(s.Pzxid)
}

// Stat reads a stat.
func (d *Decoder) Stat() zk.Stat {
	return zk.Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(),
		Version: d.Int(), Cversion: d.Int(), Aversion: d.Int(),
		EphemeralOwner: d.Long(), DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}

// ACLs writes an access control list.
func (e *Encoder) ACLs(list []zk.ACL) {
	e.Int(int32(len(list)))
	for _, a := range list {
		e.Int(a.Perms)
		e.Text(a.Scheme)
		e.Text(a.ID)
	}
}

// ACLs reads an access control list; a null one is nil.
func (d *Decoder) ACLs() []zk.ACL {
	var out []zk.ACL
	for n := d.Int(); n > 0 && d.err == nil; n-- {
		out = append(out, zk.ACL{Perms: d.Int(), Scheme: d.Nullable(), ID: d.Nullable()})
	}
	return out
}
