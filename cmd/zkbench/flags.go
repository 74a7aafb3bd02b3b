package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// bindLoad declares the flags of a scenario's load, which are read once it is loaded; with series, also number and order of measurements.
func bindLoad(cmd *cobra.Command, series bool) scenarios.Overrides {
	given := scenarios.Overrides{}
	for _, field := range scenarios.FlagFields() {
		if field.Series && !series {
			continue
		}
		flag := cmd.Flags().VarPF(fieldFlag{field, given}, field.FlagName(), "", field.Help)
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	putInGroup(cmd, seriesFlags, "variants", "repeats", "seed")
	putInGroup(cmd, faultFlags, "fault", "background", "quorum-loss", "roam")
	putInGroup(cmd, loadFlags)
	return given
}

func bindTags(cmd *cobra.Command, tags *results.Tags) {
	cmd.Flags().Var(tags, "tag", "a note that results keep and reports show, such as\nbranch=main; repeatable")
}

func takeScenarios(cmd *cobra.Command, most int, groups ...string) {
	names := slices.Concat(groups, scenarios.Names())
	cmd.Args = arguments(1, most, "which scenario? such as lock-contention, queue-contention or a YAML file; `zkbench list scenarios` has all")
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveDefault)
}

type fieldFlag struct {
	field results.Field
	given scenarios.Overrides
}

// Set implements pflag.Value.
func (f fieldFlag) Set(text string) error {
	f.given[f.field.Name] = append(f.given[f.field.Name], text)
	return nil
}

// GetSlice returns the values as they were given.
func (f fieldFlag) GetSlice() []string { return f.given[f.field.Name] }

// String implements pflag.Value.
func (f fieldFlag) String() string { return strings.Join(f.given[f.field.Name], ",") }

// Type returns the name of the value in a help text.
func (f fieldFlag) Type() string {
	switch of := reflect.TypeOf(f.field.Value).Elem(); {
	case of.Kind() == reflect.Slice:
		return of.Elem().Kind().String() + "s"
	case of.Name() == "Duration":
		return "duration"
	default:
		return of.Kind().String()
	}
}

func override(s *scenarios.Scenario, given scenarios.Overrides, recipes []variants.Recipe) error {
	if err := s.Override(given); err != nil {
		return err
	}
	return checked(*s, recipes)
}

func checked(s scenarios.Scenario, recipes []variants.Recipe) error {
	flags := map[string]string{}
	for _, field := range s.Fields() {
		flags[field.Name] = field.FlagName()
	}
	return errors.Join(list.Map(s.Validate(recipes), func(p scenarios.Problem) error {
		return fmt.Errorf("%s, --%s: %s", s.Name, flags[p.Field], p.Text)
	})...)
}

type ensembleFlags struct {
	auto.Choice
	ensemble.Options
	access    accessFlags
	workers   workerFlags
	dedicated bool
}

// bind declares the flags of a command that measures. Those that were declared before are in a group.
func (f *ensembleFlags) bind(a *app, cmd *cobra.Command) {
	f.bindEngine(a, cmd, auto.Engines())
	flags := cmd.Flags()
	flags.StringVar(&f.Servers, "servers", "", "use these servers: host:port,…[/chroot]\n(or ZKBENCH_SERVERS, and so the flags below)")
	f.access.bind(cmd)
	flags.BoolVar(&f.dedicated, "dedicated", false, "nothing else uses --servers, whose counters then\nconfirm those of zkbench")
	flags.Lookup("tls").Usage = "use TLS, which the flags --tls-… imply; servers\nthat zkbench starts then speak TLS only"
	f.bindEmbedded(cmd)
	putInGroup(cmd, serverFlags)
}

func (f *ensembleFlags) bindEmbedded(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.ReadDelay, "read-delay", 0, "delay of each read, for --ensemble embedded")
	flags.DurationVar(&f.WriteDelay, "write-delay", 0, "delay of each write, for --ensemble embedded")
	flags.IntVar(&f.Voters, "voters", 1, "1|3|5 servers of --ensemble embedded")
	flags.DurationVar(&f.Lag, "lag", 0, "`time` by which followers of --ensemble embedded\napply transactions after the leader")
}

