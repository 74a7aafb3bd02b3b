package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
)

// accessFlags are how to get access to the servers of --servers.
type accessFlags struct {
	tls   bool
	files dial.Files
	auth  string
}

// connectionFlags returns those that a command may take from the environment: --tls-ca from ZKBENCH_TLS_CA, and so on.
func connectionFlags() []string {
	return []string{"servers", "tls", "tls-ca", "tls-cert", "tls-key", "tls-server-name", "auth"}
}

func variableOf(flag string) string {
	return "ZKBENCH_" + strings.ReplaceAll(strings.ToUpper(flag), "-", "_")
}

func (f *accessFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.auth, "auth", "", "digest:FILE, where the file has one line,\nuser:password")
	flags.BoolVar(&f.tls, "tls", false, "connect with TLS; the flags --tls-… imply it")
	flags.StringVar(&f.files.CA, "tls-ca", "", "PEM `file` of the CAs that sign the servers'\ncertificates (default this system's)")
	flags.StringVar(&f.files.Cert, "tls-cert", "", "PEM `file` of a client certificate")
	flags.StringVar(&f.files.Key, "tls-key", "", "PEM `file` of its key, not encrypted")
	flags.StringVar(&f.files.ServerName, "tls-server-name", "", "`host` in the servers' certificates\n(default the one of --servers)")
}

// takeEnvironment sets the connection flags that were not given to their variables, and says so. Flags that choose servers come before the
// environment, so that no variable leads a command to other servers, and no credentials to servers that they are not for. A gate of
// results connects to none, and a command that removes things takes them from its flags alone.
func takeEnvironment(cmd *cobra.Command, w io.Writer) error {
	run, servers := cmd.Flags().Lookup("run"), cmd.Flags().Lookup("servers")
	none := servers == nil || !servers.Changed && os.Getenv(variableOf(servers.Name)) == ""
	if none || run != nil && !run.Changed || cmd.Name() == "clean" {
		return nil
	}
	own := given(cmd, func(f *pflag.Flag) bool {
		return f == servers || slices.Contains(f.Annotations[flagGroup], serverFlags) && !slices.Contains(connectionFlags(), f.Name)
	})
	var taken []string
	for _, name := range connectionFlags() {
		flag, value := cmd.Flags().Lookup(name), os.Getenv(variableOf(name))
		if flag == nil || flag.Changed || value == "" {
			continue
		}
		taken = append(taken, variableOf(name))
		if len(own) > 0 {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return fmt.Errorf("%s=%s: %w", variableOf(name), value, err)
		}
	}
	switch {
	case len(taken) == 0:
	case len(own) > 0:
		fmt.Fprintf(w, "not taken from the environment, because of %s: %s\n", strings.Join(own, " and "), strings.Join(taken, ", "))
	default:
		fmt.Fprintf(w, "taken from the environment: %s; servers: %s\n", strings.Join(taken, ", "), servers.Value)
	}
	return nil
}

// read returns the access that the flags describe, and writes a warning about files that others may read.
func (f *accessFlags) read(cmd *cobra.Command, w io.Writer) (access ensemble.Access, err error) {
	if (f.files.Cert == "") != (f.files.Key == "") {
		return access, errors.New("--tls-cert and --tls-key go together: a client certificate and its key")
	}
	if f.tls || f.files != (dial.Files{}) && !cmd.Flags().Changed("tls") { // --tls=false switches TLS off if the environment has files
		if access.TLS, err = dial.NewTLS(f.files); err != nil {
			return access, err
		}
	}
	if f.auth == "" {
		return access, nil
	}
	var warning string
	if access.Auth, warning, err = ensemble.ReadCredentials(f.auth); err != nil {
		return access, fmt.Errorf("--auth: %w", err)
	}
	if warning != "" {
		fmt.Fprintln(w, warning)
	}
	return access, nil
}

// accessArguments returns the flags by which another zkbench, with the same environment, gets the same access.
func accessArguments(cmd *cobra.Command) (out []string) {
	for _, name := range connectionFlags()[1:] { // without --servers
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			out = append(out, "--"+name+"="+flag.Value.String())
		}
	}
	return out
}
