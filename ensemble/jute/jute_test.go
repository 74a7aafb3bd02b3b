package jute_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/results/must"
)

func TestRoundTrip(t *testing.T) {
	stat := zk.Stat{Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: math.MaxInt64, Version: 5, Cversion: -6, Aversion: 7, EphemeralOwner: -8, DataLength: 9, NumChildren: 10, Pzxid: 11}
	acl := append(zk.WorldACL(zk.PermAll), zk.ACL{Perms: 1, Scheme: "digest", ID: "a:b"})
	out := jute.NewFrame(0)
	out.Bool(true)
	out.Int(-1)
	out.Long(math.MinInt64)
	out.Buffer(nil)
	out.Buffer([]byte{})
	out.Buffer([]byte("data"))
	out.Text("/ä")
	out.Texts([]string{"a", ""})
	out.Stat(stat)
	out.ACLs(acl)
	frame := out.Frame()
	body := must.Get(jute.ReadFrame(bytes.NewReader(frame), len(frame)))(t)
	d := jute.NewDecoder(body)
	for i, got := range []any{d.Bool(), d.Int(), d.Long(), d.Buffer(), d.Buffer(), d.Buffer(), d.Text(), d.Texts(), d.Stat(), d.ACLs()} {
		want := []any{true, int32(-1), int64(math.MinInt64), []byte(nil), []byte{}, []byte("data"), "/ä", []string{"a", ""}, stat, acl}[i]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("field %d = %#v, want %#v", i, got, want)
		}
	}
	if d.Err() != nil || d.Rest() != 0 {
		t.Errorf("%v, %d bytes left", d.Err(), d.Rest())
	}
}

func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		read func(*jute.Decoder)
	}{
		{"nothing", nil, func(d *jute.Decoder) { d.Bool() }},
		{"half an int", []byte{0, 0}, func(d *jute.Decoder) { d.Int() }},
		{"half a long", []byte{0, 0, 0, 0}, func(d *jute.Decoder) { d.Long() }},
		{"a buffer longer than the frame", []byte{0, 0, 0, 2, 1}, func(d *jute.Decoder) { d.Buffer() }},
		{"a buffer of negative length", []byte{0xff, 0xff, 0xff, 0xfe}, func(d *jute.Decoder) { d.Buffer() }},
		{"a null string", []byte{0xff, 0xff, 0xff, 0xff}, func(d *jute.Decoder) { d.Text() }},
		{"two billion strings", []byte{0x7f, 0xff, 0xff, 0xff}, func(d *jute.Decoder) { d.Texts() }},
		{"two billion entries", []byte{0x7f, 0xff, 0xff, 0xff}, func(d *jute.Decoder) { d.ACLs() }},
		{"rejected", []byte{1}, func(d *jute.Decoder) { d.Reject("x") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := jute.NewDecoder(tt.in)
			tt.read(d)
			if !errors.Is(d.Err(), jute.ErrMalformed) {
				t.Errorf("Err() = %v, want ErrMalformed", d.Err())
			}
			if d.Int() != 0 || d.Text() != "" || d.Buffer() != nil || d.Rest() != 0 {
				t.Error("after a mistake there is still something to read")
			}
		})
	}
}

func TestReadFrame(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		want error
	}{
		{"empty", []byte{0, 0, 0, 0}, nil},
		{"as long as allowed", append([]byte{0, 0, 0, 8}, make([]byte, 8)...), nil},
		{"too long", []byte{0, 0, 0, 9}, jute.ErrMalformed},
		{"of negative length", []byte{0xff, 0xff, 0xff, 0xff}, jute.ErrMalformed},
		{"nothing", nil, io.EOF},
		{"cut in its length", []byte{0, 0}, io.ErrUnexpectedEOF},
		{"cut in its body", []byte{0, 0, 0, 8, 1}, io.ErrUnexpectedEOF},
	} {
		if _, err := jute.ReadFrame(bytes.NewReader(tt.in), 8); !errors.Is(err, tt.want) {
			t.Errorf("%s: error = %v, want %v", tt.name, err, tt.want)
		}
	}
}

// FuzzDecoder reads fuzzed bytes as fields in a fuzzed order. The decoder must not panic or read beyond its input, and
// fields that are read without an error are encoded to the same bytes.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff"))
	f.Add([]byte{4, 5}, []byte("\x00\x00\x00\x01a\x00\x00\x00\x01\x00\x00\x00\x01b"))
	f.Add([]byte{7}, []byte("\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone"))
	f.Add([]byte{5}, []byte{0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, script, frame []byte) {
		d := jute.NewDecoder(frame)
		var out jute.Encoder
		canonical := true // the fields have one encoding only
		for _, step := range script {
			canonical = copyField(step, d, &out) && canonical
		}
		read := frame[:len(frame)-d.Rest()]
		switch {
		case d.Err() != nil && d.Rest() != 0:
			t.Error("there is something left to read after a mistake")
		case d.Err() == nil && canonical && !bytes.Equal(out.Bytes(), read):
			t.Errorf("read %x, wrote %x", read, out.Bytes())
		}
	})
}

// copyField decodes and encodes one field, and reports whether its encoding is the only one: a true bool may be any byte, and
// a vector may have a negative length.
func copyField(step byte, d *jute.Decoder, out *jute.Encoder) bool {
	switch step % 8 {
	case 0:
		out.Bool(d.Bool())
		return false
	case 1:
		out.Int(d.Int())
	case 2:
		out.Long(d.Long())
	case 3:
		out.Buffer(d.Buffer())
	case 4:
		out.Text(d.Text())
	case 5:
		v := d.Texts()
		out.Texts(v)
		return len(v) > 0
	case 6:
		out.Stat(d.Stat())
	default:
		v := d.ACLs()
		out.ACLs(v)
		return len(v) > 0
	}
	return true
}
