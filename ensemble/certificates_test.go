package ensemble_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// protected issues files into a new folder, and returns their contents by their names.
func protected(t *testing.T, opts ensemble.Options) (ensemble.Protection, map[string]string) {
	t.Helper()
	p := must.Get(opts.Protect(filepath.Join(t.TempDir(), "access")))(t)
	files := map[string]string{}
	entries, _ := os.ReadDir(p.Folder) // missing without protection
	for _, entry := range entries {
		files[entry.Name()] = string(must.Get(os.ReadFile(filepath.Join(p.Folder, entry.Name())))(t))
	}
	return p, files
}

// Only the files that are needed exist, only their owner can read them, and they hold no key but those of servers and of clients.
func TestIssuedFiles(t *testing.T) {
	certificates := []string{"ca.pem", "client-key.pem", "client.pem", "server.pem"}
	for _, tt := range []struct {
		opts ensemble.Options
		want []string
	}{
		{ensemble.Options{}, nil},
		{ensemble.Options{Digest: true}, []string{"digest"}},
		{ensemble.Options{TLS: true}, certificates},
		{ensemble.Options{TLS: true, Digest: true}, append(slices.Clone(certificates[:3]), "digest", "server.pem")},
	} {
		p, files := protected(t, tt.opts)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: files %q, want %q", p, got, tt.want)
		}
		for _, name := range append(tt.want, ".") {
			info, err := os.Stat(filepath.Join(p.Folder, name))
			if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
				t.Errorf("%s: %s has the mode %v", p, name, info.Mode())
			}
		}
		all := strings.Join(slices.Collect(maps.Values(files)), "")
		if keys := strings.Count(all, "-----BEGIN PRIVATE KEY-----"); tt.opts.TLS && keys != 2 {
			t.Errorf("%s: %d private keys, want that of the servers and that of clients", p, keys)
		}
		if parsed := ensemble.ParseProtection(p.String(), p.Folder); parsed != p {
			t.Errorf("%q is read as %+v, want %+v", p, parsed, p)
		}
	}
	_, one := protected(t, ensemble.Options{Digest: true})
	_, other := protected(t, ensemble.Options{Digest: true})
	if user, password, _ := strings.Cut(one["digest"], ":"); one["digest"] == other["digest"] || user != "zkbench" || len(password) < 20 {
		t.Errorf("the password %q of %q is not random", password, user)
	}
}

// The certificates are signed by the CA for their purpose, for all names of a server, and for as long as an ensemble may be kept.
func TestIssuedCertificates(t *testing.T) {
	_, files := protected(t, ensemble.Options{TLS: true})
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM([]byte(files["ca.pem"]))
	for file, purpose := range map[string]x509.ExtKeyUsage{"server.pem": x509.ExtKeyUsageServerAuth, "client.pem": x509.ExtKeyUsageClientAuth} {
		c := certificateOf(t, files[file])
		for _, years := range []int{0, 9, 11} {
			_, err := c.Verify(x509.VerifyOptions{Roots: authority, KeyUsages: []x509.ExtKeyUsage{purpose}, CurrentTime: time.Now().AddDate(years, 0, 0)})
			if valid := years < 10; (err == nil) != valid {
				t.Errorf("%s in %d years: %v, want it valid: %t", file, years, err, valid)
			}
		}
		for _, host := range []string{"127.0.0.1", "::1", "localhost", "zoo1", "zoo2", "zoo3"} {
			if err := c.VerifyHostname(host); file == "server.pem" && err != nil {
				t.Error(err)
			}
		}
	}
}

func certificateOf(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return must.Get(x509.ParseCertificate(block.Bytes))(t)
		}
	}
	t.Fatalf("no certificate in %q", text)
	return nil
}

