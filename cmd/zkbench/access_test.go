package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// Commands that measure or show take their servers from the environment, and say so. Flags that choose other servers come first, and
// a command that removes things takes nothing.
func TestConnectionFromTheEnvironment(t *testing.T) {
	server := must.Get(embedded.Listen(embedded.Config{}))(t)
	t.Cleanup(func() { must.Do(t, server.Close()) })
	t.Setenv("ZKBENCH_SERVERS", server.Addr())
	t.Setenv("ZKBENCH_TLS_CA", "/nowhere/ca.pem")
	const taken, notTaken = "taken from the environment: ZKBENCH_SERVERS, ZKBENCH_TLS_CA; servers: ", "not taken from the environment, because of "
	for _, tt := range []struct {
		args []string
		code int
		said string // empty if nothing is said about the environment
	}{
		{[]string{"ensemble", "status"}, outcome.CodeUsage, taken + server.Addr()}, // the CA's file is missing
		{[]string{"ensemble", "status", "--tls=false"}, outcome.CodePass, taken + server.Addr()},
		{[]string{"ensemble", "status", "--servers", server.Addr(), "--tls=false"}, outcome.CodePass, notTaken + "--servers: ZKBENCH_TLS_CA"},
		{[]string{"ensemble", "status", "--name", "access-none"}, outcome.CodeFailed, notTaken + "--name: ZKBENCH_SERVERS, ZKBENCH_TLS_CA"},
		{[]string{"run", "lock-drain", "--dry-run", "--tls=false"}, outcome.CodePass, taken + server.Addr()},
		{[]string{"run", "lock-drain", "--dry-run", "--ensemble", "embedded"}, outcome.CodePass, notTaken + "--ensemble"},
		{[]string{"run", "lock-drain", "--dry-run", "--ensemble", "embedded", "--voters", "3"}, outcome.CodePass, notTaken + "--ensemble and --voters"},
		{[]string{"clean"}, outcome.CodeUsage, ""},
		{[]string{"clean", "--servers", server.Addr(), "--dry-run"}, outcome.CodePass, ""},
		{[]string{"gate", "--self-test"}, outcome.CodePass, ""},
		{[]string{"list", "scenarios"}, outcome.CodePass, ""},
	} {
		_, stderr, code := command(t.Context(), tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.said) || tt.said == "" && strings.Contains(stderr, "environment") {
			t.Errorf("%v: exit code %d, want %d; said %q, want %q", tt.args, code, tt.code, stderr, tt.said)
		}
	}
	t.Setenv("ZKBENCH_TLS", "perhaps")
	says(t, outcome.CodeUsage, "ZKBENCH_TLS=perhaps: ", "ensemble", "status")
}

// Flags that make no sense together, or without servers, are mistakes.
func TestAccessFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--tls-ca: give --servers, too":         {"run", "lock-drain", "--tls-ca", "access_test.go"},
		"--auth: give --servers, too\n":         {"run", "lock-drain", "--tls", "--auth", "digest:bench:password"},
		"--tls-cert and --tls-key go together":  {"clean", "--servers", "127.0.0.1:1", "--tls-cert", "a.pem"},
		"holds no certificate in PEM":           {"clean", "--servers", "127.0.0.1:1", "--tls-ca", "access_test.go"},
		"want digest:FILE, where the file has":  {"ensemble", "status", "--servers", "127.0.0.1:1", "--auth", "bench:password"},
		"zkbench has no sasl: only the scheme ": {"ensemble", "status", "--servers", "127.0.0.1:1", "--auth", "sasl:x"},
	} {
		says(t, outcome.CodeUsage, want, args...)
	}
}

// The flags for another zkbench are those that were given or taken from the environment, also if they switch something off.
func TestAccessArguments(t *testing.T) {
	var f accessFlags
	cmd := &cobra.Command{}
	f.bind(cmd)
	must.Do(t, cmd.ParseFlags([]string{"--tls=false", "--tls-ca", "ca.pem", "--auth="}))
	if got, want := accessArguments(cmd), []string{"--tls=false", "--tls-ca=ca.pem", "--auth="}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
