package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/remote"
)

// tokenVariable is the environment variable with the token of a run, which is on no command line.
const tokenVariable = "ZKBENCH_TOKEN"

func workerCommand(a *app) *cobra.Command {
	var join, tokenFile, zone string
	var access accessFlags
	cmd := &cobra.Command{
		Use: "worker --join HOST:PORT", Short: "Be one of the workers of a distributed run",
		Long: `Have a part of the clients of a run that another zkbench controls, with
'zkbench run --workers': see docs/distributed.md. The run prints the address.

The token of the run comes from ` + tokenVariable + `, or from a file. A worker of
another build, of an earlier run, or one that is late is refused. It ends with
its run, and then no session of it is left.

Credentials for the servers come from this machine: the flags below name files
here, and the run sends none.

Exit codes: 0 the run has ended; 1 the connection was lost, or a failure;
2 usage; 130 interrupted.`,
		Example: `  ` + tokenVariable + `=… zkbench worker --join 10.0.0.5:7700
  zkbench worker --join 10.0.0.5:7700 --token-file /etc/zkbench/token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd, access, tokenFile, join, zone) },
	}
	flags := cmd.Flags()
	flags.StringVar(&join, "join", "", "`host:port` of the run")
	flags.StringVar(&tokenFile, "token-file", "",
		"`file` with the token, or - for the first line of\nthe standard input, whose end ends the worker")
	flags.StringVar(&zone, "zone", "", "a name for where this machine is")
	access.bind(cmd)
	_ = cmd.MarkFlagRequired("join")
	return cmd
}

func readToken(in *bufio.Reader, file string) (token string, err error) {
	switch file {
	case "":
		token = os.Getenv(tokenVariable)
	case "-":
		token, _ = in.ReadString('\n') // the token is checked
	default:
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = string(data)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", fmt.Errorf("which token? Give %s or --token-file", tokenVariable)
	}
	return token, nil
}

// leaveTimeout is how long a worker whose controller is gone may take to close its sessions.
const leaveTimeout = 5 * time.Second

func (a *app) work(cmd *cobra.Command, f accessFlags, tokenFile, join, zone string) error {
	in, token := bufio.NewReader(cmd.InOrStdin()), ""
	access, err := f.read(cmd, a.stderr)
	if err == nil {
		token, err = readToken(in, tokenFile)
	}
	if err != nil {
		return usage(err)
	}
	ctx, end := context.WithCancelCause(cmd.Context())
	defer end(nil)
	if tokenFile == "-" {
		go func() {
			_, _ = io.Copy(io.Discard, in)
			end(errors.New("the standard input has ended"))
		}()
	}
	self := remote.Self(zone)
	w := block.NewWorker(a.recipes(), self.Epoch(), func(s ensemble.Server) ensemble.Server {
		name := s.Addr
		if _, _, err := net.SplitHostPort(s.Name); err == nil { // as in --servers, which a certificate has
			name = s.Name
		}
		return access.To(s, name)
	})
	err = remote.Join(ctx, join, token, self, block.Known(), w.Handle)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	return errors.Join(err, w.Leave(ctx))
}
