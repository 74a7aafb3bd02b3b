package ensembletest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

// Certificates issues two certificates of one CA: a server's, for localhost and 127.0.0.1, and a client's. change, if not nil, may make the
// server's different, such as expired or for another host.
func Certificates(t testing.TB, change func(server *x509.Certificate)) (server, client dial.Files) {
	t.Helper()
	dir := t.TempDir()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t) // of all three
	ca := &x509.Certificate{IsCA: true, BasicConstraintsValid: true}
	issue := func(name string, c *x509.Certificate) (certFile string) {
		c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
		if c.NotAfter.IsZero() {
			c.NotAfter = time.Now().Add(time.Hour)
		}
		return write(t, dir, name+".pem", "CERTIFICATE", must.Get(x509.CreateCertificate(rand.Reader, c, ca, key.Public(), key))(t))
	}
	keyFile := write(t, dir, "key.pem", "PRIVATE KEY", must.Get(x509.MarshalPKCS8PrivateKey(key))(t))
	caFile := issue("ca", ca)
	s := &x509.Certificate{DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if change != nil {
		change(s)
	}
	server = dial.Files{CA: caFile, Cert: issue("server", s), Key: keyFile}
	return server, dial.Files{CA: caFile, Cert: issue("client", &x509.Certificate{}), Key: keyFile}
}

func write(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// ServerTLS is the configuration of a server with these files, which accepts only clients with a certificate of its CA.
func ServerTLS(t testing.TB, files dial.Files) *tls.Config {
	t.Helper()
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(must.Get(os.ReadFile(files.CA))(t))
	pair := must.Get(tls.LoadX509KeyPair(files.Cert, files.Key))(t)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
}
