package dial

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Refusal is the error of a connection for which the two sides do not agree on a protocol or on who the other is. A further attempt
// fails, too.
type Refusal struct {
	error
	Mistake bool // what the client was given is wrong, rather than something at the server
}

func (r *Refusal) Unwrap() error { return r.error }

// Refused returns a Refusal with this text.
func Refused(mistake bool, format string, args ...any) *Refusal {
	return &Refusal{fmt.Errorf(format, args...), mistake}
}

// IsLasting reports whether an error is a Refusal or an [ErrOwnLimit], so that a client should not try again.
func IsLasting(err error) bool {
	return err != nil && (errors.As(err, new(*Refusal)) || errors.Is(err, ErrOwnLimit)) // sessions ask after each read
}

// explain returns a Refusal for the errors of TLS whose cause is known, with the command that shows it, and other errors as they are.
func (t *TLS) explain(err error) error {
	var verification *tls.CertificateVerificationError
	var remote *net.OpError
	switch {
	case errors.As(err, &verification):
		return t.explainServer(verification)
	case errors.As(err, new(tls.RecordHeaderError)):
		return Refused(true, "%s does not speak TLS: give the port for TLS (secureClientPort), or omit --tls: %w", t.address, err)
	case errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(err.Error(), "certificate"): // an alert
		return t.explainClient(err)
	}
	return err
}

func (t *TLS) explainServer(err *tls.CertificateVerificationError) error {
	var name x509.HostnameError
	leaf := err.UnverifiedCertificates[0]
	switch now := time.Now(); {
	case now.Before(leaf.NotBefore) || now.After(leaf.NotAfter):
		return Refused(false, "%s: the server's certificate is valid from %s to %s, and it is %s now: renew it, or set the clock here; "+
			"`%s | openssl x509 -noout -dates` shows both", t.address, day(leaf.NotBefore), day(leaf.NotAfter), day(now), t.openssl(""))
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return Refused(true, "%s: the server's certificate is signed by %q, which is not among the CAs of %s: give its CA by --tls-ca; "+
			"`%s` shows the chain", t.address, leaf.Issuer, cmp.Or(t.files.CA, "this system"), t.openssl(" -showcerts"))
	case errors.As(err, &name):
		return Refused(true, "%s: the server's certificate is for %s, and not for %s: give one of these as the server or by "+
			"--tls-server-name; `%s | openssl x509 -noout -ext subjectAltName` shows them",
			t.address, Hosts(leaf), name.Host, t.openssl(""))
	}
	return Refused(false, "%s: the server's certificate is not accepted: %w; `%s` shows it", t.address, err, t.openssl(""))
}

// explainClient explains the alert of a server that does not accept the client's certificate, or the lack of one.
func (t *TLS) explainClient(alert error) error {
	if t.client == nil {
		return Refused(true, "%s accepts only clients with a certificate (ssl.clientAuth): give --tls-cert and --tls-key: %w",
			t.address, alert)
	}
	return Refused(true, "%s does not accept the client certificate %s, which is signed by %q and valid from %s to %s: its CA must be in "+
		"the server's ssl.trustStore; `openssl x509 -in %[2]s -noout -issuer -dates` shows both: %[6]w",
		t.address, t.files.Cert, t.client.Issuer, day(t.client.NotBefore), day(t.client.NotAfter), alert)
}

// openssl returns the command that makes the same connection.
func (t *TLS) openssl(options string) string {
	command := "openssl s_client -connect " + t.address + options
	if name := t.config.ServerName; net.ParseIP(name) == nil {
		command += " -servername " + name
	}
	for _, file := range [][2]string{{"-CAfile", t.files.CA}, {"-cert", t.files.Cert}, {"-key", t.files.Key}} {
		if file[1] != "" {
			command += " " + file[0] + " " + file[1]
		}
	}
	return command + " </dev/null"
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Hosts returns the hosts that a certificate is for, for a message.
func Hosts(c *x509.Certificate) string {
	all := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	return cmp.Or(strings.Join(all, ", "), "no host at all")
}