// A client with the files reaches a server that has them, and one without a certificate does not.
func TestProtectedServer(t *testing.T) {
	p, files := protected(t, ensemble.Options{TLS: true, Digest: true})
	config := must.Get(p.ServerTLS())(t)
	listener := tls.NewListener(must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), config)
	t.Cleanup(func() { listener.Close() })
	go dial.Accept(listener, func(error) {}, func(conn net.Conn) {
		go func() {
			defer conn.Close()
			word := make([]byte, 4)
			_, _ = io.ReadFull(conn, word)
			_, _ = conn.Write(bytes.ToUpper(word))
		}()
	})
	access := must.Get(p.Access())(t)
	server := access.To(ensemble.Server{Addr: listener.Addr().String()}, listener.Addr().String())
	if answer, err := ensemble.Command(t.Context(), server, "ruok"); err != nil || answer != "RUOK" {
		t.Errorf("answered %q, %v", answer, err)
	}
	if server.Auth == nil || server.Auth.Scheme != ensemble.Digest {
		t.Errorf("credentials %v", server.Auth)
	}
	stranger := ensemble.Access{TLS: must.Get(dial.NewTLS(dial.Files{CA: filepath.Join(p.Folder, "ca.pem")}))(t)}
	if _, err := ensemble.Command(t.Context(), stranger.To(server, server.Addr), "ruok"); err == nil {
		t.Error("a client without a certificate was served")
	}
	_, password, _ := strings.Cut(files["digest"], ":")
	flags := strings.Join(p.AccessFlags(), " ")
	if strings.Contains(flags, password) || !strings.Contains(flags, "--auth digest:"+filepath.Join(p.Folder, "digest")) {
		t.Errorf("flags %s; want the file of the password, and not the password", flags)
	}
}

// Another user cannot read the files.
func TestMissingFiles(t *testing.T) {
	for _, text := range []string{"tls=true,digest=false", "tls=false,digest=true", "tls=true,digest=true"} {
		_, err := ensemble.ParseProtection(text, filepath.Join(t.TempDir(), "none")).Access()
		if err == nil || !strings.Contains(err.Error(), "the cache of the user who started them") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if a, err := ensemble.ParseProtection("none", "").Access(); err != nil || a != (ensemble.Access{}) {
		t.Errorf("without protection: %v, %v", a, err)
	}
}

// A run attaches to an ensemble that has the protection which it asks for, or more.
func TestAttachingChecksTheProtection(t *testing.T) {
	servers := ensembletest.Embedded(t, embedded.Config{}).Servers()
	lock := fmt.Sprintf("test-protection-%d", os.Getpid())
	for _, tt := range []struct {
		asked ensemble.Options
		kept  string
		said  string // by progress, or by the error
	}{
		{ensemble.Options{}, "tls=false,digest=false", "on disk, without TLS and without digest\n"},
		{ensemble.Options{}, "tls=true,digest=true", "on disk, with TLS and with digest\n"},
		{ensemble.Options{TLS: true}, "tls=true,digest=false", "on disk, with TLS and without digest\n"},
		{ensemble.Options{Digest: true}, "tls=true,digest=true", "on disk, with TLS and with digest\n"},
		{ensemble.Options{TLS: true}, "none", "first to start it with TLS and without digest"},
		{ensemble.Options{Digest: true}, "tls=true,digest=false", "first to start it without TLS and with digest"},
		{ensemble.Options{TLS: true, Digest: true}, "tls=false,digest=true",
			"already up without TLS and with digest: `zkbench ensemble down --name x` first to start it with TLS and with digest"},
		{ensemble.Options{TLS: true, Digest: true}, "none", "first to start it with TLS and with digest"},
	} {
		e := &kept{ensemble.Local{Members: servers, TxnLog: ensemble.OnDisk, Found: true, Protection: ensemble.ParseProtection(tt.kept, "")}}
		var progress strings.Builder
		tt.asked.Name, tt.asked.Progress = "x", &progress
		attached, err := ensemble.Lifecycle[*kept]{
			LockName: lock,
			Find:     func(context.Context) (*kept, error) { return e, nil },
		}.Up(t.Context(), tt.asked)
		if err == nil {
			must.Do(t, attached.Release())
		} else {
			progress.WriteString(err.Error())
		}
		if refused := strings.Contains(tt.said, "first to start"); (err != nil) != refused || !strings.HasSuffix(progress.String(), tt.said) {
			t.Errorf("asked for %+v, kept %s: refused: %t, said %q; want %q", tt.asked, tt.kept, err != nil, progress.String(), tt.said)
		}
	}
}