func (f *ensembleFlags) bindEngine(a *app, cmd *cobra.Command, engines []string) {
	f.bindWait(a, cmd)
	flags := cmd.Flags()
	started := list.Where(engines, func(name string) bool {
		return name != "auto" && name != string(ensemble.External) // the default, and what --servers implies
	})
	flags.StringVar(&f.Engine, "ensemble", "auto", strings.Join(started, "|"))
	flags.StringVar(&f.Image, "image", "", "container image (default: see 'ensemble image')")
	flags.StringVar(&f.Home, "zookeeper-home", "", "unpacked release for --ensemble process")
	flags.StringVar((*string)(&f.TxnLog), "txn-log", "", "where transaction logs are: disk|memory\n(default disk)")
	flags.BoolVar(&f.Digest, "digest", false, "servers that zkbench starts serve only the user\nthat it generates")
	allow(cmd, "ensemble", engines)
	allow(cmd, "txn-log", ensemble.TxnLogs())
	cmd.MarkFlagsMutuallyExclusive("image", "zookeeper-home")
	f.bindName(a, cmd)
}

// bindWait declares the flag of a command that locks the ensemble.
func (f *ensembleFlags) bindWait(a *app, cmd *cobra.Command) {
	f.Progress = a.stderr
	cmd.Flags().DurationVar(&f.Wait, "wait", 0, "`time` to wait while another zkbench uses the\nensemble (default: fail at once)")
}

// bindName also lets the command check all flags of the ensemble before it runs.
func (f *ensembleFlags) bindName(a *app, cmd *cobra.Command) {
	f.Engine = cmp.Or(f.Engine, "auto")
	cmd.Flags().StringVar(&f.Name, "name", ensemble.DefaultName, "name of the ensemble")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return usage(cmp.Or(f.takeAccess(a, cmd), f.contradiction(), ensemble.CheckName(f.Name)))
	}
}

// takeAccess completes the flags of a command that may connect to servers of others.
func (f *ensembleFlags) takeAccess(a *app, cmd *cobra.Command) (err error) {
	if cmd.Flags().Lookup("auth") == nil {
		return nil
	}
	f.AccessFlags, f.TLS = accessArguments(cmd), f.access.tls && f.Servers == ""
	switch {
	case f.Servers != "":
		f.Access, err = f.access.read(cmd, a.stderr)
	case f.access != (accessFlags{tls: f.TLS}):
		flag, _, _ := strings.Cut(f.AccessFlags[len(f.AccessFlags)-1], "=")
		err = fmt.Errorf("%s: give --servers, too", flag)
	}
	return err
}

func (f *ensembleFlags) contradiction() error {
	engine := ensemble.Engine(f.Engine)
	isOneOf := func(engines ...ensemble.Engine) bool { return f.Servers == "" && slices.Contains(engines, engine) }
	_, err := external.Parse(f.Servers)
	switch {
	case f.Servers != "" && err != nil:
		return err
	case f.Wait < 0:
		return fmt.Errorf("--wait wants 0s or more, not %s", f.Wait)
	case f.Wait > 0 && f.Servers != "":
		return errors.New("--wait goes with servers that zkbench starts: nothing locks those of --servers")
	case f.Digest && f.Servers != "":
		return errors.New("--digest goes with servers that zkbench starts: give the user of those of --servers by --auth digest:FILE")
	case isOneOf(ensemble.External):
		return errors.New("--ensemble external needs --servers host:port,…")
	case f.Servers != "" && engine != "auto" && engine != ensemble.External:
		return fmt.Errorf("--servers and --ensemble %s exclude each other", engine)
	case f.Image != "" && !isOneOf("auto", ensemble.Container):
		return fmt.Errorf("--image goes with --ensemble %s only", ensemble.Container)
	case f.Home != "" && !isOneOf("auto", ensemble.Process):
		return fmt.Errorf("--zookeeper-home goes with --ensemble %s only", ensemble.Process)
	case f.TxnLog != "" && !isOneOf("auto", ensemble.Container, ensemble.Process):
		return fmt.Errorf("--txn-log goes with --ensemble %s or %s only, whose servers zkbench starts", ensemble.Container, ensemble.Process)
	}
	return f.embeddedContradiction()
}

