package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/observe"
)

type observeFlags struct {
	servers, json, out, name string

	listen []string
	tags   results.Tags
	length time.Duration

	tls                   accessFlags
	access                ensemble.Access
	listenCert, listenKey string
	toClients             *tls.Config // nil without TLS
}

func observeCommand(a *app) *cobra.Command {
	var f observeFlags
	cmd := &cobra.Command{
		Use: "observe --servers host:port,…[/chroot]", Short: "Show what an application does to its ensemble",
		Long: `Listen in front of an ensemble, forward everything unchanged, and show what
the clients that connect cause: herds with the transaction behind them,
notifications that led to nothing, failed writes, watched paths, and clients
that wait for a notification that cannot come. The clients may use any library.

Point the application at the addresses that the command prints. It observes
until Ctrl-C or the end of --for, then prints its report and cuts the
connections: end the application before that, or give it the servers' own
addresses, too.

The report is of the time from the last request for ` + observe.BeginMark + `, such as
exists, to the next one for ` + observe.EndMark + `, or from SIGUSR1 to SIGUSR2, if there
are such marks. These znodes need not exist.

--out keeps a document that plot, report, compare and gate read. Its operations
are successful writes, and its clients the most sessions at a time.

The TLS of an application is forwarded, and what is in it cannot be counted.
With --tls, zkbench speaks TLS to the servers, and the application connects
without. With --tls-listen-cert and --tls-listen-key, the application connects
with TLS, to a host of this certificate. The servers then see the client
certificate and the address of zkbench, and not the application's, so that ACLs
of the schemes x509 and ip are checked for zkbench. See docs/observe.md.

Exit codes: 0 observed; 1 could not run; 2 usage; 5 there is no document for
--out, as no write succeeded; 130 --for was interrupted.`,
		Example: `  zkbench observe --servers zk1:2181,zk2:2181,zk3:2181
  zkbench observe --servers zk1:2181 --listen 127.0.0.1:2182 --for 30s
  zkbench observe --servers zk1:2181 --for 1m --out results/observed/nightly
  zkbench observe --servers zk1:2281 --tls --tls-ca ca.pem`,
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return usage(f.readTLS(cmd, a.stderr)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.observe(cmd.Context(), f, cmd.Flags().Changed("for"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.servers, "servers", "", "host:port,host:port,…[/chroot]")
	flags.StringSliceVar(&f.listen, "listen", nil, "a port or host:port for each server\n(default free ports of 127.0.0.1)")
	flags.DurationVar(&f.length, "for", 0, "observe for this long (default until Ctrl-C)")
	flags.StringVar(&f.json, "json", "", "`file` for the report as JSON")
	flags.StringVar(&f.out, "out", "", "folder for a document that plot and gate read")
	flags.StringVar(&f.name, "name", "application", "name of the application in\nthe results of --out")
	bindTags(cmd, &f.tags)
	_ = cmd.MarkFlagRequired("servers")
	f.tls.bind(cmd)
	flags.Lookup("auth").Usage = "not used: the credentials of the application pass"
	flags.Lookup("tls").Usage = "connect to the servers with TLS, which --tls-ca,\n--tls-cert, --tls-key and --tls-server-name imply"
	flags.StringVar(&f.listenCert, "tls-listen-cert", "",
		"PEM `file` of a certificate with which zkbench's\naddresses speak TLS (default without TLS)")
	flags.StringVar(&f.listenKey, "tls-listen-key", "", "PEM `file` of its key, not encrypted")
	cmd.MarkFlagsRequiredTogether("tls-listen-cert", "tls-listen-key")
	putInGroup(cmd, tlsFlags, append([]string{"tls-listen-cert", "tls-listen-key"}, connectionFlags()[1:]...)...)
	return cmd
}

// readTLS completes the flags of TLS from the environment, and reads their files.
func (f *observeFlags) readTLS(cmd *cobra.Command, w io.Writer) (err error) {
	f.access, err = f.tls.read(cmd, w)
	f.access.Auth = nil // zkbench has no session of its own here
	if err != nil || f.listenCert == "" || f.listenKey == "" {
		return err // one without the other is refused later
	}
	pair, err := tls.LoadX509KeyPair(f.listenCert, f.listenKey)
	if err != nil {
		return fmt.Errorf("--tls-listen-cert and --tls-listen-key want PEM files, and a key that is not encrypted: %w", err)
	}
	f.toClients = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return nil
}

func (f *observeFlags) check(bounded bool) (external.Target, error) {
	target, err := external.Parse(f.servers)
	switch n := len(f.listen); {
	case err != nil:
		return target, usage(err)
	case bounded && f.length <= 0:
		return target, usage(fmt.Errorf("--for wants a time above zero, not %s", f.length))
	case !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`).MatchString(f.name): // it becomes part of a file's name
		return target, usage(fmt.Errorf("--name wants letters, digits, dots and dashes, not %q", f.name))
	case len(f.tags) > 0 && f.out == "":
		return target, usage(errors.New("--tag goes with --out, whose document keeps it"))
	case n > 0 && n != len(target.Addresses):
		return target, usage(fmt.Errorf("--listen has %d, --servers %d: give one for each server", n, len(target.Addresses)))
	}
	for i, text := range f.listen {
		if f.listen[i], err = listenAddress("listen", text); err != nil {
			return target, err
		}
	}
	if err := checkFile("json", f.json); err != nil || f.out == "" {
		return target, err
	}
	return target, checkOut(f.out)
}

// listenAddress returns the address of a flag to listen on: on loopback unless a host is given.
func listenAddress(flag, text string) (string, error) {
	addr := strings.TrimSpace(text)
	if _, err := strconv.Atoi(addr); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		return "", usage(fmt.Errorf("--%s %s: wants a port such as 9464, or host:port", flag, text))
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

type observation struct {
	observer    *observe.Observer
	proxy       *proxy.Proxy
	started     time.Time
	environment results.Environment
}

// observe runs the command. Without a limit, an interrupt is the end that the user wants.
func (a *app) observe(ctx context.Context, f observeFlags, bounded bool) error {
	target, err := f.check(bounded)
	if err != nil {
		return err
	}
	marks := make(chan os.Signal, 16) // room for marks that wait to be handled
	notifyMarks(marks)
	defer signal.Stop(marks)
	o, err := a.startObserving(ctx, f, target)
	if err != nil {
		return err
	}
	a.started.ending.Store("stopping: the report follows")
	interrupted := a.watch(ctx, o, f, marks)
	err = a.finishObserving(o, f)
	if interrupted && bounded {
		err = errors.Join(err, errInterrupted)
	}
	return err
}

func (a *app) startObserving(ctx context.Context, f observeFlags, target external.Target) (*observation, error) {
	o := &observation{started: time.Now()}
	found, silent, err := describeTarget(ctx, target.Servers(f.access))
	if err != nil {
		return nil, asUsage(fmt.Errorf("--servers %s: %w", f.servers, err))
	}
	if silent != nil {
		fmt.Fprintf(a.stderr, "the version of the servers is unknown: %v\n", silent)
	}
	o.environment = scenarios.EnvironmentOf(machine.Describe(versionText()), found)
	o.environment.Servers, o.environment.Chroot = target.Addresses, target.Chroot
	o.observer = observe.New(o.started, o.environment)
	config := proxy.Config{Servers: target.Addresses, Listen: f.listen, Epoch: o.started, Observer: o.observer}
	config.ToServers, config.ToClients = f.access.TLS, f.toClients
	if config.Most, config.Full = room(machine.FileLimit(), len(config.Servers)); config.Most < fewClients {
		fmt.Fprintln(a.stderr, config.Full)
	}
	o.proxy, err = proxy.Start(ctx, config)
	if err != nil {
		return nil, usage(fmt.Errorf("--listen: %w", err))
	}
	for _, addr := range o.proxy.Addresses() {
		if host, _, _ := net.SplitHostPort(addr); !net.ParseIP(host).IsLoopback() {
			fmt.Fprintf(a.stderr, "warning: %s is not on loopback: any program that reaches it can use the servers\n", addr)
		}
	}
	a.printTLS(f)
	fmt.Fprintf(a.stderr, "point the application at %s%s\n", strings.Join(o.proxy.Addresses(), ","), target.Chroot)
	return o, nil
}

const fewClients = 1000 // below which the start says how many fit

// room returns how many clients fit into the files that this process may open, and the error for further ones.
func room(limit uint64, servers int) (clients int64, full error) {
	const spare = 10                 // to look names up, to ask servers, and for the report
	used, _ := os.ReadDir("/dev/fd") // empty on a system without it
	clients = max(int64(min(limit, math.MaxInt32))-int64(len(used)+servers+spare), 2) / 2
	return clients, fmt.Errorf("zkbench may open %d files, and %d clients fit, with two files each: %w", limit, clients, dial.ErrOwnLimit)
}

// describeTarget returns what a server reports of itself. If none does, silent is the reason of the first one that accepts connections.
// It fails if no server can be reached.
func describeTarget(ctx context.Context, servers []ensemble.Server) (found ensemble.Description, silent, err error) {
	for _, server := range servers {
		described, why := external.Describe(ctx, server)
		if why == nil {
			return described, nil, nil
		}
		dialing, cancel := context.WithTimeout(ctx, ensemble.SessionTimeout)
		if conn, err := server.Dial(dialing); err == nil {
			conn.Close()
			if !dial.IsLasting(why) { // with TLS 1.3, a server refuses a certificate after the handshake
				silent = cmp.Or(silent, why)
			}
		}
		cancel()
		err = errors.Join(err, why)
	}
	if silent == nil {
		return found, nil, fmt.Errorf("no server can be reached: %w", err)
	}
	return ensemble.Description{Engine: ensemble.External, Product: ensemble.ZooKeeper}, silent, nil
}

// printTLS says how the application connects, and what the servers do not see of it.
func (a *app) printTLS(f observeFlags) {
	if f.toClients != nil {
		fmt.Fprintf(a.stderr, "the application must connect with TLS, know the CA of %s, and connect to a host of it: %s\n",
			f.listenCert, dial.Hosts(f.toClients.Certificates[0].Leaf))
	}
	if f.access.TLS != nil {
		fmt.Fprintln(a.stderr, "the servers see zkbench's client certificate and address, and not the application's: "+
			"ACLs of the schemes x509 and ip are checked for zkbench")
	}
}

// watch shows the observed traffic until --for has passed or the context ends. It reports whether the context ended it.
func (a *app) watch(ctx context.Context, o *observation, f observeFlags, marks <-chan os.Signal) (interrupted bool) {
	var limit <-chan time.Time
	if f.length > 0 {
		limit = time.After(f.length)
	}
	ticks := time.Tick(time.Second)
	told := map[string]bool{"": true} // limits that were reached
	view := observe.NewView(a.stderr)
	defer view.Close()
	for {
		select {
		case <-ctx.Done():
			return true
		case <-limit:
			return false
		case mark := <-marks:
			if begins(mark) {
				o.observer.Begin()
				fmt.Fprintln(a.stderr, "begin: the report is of the time from now on")
			} else {
				o.observer.End()
				fmt.Fprintln(a.stderr, "end: the report is of the time until now")
			}
		case <-ticks:
			if limit := o.proxy.Stats().Limit; !told[limit] {
				told[limit] = true
				fmt.Fprintf(a.stderr, "a client is reset, and may try again: %s\n", limit)
			}
			view.Show(o.observer.Report())
		}
	}
}

func (a *app) finishObserving(o *observation, f observeFlags) (err error) {
	o.observer.End() // unless a mark has, so that the latest herds are in the report
	report, connections := o.observer.Report(), o.proxy.Stats()
	report.AddWatches(o.proxy.Watches())
	o.proxy.Close() // before files are written, for which there may be none left
	if f.out != "" {
		err = a.saveDocument(o, f)
	}
	fmt.Fprint(a.stdout, report.Text(connections, a.width()))
	if f.json != "" {
		err = errors.Join(err, store.WriteJSON(f.json, struct {
			observe.Report
			Connections proxy.Stats `json:"connections"`
		}{report, connections}))
	}
	return err
}

func (a *app) saveDocument(o *observation, f observeFlags) error {
	d, err := o.observer.Document(filepath.Base(f.out), f.name, o.started, o.environment)
	if errors.Is(err, observe.ErrNothing) {
		return outcome.With(outcome.CodeInvalid, fmt.Errorf("--out %s has no document: %w", f.out, err))
	}
	if err != nil {
		return err
	}
	d.Tags = f.tags
	if err = store.Write(d, f.out); err == nil {
		fmt.Fprintf(a.stderr, "results in %s; `zkbench report %s` shows them\n", f.out, f.out)
	}
	return err
}
