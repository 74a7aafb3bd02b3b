package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/runner"
)

var live ensembletest.Shared

// asBinary is an environment variable that makes the test binary behave as zkbench, for commands that start zkbench.
const asBinary = "ZKBENCH_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		main()
	}
	if name := os.Getenv(asVandal); name != "" {
		os.Exit(vandal(name))
	}
	addTemplates()
	for _, flag := range connectionFlags() {
		_ = os.Unsetenv(variableOf(flag)) // the tests must not reach other people's servers
	}
	_ = os.Setenv("COLUMNS", "120") // so that most texts that tests look for are in one line
	os.Exit(live.Main(m))
}

// command runs one command line and returns what it printed and its exit code.
func command(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	code = run(ctx, app{stdout: &out, stderr: &err, args: args, started: &started{}, everyLibrary: true})
	return out.String(), err.String(), code
}

// prints runs a command line that must end with a code and print a text. It returns standard output.
func prints(t *testing.T, code int, want string, args ...string) (stdout string) {
	t.Helper()
	stdout, stderr, got := command(t.Context(), args...)
	if got != code || !strings.Contains(stdout, want) {
		t.Errorf("%v: exit code %d, want %d; said %q, printed\n%s\nwant %q in it", args, got, code, stderr, stdout, want)
	}
	return stdout
}

// says runs a command line that must end with a code and print a text to standard error.
func says(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if _, stderr, got := command(t.Context(), args...); got != code || !strings.Contains(stderr, want) {
		t.Errorf("%v: exit code %d, want %d; said %q, want %q in it", args, got, code, stderr, want)
	}
}

func hasAll(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is missing in\n%s", text, said)
		}
	}
}

// inMemory runs one command line, which measures on a server in memory in virtual time. Its goroutines end before it returns.
func inMemory(t *testing.T, config embedded.Config, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	ensembletest.Bubble(t, config, func(t *testing.T, e *embedded.Ensemble) {
		code = run(t.Context(), app{stdout: &out, stderr: &err, args: append(args, "--ensemble", "embedded"), started: &started{}, servers: e})
	})
	return out.String(), err.String(), code
}

// outsideCI clears the variables of CI, where the newest run is refused.
func outsideCI(t *testing.T) {
	t.Helper()
	t.Setenv("CI", "")
	t.Setenv("GITHUB_ACTIONS", "")
}

// testName returns an ensemble name that is unique to this process: several processes may run the tests at once.
func testName(what string) string { return fmt.Sprintf("test-%s-%d", what, os.Getpid()) }

