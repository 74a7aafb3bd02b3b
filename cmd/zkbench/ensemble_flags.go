package main

import (
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

// ensembleFlags say which ensemble a command is about.
type ensembleFlags struct {
	engines []string // what engine may be
	engine  string
	servers string
	name    string
	image   string
	home    string
	txnLog  string
	ports   []string

	readDelay, writeDelay time.Duration
}

// bind declares the flags that choose an ensemble to run on.
func (f *ensembleFlags) bind(cmd *cobra.Command) {
	f.bindEngine(cmd, auto.Engines())
	flags := cmd.Flags()
	flags.StringVar(&f.servers, "servers", "", "measure these instead: host:port,…[/chroot]")
	flags.DurationVar(&f.readDelay, "read-delay", 0, "time per read, for --ensemble embedded")
	flags.DurationVar(&f.writeDelay, "write-delay", 0, "time per write, for --ensemble embedded")
}

// bindEngine declares the flags that say what to start.
func (f *ensembleFlags) bindEngine(cmd *cobra.Command, engines []string) {
	f.engines = engines
	flags := cmd.Flags()
	started := slices.DeleteFunc(slices.Clone(engines), func(name string) bool {
		return name == "auto" || name == string(ensemble.External) // the default, and what --servers implies
	})
	flags.StringVar(&f.engine, "ensemble", "auto", strings.Join(started, "|"))
	flags.StringVar(&f.image, "image", "", "container image (default: see 'ensemble image')")
	flags.StringVar(&f.home, "zookeeper-home", "", "unpacked release for --ensemble process")
	flags.StringVar(&f.txnLog, "txn-log", "", "transaction logs: disk|memory (default disk)")
	f.bindName(cmd)
}

func (f *ensembleFlags) bindName(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", ensemble.DefaultName, "name of the ensemble")
}

func (f *ensembleFlags) check() error {
	if err := oneOf("--ensemble", f.engine, f.engines); err != nil {
		return err
	}
	if f.servers == "" && f.engine == string(ensemble.External) {
		return usage(errors.New("--ensemble external needs --servers host:port,…"))
	}
	if f.servers != "" {
		if f.engine != "auto" && f.engine != string(ensemble.External) {
			return usage(fmt.Errorf("--servers and --ensemble %s exclude each other", f.engine))
		}
		if _, err := external.Parse(f.servers); err != nil {
			return usage(err)
		}
	}
	if f.image != "" && f.home != "" {
		return usage(errors.New("--image and --zookeeper-home exclude each other"))
	}
	for _, flag := range []struct{ name, value, only string }{
		{"--image", f.image, string(ensemble.Container)}, {"--zookeeper-home", f.home, string(ensemble.Process)},
	} {
		if flag.value != "" && (f.servers != "" || f.engine != "auto" && f.engine != flag.only) {
			return usage(fmt.Errorf("%s goes with --ensemble %s only", flag.name, flag.only))
		}
	}
	if err := f.checkTxnLog(); err != nil {
		return err
	}
	if f.readDelay < 0 || f.writeDelay < 0 {
		return usage(errors.New("--read-delay and --write-delay cannot be negative"))
	}
	if f.readDelay+f.writeDelay > 0 && f.engine != string(ensemble.Embedded) {
		return usage(errors.New("--read-delay and --write-delay go with --ensemble embedded only: real servers have delays of their own"))
	}
	return usage(ensemble.CheckName(f.name))
}

// checkTxnLog refuses to say where servers keep their logs that are not started, or have none.
func (f *ensembleFlags) checkTxnLog() error {
	if f.txnLog == "" {
		return nil
	}
	var places []string
	for _, place := range ensemble.TxnLogs() {
		places = append(places, string(place))
	}
	if f.servers != "" || !slices.Contains([]string{"auto", string(ensemble.Container), string(ensemble.Process)}, f.engine) {
		return usage(fmt.Errorf("--txn-log goes with --ensemble %s or %s only, whose servers zkbench starts", ensemble.Container, ensemble.Process))
	}
	return oneOf("--txn-log", f.txnLog, places)
}

func (f *ensembleFlags) choice() auto.Choice {
	return auto.Choice{Engine: f.engine, Servers: f.servers}
}

func (f *ensembleFlags) options(progress io.Writer) ensemble.Options {
	return ensemble.Options{
		Name: f.name, Image: f.image, Home: f.home, TxnLog: ensemble.TxnLog(f.txnLog), Progress: progress,
		ReadDelay: f.readDelay, WriteDelay: f.writeDelay,
	}
}

// blame turns an external.Mistake into a usage error.
func blame(err error) error {
	if mistake := new(external.Mistake); errors.As(err, mistake) {
		return usage(err)
	}
	return err
}
