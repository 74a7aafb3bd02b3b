package ensembletest

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

// Certificates issues two certificates of one CA: a server's, for localhost and 127.0.0.1 among others, and a client's. change, if not nil,
// may make the server's different, such as expired or for another host.
func Certificates(t testing.TB, change func(server *x509.Certificate)) (server, client dial.Files) {
	t.Helper()
	p, files := ensemble.Protection{TLS: true, Folder: t.TempDir()}, map[string][]byte{}
	must.Do(t, ensemble.IssueCertificates(files, change))
	for name, content := range files {
		must.Do(t, os.WriteFile(filepath.Join(p.Folder, name), content, 0o600))
	}
	server, client = p.ClientFiles(), p.ClientFiles()
	server.Cert = filepath.Join(p.Folder, ensemble.ServerFile)
	server.Key = server.Cert
	return server, client
}

// ServerTLS is the configuration of a server with these files, which accepts only clients with a certificate of its CA.
func ServerTLS(t testing.TB, files dial.Files) *tls.Config {
	t.Helper()
	return must.Get(ensemble.Protection{TLS: true, Folder: filepath.Dir(files.CA)}.ServerTLS())(t)
}