func TestUsageErrors(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"rum"}, "run"},
		{"unknown flag", []string{"run", "lock-drain", "--client", "5"}, "unknown flag: --client; did you mean \"--clients\"?"},
		{"swapped letters", []string{"run", "lock-drain", "--hodl", "5ms"}, "did you mean \"--hold\"?"},
		{"no flag at all", []string{"run", "lock-drain", "--nonsense"}, "`zkbench run --help` lists all"},
		{"no scenario", []string{"run"}, "which scenario?"},
		{"unknown scenario", []string{"run", "lock-contentoin"}, `did you mean "lock-contention"?`},
		{"two unknown scenarios", []string{"run", "lock-drian", "nonsense"}, "nonsense"},
		{"no such file", []string{"run", missing}, "no such file"},
		{"unknown variant", []string{"run", "lock-drain", "--variants", "predecessor-wach"}, `did you mean "predecessor-watch"?`},
		{"observe nothing", []string{"observe"}, `required flag(s) "servers" not set`},
		{"observe with an argument", []string{"observe", "a:1"}, "takes no arguments"},
		{"observe no address", []string{"observe", "--servers", "here"}, "--servers wants host:port"},
		{"a tag of no document", []string{"observe", "--servers", "a:1", "--tag", "a=b"}, "--tag goes with --out"},
		{"a tag without a value", []string{"run", "lock-drain", "--tag", "branch="}, `--tag cannot be "branch=": the value is empty`},
		{"a tag twice", []string{"run", "lock-drain", "--tag", "a=b", "--tag", "a=c"}, `--tag cannot be "a=c": a is given twice`},
		{"observe for no time", []string{"observe", "--servers", "a:1", "--for", "0s"}, "--for wants a time above zero"},
		{"listen on one address for two servers", []string{"observe", "--servers", "a:1,b:1", "--listen", "1"}, "--listen has 1, --servers 2"},
		{"listen on no address", []string{"observe", "--servers", "a:1", "--listen", "x"}, "wants a port such as"},
		{"a name that is no name", []string{"observe", "--servers", "a:1", "--name", "../x"}, "--name wants letters"},
		{"observe into no folder", []string{"observe", "--servers", "a:1", "--json", "none/x.json"}, "there is no folder none"},
		{"no clients", []string{"run", "lock-drain", "--clients", "0"}, "wants 1 to 100000, not 0"},
		{"clients that are no numbers", []string{"run", "lock-drain", "--clients", "ten,5,-3"}, "ten is not a whole number"},
		{"more clients than a machine has ports for", []string{"run", "lock-drain", "--clients", "1000000"}, "--clients: wants 1 to 100000, not 1000000"},
		{"clients with a leading zero", []string{"run", "lock-drain", "--clients", "5,010"}, "010 is not a whole number"},
		{"repeats without end", []string{"run", "lock-drain", "--repeats", "1000000000"}, "a run makes at most 100000"},
		{"repeats with a leading zero", []string{"run", "lock-drain", "--repeats", "010"}, "plain decimal digits"},
		{"a seed in another base", []string{"run", "lock-drain", "--seed", "0x10"}, "plain decimal digits"},
		{"a number without digits", []string{"gate", "--run", "lock-drain", "--pairs", "-"}, "plain decimal digits"},
		{"operations without end", []string{"run", "lock-contention", "--operations", "9000000000000000000"}, "wants 0 to 1000000000"},
		{"a size without end", []string{"run", "watch-delivery", "--size", "9000000000000000000"}, "a measurement works on at most 10000000"},
		{"a hold that no histogram holds", []string{"run", "lock-contention", "--hold", "61m"}, "wants 0s to 1h0m0s"},
		{"a load without end", []string{"run", "lock-contention", "--duration", "100h"}, "wants 0s to 24h0m0s"},
		{"a campaign of repeats without end", []string{"calibrate", "lock-contention", "--operations", "9000000000000000000"}, "wants 0 to 1000000000"},
		{"negative repeats", []string{"run", "lock-drain", "--repeats", "-1"}, "--repeats"},
		{"a duration without unit", []string{"run", "lock-contention", "--duration", "3"}, `--duration cannot be "3": wants a duration with its unit`},
		{"a negative hold", []string{"run", "lock-contention", "--hold", "-1s"}, "wants 0s to 1h0m0s, not -1s"},
		{"lockstep with a duration", []string{"run", "lock-drain", "--duration", "3s"}, "means nothing in a lockstep run"},
		{"unknown engine", []string{"run", "lock-drain", "--ensemble", "contaner"}, `did you mean "container"?`},
		{"external without servers", []string{"run", "lock-drain", "--ensemble", "external"}, "--servers"},
		{"servers and an engine", []string{"run", "lock-drain", "--ensemble", "process", "--servers", "a:1"}, "exclude each other"},
		{"arguments where none belong", []string{"version", "please"}, "takes no arguments"},
		{"unknown list", []string{"list", "varants"}, `did you mean "variants"?`},
		{"unknown plot format", []string{"plot", "--format", "pgn"}, `did you mean "png"?`},
		{"no lines", []string{"ensemble", "logs", "--lines", "0"}, "at least 1"},
		{"no server to kill", []string{"ensemble", "kill"}, "wants one server: a name such as zoo1, leader or follower"},
		{"two servers to pause", []string{"ensemble", "pause", "zoo1", "zoo2"}, "wants one server"},
		{"two servers to heal", []string{"ensemble", "heal", "zoo1", "zoo2"}, "one server at most"},
		{"a name that is a path, to heal", []string{"ensemble", "heal", "--name", ".."}, "lower-case letters"},
		{"unknown ensemble command", []string{"ensemble", "dwon"}, `did you mean "down"?`},
		{"no ensemble command", []string{"ensemble"}, "needs one of"},
		{"a name that is a path", []string{"ensemble", "down", "--name", "../../.."}, "lower-case letters"},
		{"a name that is a path, to run on", []string{"run", "lock-drain", "--name", ".."}, "lower-case letters"},
		{"two ports", []string{"ensemble", "up", "--ports", "1,2"}, "wants 3 ports"},
		{"ports for one server", []string{"ensemble", "up", "--ensemble", "embedded", "--ports", "1,2"}, "--ports wants 1 port,"},
		{"a lag of one server", []string{"ensemble", "up", "--ensemble", "embedded", "--lag", "1s"}, "--lag goes with --voters"},
		{"voters of real servers", []string{"ensemble", "up", "--voters", "3"}, "--voters goes with --ensemble embedded"},
		{"a wait below zero", []string{"ensemble", "down", "--wait", "-1s"}, "--wait wants 0s or more"},
		{"a wait for foreign servers", []string{"run", "lock-drain", "--servers", "a:1", "--wait", "1s"}, "nothing locks those of --servers"},
		{"a wait that is not needed", []string{"ensemble", "heal", "--force", "--wait", "1s"}, "[force wait]"},
		{"a port that is none", []string{"ensemble", "up", "--ports", "1,2,99999"}, "99999"},
		{"a port twice", []string{"ensemble", "up", "--ports", "2181,2182,2181"}, "different ports"},
		{"an image of processes", []string{"ensemble", "up", "--ensemble", "process", "--image", "x"}, "--ensemble container only"},
		{"transaction logs of the embedded server", []string{"run", "lock-drain", "--ensemble", "embedded", "--txn-log", "memory"}, "--txn-log goes with --ensemble container or process only"},
		{"transaction logs of other people's servers", []string{"run", "lock-drain", "--servers", "a:1", "--txn-log", "disk"}, "--txn-log goes with"},
		{"a digest of other people's servers", []string{"run", "lock-drain", "--servers", "a:1", "--digest"}, "give the user of those of --servers by --auth digest:FILE"},
		{"the CA of servers that zkbench starts", []string{"run", "lock-drain", "--tls", "--tls-ca", "/dev/null"}, "--tls-ca: give --servers, too"},
		{"credentials for servers that zkbench starts", []string{"run", "lock-drain", "--tls", "--tls-server-name", "x"}, "--tls-server-name: give --servers, too"},
		{"transaction logs of external servers, to calibrate", []string{"calibrate", "lock-contention", "--servers", "a:1", "--txn-log", "memory"}, "--txn-log goes with"},
		{"transaction logs in a cloud", []string{"ensemble", "up", "--txn-log", "memroy"}, `did you mean "memory"?`},
		{"no place for transaction logs", []string{"run", "lock-drain", "--txn-log", ""}, "--txn-log is empty"},
		{"transaction logs of results", []string{"gate", "x.json", "--txn-log", "memory"}, "--txn-log: for --run only"},
		{"an address without a port", []string{"run", "lock-drain", "--servers", "localhost"}, "host:port"},
		{"a chroot in the middle", []string{"run", "lock-drain", "--servers", "a:1/x,b:1/x"}, "after the last address"},
		{"a chroot with a slash too many", []string{"gate", "--run", "lock-drain", "--base-binary", "true", "--servers", "a:1/x/"}, "ends with a slash"},
		{"a port that is no number", []string{"calibrate", "lock-drain", "--servers", "a:client"}, "no port from 1 to 65535"},
		{"an address twice", []string{"run", "lock-drain", "--servers", "a:1,b:1,a:1"}, "give each server once"},
		{"duration and operations", []string{"run", "lock-contention", "--duration", "1s", "--operations", "5"}, "wants either a duration or a number of operations"},
		{"empty clients", []string{"run", "lock-drain", "--clients", ""}, "--clients is empty"},
		{"clients twice", []string{"run", "lock-drain", "--clients", "5,5"}, "has 5 twice"},
		{"a scenario twice", []string{"run", "lock-drain", "lock-drain"}, "given twice"},
		{"a page without a file", []string{"report", "--html", ""}, "--html is empty"},
		{"an unknown format of a report", []string{"report", "--format", "cvs"}, "--format cannot be"},
		{"a format of an overview", []string{"report", "--overview", "--format", "csv"}, "--overview has the formats text and markdown, and not csv"},
		{"a page and a table", []string{"report", "--html", "x.html", "--overview"}, "[html overview] were all set"},
		{"no folder for the page", []string{"report", "--html", missing + "/x.html"}, "there is no folder"},
		{"a run twice, to plot", []string{"plot", "x", "./x"}, "is given twice"},
		{"a comparison of one run", []string{"plot", "--across", "zokeeper"}, `did you mean "zookeeper"?`},
		{"empty format", []string{"plot", "--format", ""}, "--format is empty"},
		{"delays of a real server", []string{"run", "lock-drain", "--read-delay", "1ms"}, "--ensemble embedded only"},
		{"more clients than a number holds", []string{"run", "lock-drain", "--clients", "1,99999999999999999999"}, "beyond the largest number"},
		{"a seed that would be another", []string{"run", "lock-drain", "--seed", "18446744073709551616"}, "beyond the largest number, 18446744073709551615"},
		{"a list without end", []string{"run", "lock-drain", "--clients", strings.Repeat("1,", 20_000) + "1"}, "the value is beyond the limit of 10000 values"},
		{"a rate that is no number", []string{"run", "lock-open", "--rate", "1e308"}, "wants a list of rates, which are whole numbers"},
		{"a rate too low for the duration", []string{"run", "lock-open", "--rate", "6/min"}, "lock-open, --rate: at 6/min, the first operations would begin after 10s"},
		{"a hold of a thousand years", []string{"run", "lock-contention", "--hold", "9999999h"}, "beyond the longest duration"},
		{"a stage of a thousand years", []string{"run", "lock-contention", "--stage", "for: 9999999h, clients: 1"}, "beyond the longest duration"},
		{"a fault after a thousand years", []string{"run", "lock-contention", "--fault", "kill: leader, at: 9999999h"}, "beyond the longest duration"},
		{"pairs without end", []string{"calibrate", "lock-contention", "--pairs", "99999999999999999999"}, "beyond the largest number"},
		{"an order that would be another", []string{"calibrate", "lock-contention", "--order-seed", "18446744073709551616"}, "beyond the largest number"},
		{"a search of a thousand years", []string{"simulate", "lock/znode", "--for", "9999999h"}, "beyond the longest duration"},
		{"a delay of a thousand years", []string{"run", "lock-drain", "--ensemble", "embedded", "--read-delay", "2562047h"}, "want 0s to 1m0s"},
		{"a negative delay", []string{"run", "lock-drain", "--ensemble", "embedded", "--write-delay", "-1ms"}, "want 0s to 1m0s"},
		{"several real servers", []string{"run", "lock-drain", "--voters", "3"}, "--ensemble embedded only"},
		{"an even number of servers", []string{"run", "lock-drain", "--ensemble", "embedded", "--voters", "2"}, "1, 3 or 5, not 2"},
		{"no server", []string{"run", "lock-drain", "--ensemble", "embedded", "--voters", "0"}, "1, 3 or 5, not 0"},
		{"one server that lags", []string{"run", "lock-drain", "--ensemble", "embedded", "--lag", "1ms"}, "goes with --voters"},
		{"lag and delays", []string{"run", "lock-drain", "--ensemble", "embedded", "--voters", "3", "--write-delay", "1ms"}, "use --lag"},
		{"nothing to explain", []string{"explain"}, "explain what?"},
		{"something unknown to explain", []string{"explain", "lock/znod"}, `did you mean "lock/znode"?`},
		{"results and a self-test", []string{"gate", "--self-test", "x.json"}, "checks synthetic results"},
		{"an output of a self-test", []string{"gate", "--self-test", "--json", "x.json"}, "checks synthetic results"},
		{"two outputs in one file", []string{"gate", "x.json", "--json", "y", "--junit", "./y"}, "would write to one file"},
		{"empty servers", []string{"run", "lock-drain", "--servers", ""}, "--servers is empty: is a variable unset?"},
		{"empty variants", []string{"run", "lock-drain", "--variants", ""}, "--variants is empty"},
		{"empty workers", []string{"run", "lock-drain", "--workers", ""}, "--workers is empty: is a variable unset?"},
		{"no workers", []string{"run", "lock-drain", "--workers", "0"}, `--workers cannot be "0"`},
		{"workers in lockstep", []string{"run", "lock-drain", "--workers", "2", "--ensemble", "embedded"}, "leave out --workers"},
		{"an empty baseline", []string{"gate", "x.json", "--baseline", ""}, "--baseline is empty: is a variable unset?"},
		{"empty rules", []string{"gate", "x.json", "--rules", ""}, "--rules is empty"},
		{"nothing required", []string{"gate", "x.json", "--require", ""}, "--require is empty"},
		{"half of what is required", []string{"gate", "x.json", "--require", "lock-drain,"}, "--require is empty"},
		{"an empty run", []string{"gate", "--run", ""}, "--run is empty"},
		{"empty metrics", []string{"calibrate", "lock-contention", "--metrics", ""}, "--metrics is empty"},
		{"a run of what is required", []string{"gate", "--run", "lock-drain", "--base-binary", "x", "--require", "y"}, "in a separate call"},
		{"a build to compare with, and nothing to run", []string{"gate", "--base-binary", "x"}, "--base-binary: for --run only"},
		{"results and a run", []string{"gate", "x.json", "--run", "lock-drain"}, "give no results"},
		{"pairs by a metric that no measurement has", []string{"gate", "--run", "lock-drain", "--base-binary", "true", "--metrics", "acquires-p50"}, `no metric "acquires-p50-ns"; did you mean "acquire-p50-ns"?`},
		{"pairs by a count", []string{"gate", "--run", "lock-drain", "--base-binary", "true", "--metrics", "herd-max"}, "herd-max is neither a time"},
		{"nothing to compare with", []string{"gate", "--run", "lock-drain"}, "needs --base-binary"},
		{"a run and a baseline", []string{"gate", "--run", "lock-drain", "--base-binary", "x", "--baseline", "y"}, "in a separate call"},
		{"pairs that cannot reject", []string{"gate", "--run", "lock-contention", "--base-binary", "x", "--pairs", "4"}, "4 pairs can reach p = 0.062 at best"},
		{"a confirmation that cannot reject", []string{"gate", "--run", "lock-contention", "--base-binary", "x", "--confirm", "6"}, "take at least 7"},
		{"a maximum to compare", []string{"gate", "--run", "lock-contention", "--base-binary", "x", "--metrics", "acquire-max"}, "a maximum is one operation"},
		{"no such binary", []string{"gate", "--run", "lock-contention", "--base-binary", missing}, "name an executable zkbench"},
		{"a load that is none", []string{"gate", "--run", "lock-contention", "--base-binary", "true", "--clients", "0"}, "wants 1 to 100000, not 0"},
		{"no rules there", []string{"gate", "--rules", missing}, "no such file"},
		{"no baselines there", []string{"gate", "--baseline", missing}, "holds no baselines"},
		{"no folder for the verdict", []string{"gate", "--json", missing + "/x.json"}, "there is no folder"},
		{"nothing to calibrate", []string{"calibrate"}, "which scenario?"},
		{"a calibration of too few pairs", []string{"calibrate", "lock-contention", "--pairs", "3"}, "at least 5"},
		{"a calibration without an interval", []string{"calibrate", "lock-contention", "--pairs", "5"}, "use at least 6"},
		{"unknown baseline command", []string{"baseline", "sav"}, `did you mean "save"?`},
		{"no baseline command", []string{"baseline"}, "needs one of"},
		{"no ensemble to end", []string{"ensemble", "down", "--name", ""}, "--name is empty"},
		{"an image and a release", []string{"ensemble", "up", "--image", "x", "--zookeeper-home", "y"}, "[image zookeeper-home] were all set"},
		{"a port that no server can have", []string{"ensemble", "up", "--ports", "0,1,2"}, "from 1 to 65535"},
		{"a port in another base", []string{"ensemble", "up", "--ports", "010,11,12"}, "plain decimal digits"},
		{"bad ports", []string{"ensemble", "up", "--ports", "x"}, `"x"`},
	} {
		t.Run(tt.name, func(t *testing.T) { says(t, outcome.CodeUsage, tt.want, tt.args...) })
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("mistakes left %v behind (%v)", left, err)
	}
}

