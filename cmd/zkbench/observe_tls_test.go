package main

import (
	"crypto/x509"
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
)

// serverWithTLS starts an embedded server with TLS, and returns its address.
func serverWithTLS(t *testing.T, files dial.Files) string {
	t.Helper()
	return ensembletest.Embedded(t, embedded.Config{TLS: ensembletest.ServerTLS(t, files)}).Addr()
}

// With TLS to the servers, an application without TLS and one with it are observed like any other. The flags may come from the
// environment.
func TestObserveWithTLS(t *testing.T) {
	server, client := ensembletest.Certificates(t, nil)
	own, app := ensembletest.Certificates(t, nil)
	app.Cert, app.Key = "", ""
	for _, tt := range []struct {
		name   string
		access ensemble.Access
		args   []string
		says   string
	}{
		{name: "plain in"},
		{"TLS in", ensemble.Access{TLS: must.Get(dial.NewTLS(app))(t)}, []string{"--tls-listen-cert", own.Cert, "--tls-listen-key", own.Key},
			"the application must connect with TLS, know the CA of " + own.Cert + ", and connect to a host of it: localhost, zoo1, zoo2, zoo3, 127.0.0.1, ::1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range map[string]string{"SERVERS": serverWithTLS(t, server), "TLS_CA": client.CA, "TLS_CERT": client.Cert, "TLS_KEY": client.Key} {
				t.Setenv("ZKBENCH_"+name, value)
			}
			stdout, stderr, code := observed(t, func(address string, _ *lockedBuffer) {
				at := tt.access.To(ensemble.Server{Addr: address}, address)
				conn := must.Get(ensemble.Connect(t.Context(), at, wire.NewLedger(time.Now()), nil))(t)
				defer conn.Close()
				must.Get(conn.Create("/seen", nil, 0, zk.WorldACL(zk.PermAll)))(t)
			}, tt.args...)
			if code != outcome.CodePass || strings.Contains(stdout, "TLS") || strings.Contains(stderr, "unknown") {
				t.Errorf("exit code %d: %s%s", code, stderr, stdout)
			}
			hasAll(t, strings.Join(strings.Fields(stdout), " "), "observed", "1 session,", "/seen create 1")
			hasAll(t, stderr, "taken from the environment: ZKBENCH_SERVERS, ZKBENCH_TLS_CA, ZKBENCH_TLS_CERT, ZKBENCH_TLS_KEY",
				"the servers see zkbench's client certificate and address, and not the application's", tt.says)
		})
	}
}

// A start fails at once with the reason if TLS reaches no server. Without --tls, TLS is forwarded, and the start says why the servers do not
// report their version.
func TestObserveWithTheWrongTLS(t *testing.T) {
	server, client := ensembletest.Certificates(t, nil)
	expired, itsClient := ensembletest.Certificates(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	addr := serverWithTLS(t, server)
	for _, tt := range []struct {
		code int
		want string
		args []string
	}{
		{outcome.CodeUsage, "accepts only clients with a certificate", []string{"--servers", addr, "--tls-ca", client.CA}},
		{outcome.CodeUsage, "does not accept the client certificate", []string{"--servers", addr, "--tls-ca", client.CA, "--tls-cert", itsClient.Cert, "--tls-key", itsClient.Key}},
		{outcome.CodeUsage, "give its CA by --tls-ca", []string{"--servers", addr, "--tls-ca", expired.CA}},
		{outcome.CodeFailed, "the server's certificate is valid from", []string{"--servers", serverWithTLS(t, expired), "--tls-ca", expired.CA}},
		{outcome.CodeUsage, "answers without TLS, and not with it", []string{"--servers", ensembletest.Embedded(t, embedded.Config{}).Addr(), "--tls"}},
		{outcome.CodeUsage, "missing [tls-listen-key]", []string{"--servers", addr, "--tls-listen-cert", server.Cert}},
		{outcome.CodeUsage, "--tls-listen-cert and --tls-listen-key want PEM files", []string{"--servers", addr, "--tls-listen-cert", client.Key, "--tls-listen-key", client.Key}},
		{outcome.CodePass, "the version of the servers is unknown: " + addr + " speaks TLS: add --tls", []string{"--servers", addr}},
	} {
		says(t, tt.code, tt.want, append([]string{"observe", "--for", "1ms"}, tt.args...)...)
	}
}
