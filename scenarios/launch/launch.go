// Package launch starts and ends the processes `zkbench worker` of a distributed run, by SSH or as a Kubernetes Job.
//
// It takes one position: workers end by themselves. A worker ends with its standard input or its Job, and joins its controller
// with a token that is on no command line, so a controller that is killed leaves no process, and a late worker joins no other run.
package launch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// The most workers of one run. A Job has an index for each, which must fit into the names of its pods.
const maxWorkers = 1000

// Workers says how many workers a run has, and what starts them. The zero value is a run without workers.
type Workers struct {
	text   string
	kind   string // "", "ssh" or "kubernetes"
	number int
	hosts  []string // of SSH, one for each worker
}

// Set implements pflag.Value: "4" (workers that anything else starts), "ssh:host1,user@host2,host1" (a worker for each name, so a host
// that is named twice has two) or "kubernetes:8" (a Job of 8 pods). An empty text is a run without workers.
func (w *Workers) Set(text string) error {
	kind, rest, named := strings.Cut(text, ":")
	if !named {
		kind, rest = "", text
	}
	switch kind {
	case "ssh":
		hosts := strings.Split(rest, ",")
		for _, host := range hosts {
			if host == "" || host[0] == '-' || strings.ContainsAny(host, " \t\n") {
				return fmt.Errorf("%q is not the name of a host: write ssh:HOST,USER@HOST,…", host)
			}
		}
		*w = Workers{text, kind, len(hosts), hosts}
	case "", "kubernetes":
		n, err := strconv.Atoi(rest)
		if text != "" && (err != nil || n < 1 || n > maxWorkers || named != (kind != "")) {
			return fmt.Errorf("%q is not a number from 1 to %d", rest, maxWorkers)
		}
		*w = Workers{text: text, kind: kind, number: n}
	default:
		return fmt.Errorf("%q starts no workers: write a number, ssh:HOST,… or kubernetes:NUMBER", kind)
	}
	return nil
}

// String returns the text that Set has read.
func (w Workers) String() string { return w.text }

// Type implements pflag.Value.
func (*Workers) Type() string { return "string" }

// N returns the number of workers.
func (w Workers) N() int { return w.number }

// Manual reports whether zkbench starts no workers itself: something else starts them with the command line that the run prints.
func (w Workers) Manual() bool { return w.kind == "" }

// Job describes the workers of one run.
type Job struct {
	Run        string       // names the run; runs at the same time have different names
	Join       string       // host:port at which workers reach the controller
	Token      string       // a line that workers show to the controller; it is on no command line
	Args       []string     // further arguments of `zkbench worker`, which other users of the hosts can read
	Say        func(string) // gets a line about each step that takes time
	Kubernetes KubernetesOptions
}

// Started is a set of workers that were started together. Its methods may be called concurrently.
type Started interface {
	// Missing returns why workers may not have joined, a line for each reason, or "" if the engine knows nothing: pods that do not
	// run, and hosts whose ssh has ended.
	Missing(ctx context.Context) string
	// Exited receives a text about each worker that ended before End, with its host, its exit code and its last lines. Of a Job it
	// receives one text, because a Job ends all its workers when one fails. It is never closed.
	Exited() <-chan string
	// End ends all workers, waits until they have ended, and removes what Start made. It may be called again after an error.
	End(ctx context.Context) error
	start(ctx context.Context) error
	clean(ctx context.Context) (removed []string, err error)
}

// run is what the engines have in common, and the engine of workers that something else starts.
type run struct {
	Job
	Name    string // for files, Kubernetes objects and labels
	exited  chan string
	running sync.WaitGroup  // what reports to exited
	life    context.Context // until End begins
	stop    context.CancelFunc
}

func (r *run) Exited() <-chan string        { return r.exited }
func (*run) Missing(context.Context) string { return "" }
func (*run) End(context.Context) error      { return nil }
func (*run) start(context.Context) error    { return nil }
func (*run) clean(context.Context) ([]string, error) {
	return nil, errors.New("the hosts are not known: name them with ssh:HOST,… or kubernetes:1")
}

func (w Workers) engine(ctx context.Context, j Job) Started {
	// The channel has room for all workers: none that ends waits for a reader.
	r := &run{Job: j, Name: "zkbench-" + label(j.Run), exited: make(chan string, w.number)}
	r.life, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	switch w.kind {
	case "ssh":
		return &ssh{run: r, hosts: w.hosts}
	case "kubernetes":
		return &kubernetes{run: r, Number: w.number}
	default:
		return r
	}
}

// label returns a text that Kubernetes accepts as a name. It leaves room for the index of a pod.
func label(text string) string {
	label := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(text), "-"), "-")
	if label == text && len(label) <= 40 {
		return label
	}
	return fmt.Sprintf("%.40s-%.4x", label, sha256.Sum256([]byte(text)))
}

// Start starts the workers and returns before they have joined. It starts all or none: after an error nothing remains. Workers
// outlive ctx, so that they can still close their sessions; [Started.End] ends them. It starts nothing if w is manual.
func Start(ctx context.Context, w Workers, j Job) (Started, error) {
	s := w.engine(ctx, j)
	if err := s.start(ctx); err != nil {
		_ = s.End(context.WithoutCancel(ctx)) // fails for the same reason, if it does
		return nil, fmt.Errorf("start workers %s: %w", w, err)
	}
	return s, nil
}

// Clean removes what killed runs have left, programs on the hosts or Jobs without a ready pod, and returns its names. No other run may
// start meanwhile.
func Clean(ctx context.Context, w Workers, k KubernetesOptions) (removed []string, err error) {
	return w.engine(ctx, Job{Kubernetes: k}).clean(ctx)
}

// lastLines returns up to three of the last lines that are not empty, joined to one.
func lastLines(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(len(lines)-3, 0):], "; ")
}

// command prepares a child in a process group of its own, so that Ctrl-C on the terminal reaches zkbench alone.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = ensemble.ChildAttributes()
	cmd.WaitDelay = 5 * time.Second // for a child of the command that keeps its output open
	return cmd
}

// output runs a command and returns what it prints. Its error has the last lines of standard error.
func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	switch exit := new(exec.ExitError); {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", cmd.Args[0], context.Cause(ctx))
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s: %w: %s", cmd.Args[0], err, lastLines(string(exit.Stderr)))
	default:
		return "", fmt.Errorf("%s cannot be run: install it, or put it into PATH: %w", cmd.Args[0], err)
	}
}
