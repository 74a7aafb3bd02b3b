package ensemble

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Access is how clients get access to servers. Its zero value is TCP without credentials.
type Access struct {
	TLS  *dial.TLS    // nil without TLS
	Auth *Credentials // nil without credentials
}

// To returns a server with this access. Its certificate must have the host of the address.
func (a Access) To(s Server, address string) Server {
	if a.TLS != nil {
		s.Dialer = a.TLS.For(address)
	}
	s.Auth = a.Auth
	return s
}

// Credentials authenticate the connections of sessions. They print as their scheme, and never as the secret.
type Credentials struct {
	Scheme string
	secret []byte
}

// Digest is the scheme of a user with a password.
const Digest = "digest"

func (c *Credentials) String() string { return c.Scheme }

// GoString returns the scheme, too.
func (c *Credentials) GoString() string { return c.Scheme }

// ReadCredentials reads the credentials of "digest:FILE". The file has one line, user:password. warning is not empty if other users of
// this machine can read it.
func ReadCredentials(text string) (c *Credentials, warning string, err error) {
	scheme, path, ok := strings.Cut(text, ":")
	switch {
	case strings.EqualFold(scheme, "sasl") || strings.EqualFold(scheme, "kerberos"):
		return nil, "", fmt.Errorf("zkbench has no %s: only the scheme %s, as %s:FILE", scheme, Digest, Digest)
	case !ok || scheme != Digest || path == "":
		return nil, "", fmt.Errorf("want %s:FILE, where the file has one line, user:password", Digest)
	}
	info, err := os.Stat(path)
	line, errRead := os.ReadFile(path)
	if unread := new(fs.PathError); errors.As(cmp.Or(err, errRead), &unread) { // whose path may be a password, given by mistake
		return nil, "", fmt.Errorf("the FILE of %s:FILE: %w; it has one line, user:password", Digest, unread.Err)
	}
	line = bytes.TrimRight(line, "\r\n")
	if user, _, ok := bytes.Cut(line, []byte(":")); !ok || len(user) == 0 || bytes.ContainsAny(line, "\r\n") {
		return nil, "", fmt.Errorf("%s: want one line, user:password", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		warning = fmt.Sprintf("warning: other users of this machine may read the password in %s (mode %#o): `chmod 600 %[1]s`", path, mode)
	}
	return &Credentials{scheme, line}, warning, nil
}

func (s Server) hasTLS() bool {
	_, ok := s.Dialer.(*dial.TLS)
	return ok
}

// ACL returns the rights on znodes that a session with the server creates: all rights for the creator, or for everyone if the session has
// no credentials.
func (s Server) ACL() []zk.ACL {
	if s.Auth != nil {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

// authenticated is a connection that sends its credentials before the client learns of its session, so that no request of the session
// comes before them.
type authenticated struct {
	net.Conn
	credentials *Credentials
	accepted    bool
	arrived     []byte // not read by the client yet
}

// authenticate returns a connection to the server with its credentials, if it has any.
func (s Server) authenticate(conn net.Conn) net.Conn {
	if s.Auth == nil {
		return conn
	}
	return &authenticated{Conn: conn, credentials: s.Auth}
}

// Read returns the answer to the connect request when the server has accepted the credentials.
func (c *authenticated) Read(p []byte) (int, error) {
	if !c.accepted {
		if err := c.authenticate(); err != nil {
			return 0, err
		}
		c.accepted = true
	}
	if len(c.arrived) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.arrived)
	c.arrived = c.arrived[n:]
	return n, nil
}

func (c *authenticated) authenticate() error {
	greeting, err := jute.ReadFrame(c.Conn, maxReply)
	if err != nil {
		return err
	}
	c.arrived = append(c.arrived, jute.Framed(greeting)...)
	d := jute.NewDecoder(greeting)
	d.Int()                      // the version
	d.Int()                      // the timeout
	if id := d.Long(); id == 0 { // there is no session, as the client will see
		return nil
	}
	out := jute.NewFrame(len(c.credentials.secret) + 64)
	out.Int(wire.XidAuth)
	out.Int(int32(wire.OpAuth))
	out.Int(0) // reserved
	out.Text(c.credentials.Scheme)
	out.Buffer(c.credentials.secret)
	if _, err := c.Write(out.Frame()); err != nil {
		return err
	}
	return c.awaitAnswer()
}

func (c *authenticated) awaitAnswer() error {
	for {
		frame, err := jute.ReadFrame(c.Conn, maxReply)
		if err != nil {
			return err
		}
		d := jute.NewDecoder(frame)
		if xid := d.Int(); xid != wire.XidAuth {
			c.arrived = append(c.arrived, jute.Framed(frame)...)
			continue
		}
		d.Long() // the zxid
		if code := wire.Code(d.Int()); code != wire.OK {
			return dial.Refused(false, "the server does not accept the scheme %s (%s): it does not have it, or does not allow it",
				c.credentials.Scheme, code)
		}
		return nil
	}
}