// A scenario that needs more connections than the process may open is refused before a server starts.
func TestFileLimitIsChecked(t *testing.T) {
	const clients = 100_000 // each with both ends in this process
	if limit := machine.FileLimit(); limit > 1.8*clients {
		t.Skipf("this process may open %d files", limit)
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "lock-drain", "--clients", fmt.Sprint(clients)},
		{"capacity", "lock-contention", "--by", "clients", "--first", "90000", "--most", "90000", "--objective", "acquire-p99 < 5ms"},
	} {
		says(t, outcome.CodeUsage, "ulimit -n", append(args, "--ensemble", "embedded")...)
	}
}

func TestFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("cut_n1_r1.json", []byte(`{"schema"`), 0o644))
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing to plot", []string{"plot"}, "there are no runs"},
		{"a result that is none", []string{"plot", "cut_n1_r1.json"}, "truncated"},
		{"nobody there", []string{"run", "lock-drain", "--servers", "127.0.0.1:1"}, "connection refused"},
		{"no release there", []string{"run", "lock-drain", "--ensemble", "process", "--zookeeper-home", "."}, "unpacked ZooKeeper release"},
	} {
		t.Run(tt.name, func(t *testing.T) { says(t, outcome.CodeFailed, tt.want, tt.args...) })
	}
	if left, err := filepath.Glob("results/runs/*"); err != nil || len(left) > 0 {
		t.Errorf("failed runs left %v behind (%v)", left, err)
	}
}

