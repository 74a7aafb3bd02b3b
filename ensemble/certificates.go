package ensemble

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

// Protection is how the servers that zkbench starts are protected. With the zero value, they accept every client.
type Protection struct {
	TLS    bool   // only connections with TLS, by clients with a certificate
	Digest bool   // only sessions with a user and a password
	Folder string // has the files for both, which only the user of zkbench can read
}

// The files in the folder of a protection.
const (
	CAFile       = "ca.pem"     // the certificate that has signed the others
	ServerFile   = "server.pem" // the key and the certificate of all servers
	clientFile   = "client.pem"
	keyFile      = "client-key.pem"
	passwordFile = "digest" // user:password
)

// String returns the protection as labels and files record it.
func (p Protection) String() string { return fmt.Sprintf("tls=%t,digest=%t", p.TLS, p.Digest) }

// ParseProtection is the inverse of [Protection.String]. Without a record, there is no protection.
func ParseProtection(text, folder string) Protection {
	return Protection{strings.Contains(text, "tls=true"), strings.Contains(text, "digest=true"), folder}
}

func (p Protection) describe() string {
	with := map[bool]string{true: "with", false: "without"}
	return fmt.Sprintf("%s TLS and %s digest", with[p.TLS], with[p.Digest])
}

// Protect creates the files for the protection that the options ask for, in place of an earlier folder; no folder for none.
func (o Options) Protect(folder string) (Protection, error) {
	p := Protection{o.TLS, o.Digest, folder}
	files := map[string][]byte{}
	if p.Digest {
		files[passwordFile] = []byte("zkbench:" + rand.Text())
	}
	err := RemoveState(folder)
	if p.TLS {
		err = errors.Join(err, IssueCertificates(files, nil))
	}
	if err == nil && len(files) > 0 {
		err = os.MkdirAll(folder, 0o700)
	}
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(p.path(name), content, 0o600)
		}
	}
	return p, err
}

// IssueCertificates adds the PEM files of a new CA, of the servers and of clients. The key of the CA is not kept: nothing else can be
// signed by it. change, if not nil, may make the certificate of the servers different.
func IssueCertificates(files map[string][]byte, change func(server *x509.Certificate)) error {
	ca, err := (*signed)(nil).issue(x509.Certificate{Subject: pkix.Name{CommonName: "zkbench CA"}, IsCA: true, BasicConstraintsValid: true})
	if err != nil {
		return err
	}
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: "zkbench server"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost", "zoo1", "zoo2", "zoo3"},
	}
	if change != nil {
		change(&template)
	}
	server, errServer := ca.issue(template)
	client, errClient := ca.issue(x509.Certificate{
		Subject: pkix.Name{CommonName: "zkbench client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err := errors.Join(errServer, errClient); err != nil {
		return err
	}
	files[CAFile], files[ServerFile] = ca.pem(), append(server.keyPEM, server.pem()...)
	files[clientFile], files[keyFile] = client.pem(), client.keyPEM
	return nil
}

type signed struct {
	*x509.Certificate
	key    *ecdsa.PrivateKey
	keyPEM []byte
}

func (c *signed) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

const (
	lifetime  = 10 * 365 * 24 * time.Hour // an ensemble may be kept for years, and its certificates end with it: nothing renews them
	clockSkew = 24 * time.Hour            // by how much the clock of a remote engine may be behind
)

// issue signs a certificate with a new key. A nil CA issues one that signs itself.
func (c *signed) issue(template x509.Certificate) (*signed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-clockSkew)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(lifetime)
	}
	if c == nil {
		c = &signed{Certificate: &template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, c.Certificate, key.Public(), c.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	pkcs8, errKey := x509.MarshalPKCS8PrivateKey(key)
	return &signed{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})}, errors.Join(err, errKey)
}

func (p Protection) path(file string) string { return filepath.Join(p.Folder, file) }

// ClientFiles returns the files for TLS that clients need.
func (p Protection) ClientFiles() dial.Files {
	return dial.Files{CA: p.path(CAFile), Cert: p.path(clientFile), Key: p.path(keyFile)}
}

// Access reads the files that clients need.
func (p Protection) Access() (a Access, err error) {
	if p.TLS {
		a.TLS, err = dial.NewTLS(p.ClientFiles())
	}
	if p.Digest && err == nil {
		a.Auth, _, err = ReadCredentials(Digest + ":" + p.path(passwordFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the servers are up %s, and the files for it are in the cache of the user who started them: %w", p.describe(), err)
	}
	return a, err
}

// AccessFlags returns the flags by which zkbench gets access to the servers when they are given by --servers. They have no secrets.
func (p Protection) AccessFlags() (flags []string) {
	if p.TLS {
		flags = append(flags, "--tls-ca", p.path(CAFile), "--tls-cert", p.path(clientFile), "--tls-key", p.path(keyFile))
	}
	if p.Digest {
		flags = append(flags, "--auth", Digest+":"+p.path(passwordFile))
	}
	return flags
}

// Settings returns the lines of zoo.cfg that protect a server, one of which has its client port, if its files are in the given folder.
// ZooKeeper makes system properties of most of them, with the prefix "zookeeper.".
func (p Protection) Settings(folder string, port int) (lines []string) {
	if p.TLS {
		lines = append(lines, fmt.Sprintf("secureClientPort=%d", port),
			"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory", // the default one has no TLS
			"ssl.keyStore.location="+folder+"/"+ServerFile, "ssl.keyStore.type=PEM",
			"ssl.trustStore.location="+folder+"/"+CAFile, "ssl.trustStore.type=PEM", "ssl.clientAuth=need")
	}
	if p.Digest {
		lines = append(lines, "enforce.auth.enabled=true", "enforce.auth.schemes="+Digest)
	}
	return lines
}

// ServerTLS returns the settings of a server in this process; nil without TLS.
func (p Protection) ServerTLS() (*tls.Config, error) {
	if !p.TLS {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(p.path(ServerFile), p.path(ServerFile))
	authority, errCA := os.ReadFile(p.path(CAFile))
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	}, errors.Join(err, errCA)
}

// StateDir returns the folder of an ensemble. It is in the user's cache, because the temporary folder is often not on a disk.
func StateDir(engine Engine, name string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "zkbench", string(engine), name)
}

// RemoveState removes the folder of an ensemble if there is one, and its parent folders unless another ensemble is in them.
func RemoveState(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := os.RemoveAll(dir)
	for range 2 {
		dir = filepath.Dir(dir)
		_ = os.Remove(dir)
	}
	return err
}