func (f *ensembleFlags) embeddedContradiction() error {
	switch isEmbedded := f.Engine == string(ensemble.Embedded); {
	case min(f.ReadDelay, f.WriteDelay, f.Lag) < 0 || max(f.ReadDelay, f.WriteDelay, f.Lag) > time.Minute:
		return fmt.Errorf("--read-delay, --write-delay and --lag want 0s to %s", time.Minute)
	case f.ReadDelay+f.WriteDelay > 0 && !isEmbedded:
		return errors.New("--read-delay and --write-delay go with --ensemble embedded only: real servers have real delays")
	case f.Voters > 1 && !isEmbedded:
		return errors.New("--voters goes with --ensemble embedded only")
	case !slices.Contains([]int{1, 3, 5}, f.Voters) && isEmbedded:
		return fmt.Errorf("--voters is 1, 3 or 5, not %d", f.Voters)
	case f.Lag > 0 && f.Voters < 2:
		return errors.New("--lag goes with --voters 3 or 5: a server that is alone does not lag")
	case f.ReadDelay+f.WriteDelay > 0 && f.Voters > 1:
		return errors.New("--read-delay and --write-delay keep one server busy: with --voters, use --lag")
	}
	return nil
}

func asUsage(err error) error {
	if mistake := new(external.Mistake); errors.As(err, mistake) {
		return usage(err)
	}
	return err
}

// Groups of flags in help texts.
const (
	checkFlags, pairedFlags, searchFlags, seriesFlags = "Check flags", "Pair flags", "Search flags", "Measurement flags"
	loadFlags, faultFlags, serverFlags, outputFlags   = "Load flags", "Fault and background flags", "Ensemble flags", "Output flags"
	tlsFlags, workerGroup                             = "TLS flags", "Worker flags"
	flagGroup                                         = "group" // the annotation of a flag
)

// putInGroup puts the named flags into a group of the help text; without names, all flags that are in none.
func putInGroup(cmd *cobra.Command, group string, names ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) || len(names) == 0 && f.Annotations[flagGroup] == nil {
			_ = cmd.Flags().SetAnnotation(f.Name, flagGroup, []string{group}) // the flag exists
		}
	})
}

// groupedFlags returns the flags of a command for its help text.
func groupedFlags(cmd *cobra.Command) string {
	var text strings.Builder
	for _, group := range []string{
		checkFlags, pairedFlags, searchFlags, seriesFlags, loadFlags, faultFlags, serverFlags, workerGroup, outputFlags, "", tlsFlags,
	} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Join(f.Annotations[flagGroup], "") == group {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			fmt.Fprintf(&text, "%s:\n%s\n", cmp.Or(group, "Flags"), set.FlagUsages())
		}
	}
	return strings.TrimSpace(text.String())
}

// flagError adds a similar flag to the error about an unknown one, and says in plain words which value a flag does not take.
func flagError(cmd *cobra.Command, err error) error {
	unknown, value := new(pflag.NotExistError), new(pflag.InvalidValueError)
	switch {
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if similar := strict.Similar(unknown.GetSpecifiedName(), names); similar != "" {
			return fmt.Errorf("%w%s", err, strings.Replace(similar, `"`, `"--`, 1))
		}
		return fmt.Errorf("%w; `%s --help` lists all", err, cmd.CommandPath())
	case errors.As(err, &value):
		return fmt.Errorf("--%s cannot be %q: %w", value.GetFlag().Name, value.GetValue(), value.Unwrap())
	}
	return err
}

// addGroup adds commands under a title of the help text.
func (a *app) addGroup(root *cobra.Command, title string, commands ...func(*app) *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		cmd := command(a)
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}
