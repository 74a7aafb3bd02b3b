package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/external"
)

// ensembleFlags are the flags that choose an ensemble.
type ensembleFlags struct {
	engines []string // possible values of engine
	engine  string
	servers string
	name    string
	image   string
	home    string
	txnLog  string
	ports   []string

	readDelay, writeDelay time.Duration
	voters                int
	lag                   time.Duration
}

// bind declares the flags that choose the ensemble of a run.
func (f *ensembleFlags) bind(cmd *cobra.Command) {
	f.bindEngine(cmd, auto.Engines())
	flags := cmd.Flags()
	flags.StringVar(&f.servers, "servers", "", "use these servers: host:port,…[/chroot]")
	flags.DurationVar(&f.readDelay, "read-delay", 0, "delay of each read, for --ensemble embedded")
	flags.DurationVar(&f.writeDelay, "write-delay", 0, "delay of each write, for --ensemble embedded")
	flags.IntVar(&f.voters, "voters", 1, "1|3|5 servers of --ensemble embedded")
	flags.DurationVar(&f.lag, "lag", 0, "`time` by which followers of --ensemble embedded\napply transactions after the leader")
}

// bindEngine declares the flags that choose the servers to start.
func (f *ensembleFlags) bindEngine(cmd *cobra.Command, engines []string) {
	f.engines = engines
	flags := cmd.Flags()
	started := slices.DeleteFunc(slices.Clone(engines), func(name string) bool {
		return name == "auto" || name == string(ensemble.External) // the default, and what --servers implies
	})
	flags.StringVar(&f.engine, "ensemble", "auto", strings.Join(started, "|"))
	flags.StringVar(&f.image, "image", "", "container image (default: see 'ensemble image')")
	flags.StringVar(&f.home, "zookeeper-home", "", "unpacked release for --ensemble process")
	flags.StringVar(&f.txnLog, "txn-log", "", "where transaction logs are: disk|memory\n(default disk)")
	f.bindName(cmd)
}

func (f *ensembleFlags) bindName(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", ensemble.DefaultName, "name of the ensemble")
}

func (f *ensembleFlags) check() error {
	errs := []error{oneOf("--ensemble", f.engine, f.engines), usage(f.contradiction()), usage(ensemble.CheckName(f.name))}
	if f.txnLog != "" {
		errs = append(errs, oneOf("--txn-log", f.txnLog, texts(ensemble.TxnLogs())))
	}
	return cmp.Or(errs...) // the first one
}

// contradiction returns an error if the flags contradict each other.
func (f *ensembleFlags) contradiction() error {
	engine := ensemble.Engine(f.engine)
	isOneOf := func(engines ...ensemble.Engine) bool { return f.servers == "" && slices.Contains(engines, engine) }
	if f.servers != "" {
		if _, err := external.Parse(f.servers); err != nil {
			return err
		}
	}
	switch {
	case isOneOf(ensemble.External):
		return errors.New("--ensemble external needs --servers host:port,…")
	case f.servers != "" && engine != "auto" && engine != ensemble.External:
		return fmt.Errorf("--servers and --ensemble %s exclude each other", engine)
	case f.image != "" && f.home != "":
		return errors.New("--image and --zookeeper-home exclude each other")
	case f.image != "" && !isOneOf("auto", ensemble.Container):
		return fmt.Errorf("--image goes with --ensemble %s only", ensemble.Container)
	case f.home != "" && !isOneOf("auto", ensemble.Process):
		return fmt.Errorf("--zookeeper-home goes with --ensemble %s only", ensemble.Process)
	case f.txnLog != "" && !isOneOf("auto", ensemble.Container, ensemble.Process):
		return fmt.Errorf("--txn-log goes with --ensemble %s or %s only, whose servers zkbench starts", ensemble.Container, ensemble.Process)
	}
	return f.embeddedContradiction()
}

// embeddedContradiction returns an error if the flags of the embedded engine contradict each other, or belong to another.
func (f *ensembleFlags) embeddedContradiction() error {
	switch isEmbedded := f.engine == string(ensemble.Embedded); {
	case f.readDelay < 0 || f.writeDelay < 0 || f.lag < 0:
		return errors.New("--read-delay, --write-delay and --lag cannot be negative")
	case f.readDelay+f.writeDelay > 0 && !isEmbedded:
		return errors.New("--read-delay and --write-delay go with --ensemble embedded only: real servers have real delays")
	case f.voters > 1 && !isEmbedded:
		return errors.New("--voters goes with --ensemble embedded only")
	case !slices.Contains([]int{1, 3, 5}, f.voters) && isEmbedded:
		return fmt.Errorf("--voters is 1, 3 or 5, not %d", f.voters)
	case f.lag > 0 && f.voters < 2:
		return errors.New("--lag goes with --voters 3 or 5: a server that is alone does not lag")
	case f.readDelay+f.writeDelay > 0 && f.voters > 1:
		return errors.New("--read-delay and --write-delay keep one server busy: with --voters, use --lag")
	}
	return nil
}

func (f *ensembleFlags) choice() auto.Choice {
	return auto.Choice{Engine: f.engine, Servers: f.servers}
}

func (f *ensembleFlags) options(progress io.Writer) ensemble.Options {
	return ensemble.Options{
		Name: f.name, Image: f.image, Home: f.home, TxnLog: ensemble.TxnLog(f.txnLog), Progress: progress,
		ReadDelay: f.readDelay, WriteDelay: f.writeDelay, Voters: f.voters, Lag: f.lag,
	}
}

// asUsage turns an [external.Mistake] into a usage error.
func asUsage(err error) error {
	if mistake := new(external.Mistake); errors.As(err, mistake) {
		return usage(err)
	}
	return err
}