// dearer returns a measurement in lockstep with one more request per operation than the variant's formula says.
func dearer(confirmed bool) *results.Document {
	return &results.Document{
		Variant: "a", Scenario: results.Scenario{Mode: results.LockstepMode}, Window: results.Window{Operations: 10},
		Oracle: results.Oracle{Checked: confirmed}, Metrics: map[string]results.Metric{metric.RequestsPerOp: {Value: 6}},
		Expected: results.Expected{Costs: map[string]results.Cost{metric.RequestsPerOp: {Formula: "5", Value: 5}}},
	}
}

func TestExitCodes(t *testing.T) {
	broken := outcome.With(outcome.CodeBroken, errors.New("broken"))
	invalid := outcome.With(outcome.CodeInvalid, errors.New("invalid"))
	other := errors.New("other")
	violation := []results.Violation{{}}
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"any error", other, 1},
		{"usage", usage(other), 2},
		{"wrapped usage", fmt.Errorf("run: %w", usage(other)), 2},
		{"a broken promise beats a failure", errors.Join(other, broken), 4},
		{"a failure beats an invalid run", errors.Join(invalid, other), 1},
		{"an invalid run beats a regression", errors.Join(outcome.With(outcome.CodeRegression, other), invalid), 5},
		{"a run that got stuck", failedRun(fmt.Errorf("lock: %w", runner.ErrStuck)), 4},
		{"a run that failed", failedRun(other), 1},
		{"a run that failed after a breach", failedRun(&runner.BrokenError{Document: &results.Document{}, Err: other}), 4},
		{"everything", errors.Join(outcome.With(outcome.CodeRegression, other), invalid, other, broken), 4},
		{"sound documents", verdict([]*results.Document{{}, {}}), 0},
		{"invalid", verdict([]*results.Document{{}, {Invalid: []string{"x"}}}), 5},
		{"dearer than its formula", verdict([]*results.Document{{}, dearer(true)}), 3},
		{"dearer, and no oracle confirms it", verdict([]*results.Document{{}, dearer(false)}), 5},
		{"broken", verdict([]*results.Document{{Violations: violation}, {}}), 4},
		{"known broken", verdict([]*results.Document{{Violations: violation, KnownBroken: "x", Variant: "a"}}), 4},
		{"broken as expected", verdict([]*results.Document{
			{Violations: violation, KnownBroken: "x", Variant: "a", Scenario: results.Scenario{Broken: []string{"b", "a"}}},
		}), 0},
		{"broken and invalid", verdict([]*results.Document{{Invalid: []string{"x"}}, {Violations: violation}}), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(t.Context(), tt.err); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	if got := exitCode(ctx, context.Canceled); got != outcome.CodeInterrupted {
		t.Errorf("interrupted: exit code %d, want %d", got, outcome.CodeInterrupted)
	}
}

// addHelp adds the command line of the help of a command and of all below it, by the name of its golden file.
func addHelp(texts map[string][]string, cmd *cobra.Command) {
	words := strings.Fields(cmd.CommandPath())[1:]
	texts[strings.Join(append([]string{"help"}, words...), "-")] = append(slices.Clone(words), "--help")
	for _, below := range cmd.Commands() {
		addHelp(texts, below)
	}
}

// Each help text and list has a golden file, and fits a terminal.
func TestTexts(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	texts := map[string][]string{
		"gate-self-test": {"gate", "--self-test"},
		"list":           {"list"},
		"explain":        {"explain", "lock/predecessor-watch"},
	}
	addHelp(texts, rootCommand(&app{}))
	for name, args := range texts {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := command(t.Context(), args...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			for line := range strings.Lines(stdout) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
					t.Errorf("a line of %d columns: %s", n, line)
				}
			}
			if t.Failed() {
				return // before -update writes it
			}
			golden.Compare(t, filepath.Join("testdata", name+".txt"), []byte(stdout))
		})
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		prints(t, outcome.CodePass, "zkbench", "completion", shell)
	}
	prints(t, outcome.CodePass, "lock-drain", "__complete", "run", "lock-d")
}
