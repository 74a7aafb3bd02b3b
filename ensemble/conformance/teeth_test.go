package conformance_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// tamper starts a proxy that changes the bodies of frames; either function may be nil. The handshake passes unchanged.
func tamper(t *testing.T, addr string, request, answer func(body []byte) []byte) string {
	t.Helper()
	return ensembletest.Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		go forward(server, client, request)
		forward(client, server, answer)
	})
}

// forward copies frames until one side closes its connection.
func forward(to, from net.Conn, change func([]byte) []byte) {
	defer to.Close()
	defer from.Close()
	for greeted := false; ; greeted = true {
		body, err := jute.ReadFrame(from, maxFrame)
		if err != nil {
			return
		}
		if greeted && change != nil {
			body = change(body)
		}
		if body == nil {
			continue
		}
		if _, err := to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body)))); err != nil {
			return
		}
		if _, err := to.Write(body); err != nil {
			return
		}
	}
}

// The comparison detects servers with one error each, and reduces the script to a few actions.
func TestDifferentialFindsWrongServers(t *testing.T) {
	isOp := func(body []byte, op wire.Opcode) bool {
		return len(body) >= 8 && wire.Opcode(binary.BigEndian.Uint32(body[4:])) == op
	}
	isNotification := func(body []byte) bool { return len(body) >= 24 && binary.BigEndian.Uint32(body) == 0xffffffff }
	for _, tt := range []struct {
		name            string
		request, answer func([]byte) []byte
	}{
		{"forgets watches of exists", func(body []byte) []byte {
			if isOp(body, wire.OpExists) {
				body[len(body)-1] = 0
			}
			return body
		}, nil},
		{"ignores versions", func(body []byte) []byte {
			if isOp(body, wire.OpDelete) {
				copy(body[len(body)-4:], "\xff\xff\xff\xff")
			}
			return body
		}, nil},
		{"loses one delete notification in three", nil, func(body []byte) []byte {
			if isNotification(body) && binary.BigEndian.Uint32(body[16:]) == uint32(wire.NodeDeleted) {
				if body[11]%3 == 0 { // of its zxid
					return nil
				}
			}
			return body
		}},
		{"stamps notifications with the wrong zxid", nil, func(body []byte) []byte {
			if isNotification(body) && body[11] != 0xff {
				body[11] ^= 1
			}
			return body
		}},
		{"miscounts children", nil, func(body []byte) []byte {
			if len(body) == 16+68 { // a reply with a stat only
				body[16+59]++
			}
			return body
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wrong := func(t *testing.T) *site {
				addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
				s := prepare(t, []ensemble.Server{{Addr: addr}})
				s.addrs = []string{tamper(t, addr, tt.request, tt.answer)}
				return s
			}
			differs := func(script []action) bool {
				return difference(perform(embeddedSite(t, embedded.Config{}), script), perform(wrong(t), script)) >= 0
			}
			script := newScript(1, 300)
			if !differs(script) {
				t.Fatal("no difference was found")
			}
			if short := shrink(script, differs); len(short) > 12 {
				t.Errorf("%d actions are needed to show it: %v", len(short), short)
			}
		})
	}
}

// The comparison finds no difference between a server and itself, nor between one server and several.
func TestDifferentialOfTheSame(t *testing.T) {
	t.Parallel()
	for _, other := range []embedded.Config{{}, {Voters: 3}, {Voters: 3, Lag: time.Millisecond}} {
		for seed := range uint64(5) {
			script := newScript(seed, 300)
			one, another := perform(embeddedSite(t, embedded.Config{}), script), perform(embeddedSite(t, other), script)
			if i := difference(one, another); i >= 0 {
				t.Errorf("%+v, seed %d: action %d, %s: %s, not %s", other, seed, i, script[i], another[i], one[i])
			}
		}
	}
}
