package external_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// fake is a proxy that gives an embedded server an id, a role, settings and refusals. Several fakes of one server form an
// ensemble.
type fake struct {
	id      byte                      // in the sessions' ids; zero for a server with other session ids
	role    ensemble.Role             // by srvr
	conf    string                    // by conf; not allowed if empty
	words   map[string]string         // answers that differ from these
	refuses map[wire.Opcode]wire.Code // requests that are not forwarded
	mute    bool                      // requests get no answer
	backend string
}

const closedWithoutAnswer = "closed"

func (f fake) start(t *testing.T) string {
	t.Helper()
	return ensembletest.Listen(t, func(conn net.Conn) { f.serve(conn) })
}

func (f fake) serve(conn net.Conn) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return
	}
	if answer := f.answer(string(head)); answer != "" {
		if answer != closedWithoutAnswer {
			_, _ = io.WriteString(conn, answer)
		}
		return
	}
	backend, err := net.Dial("tcp", f.backend)
	if err != nil {
		return
	}
	defer backend.Close()
	var writes sync.Mutex // of replies
	go f.replies(conn, backend, &writes)
	f.requests(io.MultiReader(bytes.NewReader(head), conn), conn, backend, &writes)
}

func (f fake) answer(word string) string {
	if answer, ok := f.words[word]; ok {
		return answer
	}
	switch {
	case word == "srvr":
		return fmt.Sprintf("Zookeeper version: 3.9.3-x, built on 2026\nConnections: 1\nZxid: 0x5\nMode: %s\nNode count: 5\n", f.role)
	case word == "conf" && f.conf != "":
		return f.conf
	case word == "conf", word == "mntr":
		return word + " is not executed because it is not in the whitelist.\n"
	default:
		return ""
	}
}

func (f fake) requests(in io.Reader, conn, backend net.Conn, writes *sync.Mutex) {
	for connected := false; ; connected = true {
		frame, err := readFrame(in)
		if err != nil {
			return
		}
		code, refused := wire.Code(0), false
		if connected {
			code, refused = f.refuses[wire.Opcode(binary.BigEndian.Uint32(frame[8:]))]
		}
		switch {
		case connected && f.mute:
		case refused:
			reply := binary.BigEndian.AppendUint32(nil, 16)
			reply = append(reply, frame[4:8]...) // xid
			reply = binary.BigEndian.AppendUint64(reply, 7)
			reply = binary.BigEndian.AppendUint32(reply, uint32(code))
			writes.Lock()
			_, _ = conn.Write(reply)
			writes.Unlock()
		default:
			_, _ = backend.Write(frame)
		}
	}
}

// replies forwards the replies, the first of which has the session id.
func (f fake) replies(conn, backend net.Conn, writes *sync.Mutex) {
	defer conn.Close()
	for connected := false; ; connected = true {
		frame, err := readFrame(backend)
		if err != nil {
			return
		}
		if !connected {
			frame[12] = f.id
		}
		writes.Lock()
		_, _ = conn.Write(frame)
		writes.Unlock()
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(frame)
	if length > 1<<20 { // such as "GET "
		return nil, errors.New("no frame")
	}
	frame = append(frame, make([]byte, length)...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

func backend(t *testing.T) string {
	t.Helper()
	return ensembletest.Embedded(t, embedded.Config{}).Addr()
}
