package main

import (
	"bytes"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

const password = "correct-horse-battery"

// passwordFile returns the value of --auth for the user bench.
func passwordFile(t *testing.T, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "user")
	must.Do(t, os.WriteFile(path, []byte("bench:"+password+"\n"), 0o600))
	return "digest:" + path
}

func tlsFlagsOf(f dial.Files) (flags []string) {
	return []string{"--tls-ca", f.CA, "--tls-cert", f.Cert, "--tls-key", f.Key}
}

// secured is a server with TLS for clients with a certificate, and a znode /bench for the user bench alone.
func secured(t *testing.T, scheme string, change func(*x509.Certificate)) (addr string, client dial.Files) {
	t.Helper()
	server, client := ensembletest.Certificates(t, change)
	addr = ensembletest.Embedded(t, embedded.Config{TLS: ensembletest.ServerTLS(t, server), Scheme: scheme}).Addr()
	if change != nil { // it cannot be reached
		return addr, client
	}
	credentials, _, err := ensemble.ReadCredentials(passwordFile(t, password))
	must.Do(t, err)
	access := ensemble.Access{TLS: must.Get(dial.NewTLS(client))(t), Auth: credentials}
	conn := must.Get(ensemble.Connect(t.Context(), access.To(ensemble.Server{Addr: addr}, addr), wire.NewLedger(time.Now()), nil))(t)
	defer conn.Close()
	must.Get(conn.Create("/bench", nil, 0, zk.DigestACL(zk.PermAll, "bench", password)))(t)
	return addr, client
}

// A recipe costs the same below a znode that only its user may change, over TLS. The results say how they were reached, and nothing that
// any command writes or prints has a secret.
func TestSecuredServers(t *testing.T) {
	t.Chdir(t.TempDir())
	addr, client := secured(t, ensemble.Digest, nil)
	access := append(tlsFlagsOf(client), "--auth", passwordFile(t, password), "--servers", addr+"/bench")
	var said strings.Builder
	try := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := command(t.Context(), args...)
		said.WriteString(stdout + stderr)
		if code != outcome.CodePass || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%v: exit code %d, want %q; printed %s%s", args, code, want, stdout, stderr)
		}
	}
	with := func(args ...string) []string { return slices.Concat(args, access) }
	try("equal the variants' formulas to the last one", with("run", "lock-drain", "--clients", "3", "--repeats", "1", "--out", "out")...)
	try("--auth=digest:", with("run", "lock-drain", "--dry-run")...)
	try("standalone", with("ensemble", "status")...)
	try("nothing to remove", with("clean")...)
	try("TLS", "report", "out")
	try("", "report", "out", "--html", "page.html")
	try("", "plot", "out", "--out", "plots")
	plain := ensembletest.Embedded(t, embedded.Config{}).Addr()
	try("", "run", "lock-drain", "--clients", "3", "--repeats", "1", "--out", "plain", "--servers", plain)
	try("TLS", "compare", "plain", "out", "--across", "settings")
	try("", "gate", "out", "--json", "gate.json")
	d := must.Get(store.ReadAll([]string{"out"}))(t)[0]
	if e := d.Environment; !e.TLS || e.Auth != ensemble.Digest {
		t.Errorf("the document has TLS %t, authentication %q", e.TLS, e.Auth)
	}
	key := must.Get(os.ReadFile(client.Key))(t)
	secrets := [][]byte{[]byte(password), bytes.Split(key, []byte("\n"))[1]}
	check := func(name string, text []byte) {
		for _, secret := range secrets {
			if bytes.Contains(text, secret) {
				t.Errorf("%s has the secret %.20s…", name, secret)
			}
		}
	}
	check("the output of a command", []byte(said.String()))
	must.Do(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			check(path, must.Get(os.ReadFile(path))(t))
		}
		return err
	}))
}

// Each thing that can be wrong with the access to servers has a message of its own, which no secret is in.
func TestAccessIsRefused(t *testing.T) {
	addr, client := secured(t, "", nil)
	strict, strictClient := secured(t, ensemble.Digest, nil)
	expired, expiredClient := secured(t, "", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	elsewhere, elsewhereClient := secured(t, "", func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"zk.example.com"} })
	plain := ensembletest.Embedded(t, embedded.Config{}).Addr()
	_, stranger := ensembletest.Certificates(t, nil)
	mixed := dial.Files{CA: client.CA, Cert: stranger.Cert, Key: stranger.Key}
	user := []string{"--auth", passwordFile(t, password)}
	for _, tt := range []struct {
		name, servers string
		access        []string
		code          int
		want          string
	}{
		{"another CA", addr, tlsFlagsOf(stranger), outcome.CodeUsage, `is signed by "CN=zkbench CA", which is not among the CAs of ` + stranger.CA},
		{"an expired certificate", expired, tlsFlagsOf(expiredClient), outcome.CodeFailed, "and it is 2"},
		{"another host", elsewhere, tlsFlagsOf(elsewhereClient), outcome.CodeUsage, "is for zk.example.com, and not for 127.0.0.1"},
		{"no client certificate", addr, []string{"--tls-ca", client.CA}, outcome.CodeUsage, "accepts only clients with a certificate"},
		{"a stranger's certificate", addr, tlsFlagsOf(mixed), outcome.CodeUsage, "does not accept the client certificate " + mixed.Cert},
		{"a wrong password", addr + "/bench", append(tlsFlagsOf(client), "--auth", passwordFile(t, "wrong-"+password)), outcome.CodeFailed,
			"its password is wrong, or the ACL there does not name it"},
		{"no user", addr + "/bench", tlsFlagsOf(client), outcome.CodeFailed, "no permission to look for znodes in /bench: give a user"},
		{"no scheme", strict, tlsFlagsOf(strictClient), outcome.CodeUsage, "accepts only clients that authenticate themselves"},
		{"no TLS", addr, user, outcome.CodeUsage, "speaks TLS: add --tls"},
		{"TLS at a plain port", plain, append(tlsFlagsOf(client), user...), outcome.CodeUsage, "answers without TLS, and not with it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some wait until a timeout
			args := append([]string{"run", "lock-drain", "--clients", "2", "--out", filepath.Join(t.TempDir(), "out"), "--servers", tt.servers}, tt.access...)
			stdout, stderr, code := command(t.Context(), args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || strings.Contains(stdout+stderr, password) {
				t.Errorf("exit code %d, want %d; said %q, want %q", code, tt.code, stderr, tt.want)
			}
			for _, others := range [][]string{{"ensemble", "status"}, {"clean"}} {
				stdout, stderr, code := command(t.Context(), append(append(others, "--servers", tt.servers), tt.access...)...)
				asks := others[0] == "clean" || !strings.Contains(stdout, "standalone") // status needs no permission
				want := strings.NewReplacer("look for", "list").Replace(tt.want)
				if asks && (code != tt.code || !strings.Contains(stderr, want)) || strings.Contains(stdout+stderr, password) {
					t.Errorf("%v: exit code %d, want %d; said %q, want %q; printed %s", others, code, tt.code, stderr, want, stdout)
				}
			}
		})
	}
}
