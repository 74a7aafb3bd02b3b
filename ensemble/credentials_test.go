package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

const secret = "bench:s3cret"

func credentials(t *testing.T, line string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digest")
	must.Do(t, os.WriteFile(path, []byte(line), mode))
	return path
}

func TestReadCredentials(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		mode       os.FileMode
		warning    string
		err        string
	}{
		{"a user", "bench:s3cret\n", 0o600, "", ""},
		{"a password with a colon", "bench:s3:cret", 0o600, "", ""},
		{"others may read it", "bench:s3cret\r\n", 0o644, "chmod 600", ""},
		{"no user", ":s3cret\n", 0o600, "", "want one line, user:password"},
		{"no colon", "s3cret\n", 0o600, "", "want one line, user:password"},
		{"two lines", "bench:s3cret\nother:s3cret\n", 0o600, "", "want one line, user:password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, warning, err := ensemble.ReadCredentials("digest:" + credentials(t, tt.line, tt.mode))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error = %v, want %q", err, tt.err)
			}
			if strings.Contains(warning, "chmod") != (tt.warning != "") {
				t.Errorf("warning = %q, want %q", warning, tt.warning)
			}
			if all := fmt.Sprintf("%v %s %+v %#v %q %v %+v", c, c, c, c, warning, err, ensemble.Access{Auth: c}); strings.Contains(all, "cret") {
				t.Errorf("the secret is printed: %s", all)
			}
		})
	}
	for text, want := range map[string]string{
		"sasl:x": "zkbench has no sasl", "digest": "want digest:FILE", "x509:y": "want digest:FILE", "digest:": "want digest:FILE",
		"digest:/nowhere": "no such file", "digest:" + secret: "the FILE of digest:FILE", // the password itself, by mistake
	} {
		if _, _, err := ensemble.ReadCredentials(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// gatekeeper is a server that answers a connect request, sends other frames, and then answers the credentials with a code.
type gatekeeper struct {
	session int64
	code    wire.Code
	asked   chan string // the credentials
}

// DialContext implements [dial.Dialer].
func (g gatekeeper) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := dial.Pipe()
	go g.serve(server)
	return client, nil
}

func (g gatekeeper) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := jute.ReadFrame(conn, 1<<10); err != nil {
		return
	}
	greeting := jute.NewFrame(64)
	greeting.Int(0)
	greeting.Int(30_000)
	greeting.Long(g.session)
	greeting.Buffer(make([]byte, 16))
	_, _ = conn.Write(greeting.Frame())
	frame, err := jute.ReadFrame(conn, 1<<10)
	if err != nil {
		return
	}
	d := jute.NewDecoder(frame)
	d.Int() // the xid
	if wire.Opcode(d.Int()) != wire.OpAuth {
		g.asked <- "no credentials"
		return
	}
	d.Int()
	g.asked <- d.Text() + " " + string(d.Buffer())
	for _, header := range [][2]int32{{-1, 0}, {-4, int32(g.code)}} { // a notification, and the answer
		out := jute.NewFrame(64)
		out.Int(header[0])
		out.Long(1)
		out.Int(header[1])
		if header[0] == -1 {
			out.Int(int32(wire.NodeDeleted))
			out.Int(3)
			out.Text("/watched")
		}
		_, _ = conn.Write(out.Frame())
	}
	_, _ = io.Copy(io.Discard, conn)
}

// A session exists when the server has accepted its credentials, which are the first request. If it refuses them, no further attempt is made.
func TestCredentialsComeFirst(t *testing.T) {
	c, _, err := ensemble.ReadCredentials("digest:" + credentials(t, secret, 0o600))
	must.Do(t, err)
	for code, want := range map[wire.Code]bool{wire.OK: true, wire.AuthFailed: false} {
		g := gatekeeper{session: 7, code: code, asked: make(chan string, 1)}
		server := ensemble.Server{Addr: "192.0.2.1:2181", Dialer: g, Auth: c}
		conn, err := ensemble.Connect(t.Context(), server, wire.NewLedger(time.Now()), nil)
		if got := <-g.asked; got != "digest "+secret {
			t.Errorf("%s: the server was asked %q", code, got)
		}
		if conn != nil {
			conn.Close()
		}
		if (err == nil) != want || err != nil && (!strings.Contains(err.Error(), "does not accept the scheme digest") || !errors.As(err, new(*dial.Refusal))) {
			t.Errorf("%s: %v", code, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the secret is in the error: %v", err)
		}
	}
}
