package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/variants"
)

// Pool lets worker processes do jobs. Each has one processor, so that little but the plan decides when a goroutine
// runs. A process that dies, or that does not answer, is a finding of its job, and another one takes its place.
type Pool struct {
	Workers int
	Command func(context.Context) *exec.Cmd // calls Serve on its standard input and output
}

// Environment is added to a worker's environment.
func Environment() []string { return []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=400"} }

// Do does all jobs, until there are no more or ctx ends, and calls done with each report, one at a time. It asks for a
// job when a worker has none. It returns an error if no worker can be started, or if ctx ends.
func (p Pool) Do(ctx context.Context, jobs iter.Seq[Job], done func(Job, Report)) error {
	var asking, reporting sync.Mutex
	next, stop := iter.Pull(jobs)
	defer stop()
	working, ctx := errgroup.WithContext(ctx)
	for range p.Workers {
		working.Go(func() error {
			return p.work(ctx, func() (Job, bool) {
				asking.Lock()
				defer asking.Unlock()
				return next()
			}, func(j Job, r Report) {
				reporting.Lock()
				defer reporting.Unlock()
				done(j, r)
			})
		})
	}
	return working.Wait()
}

func (p Pool) work(ctx context.Context, next func() (Job, bool), done func(Job, Report)) error {
	const jobsPerWorker = 500 // goroutines that runs have left behind occupy memory
	var w *worker
	defer func() { w.stop() }()
	for n := 1; ctx.Err() == nil; n++ {
		j, more := next()
		if !more {
			break
		}
		var err error
		if w == nil {
			if w, err = p.start(ctx); err != nil {
				return fmt.Errorf("start a worker: %w", err)
			}
		}
		r, err := w.do(j)
		if ctx.Err() != nil {
			break
		}
		done(j, r)
		if err != nil || n%jobsPerWorker == 0 {
			w.stop()
			w = nil
		}
	}
	return context.Cause(ctx)
}

type worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	reports *json.Decoder
	errors  bytes.Buffer
}

func (p Pool) start(ctx context.Context) (*worker, error) {
	w := &worker{cmd: p.Command(ctx)}
	w.cmd.Stderr = &w.errors
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	w.reports = json.NewDecoder(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	return w, nil
}

// do lets the worker do one job. If it dies, or does not answer, the report says so, and the worker must be stopped.
func (w *worker) do(j Job) (Report, error) {
	const answerWithin, lastWords = 2 * time.Minute, 2000
	defer time.AfterFunc(answerWithin+time.Duration(j.Budget), func() { _ = w.cmd.Process.Kill() }).Stop()
	var r Report
	err := json.NewEncoder(w.in).Encode(j)
	if err == nil {
		err = w.reports.Decode(&r)
	}
	if err != nil {
		w.stop()
		text := fmt.Sprintf("the process of the run: %v\n%.*s", err, lastWords, w.errors.String())
		r.Outcome.Findings = []Finding{{Class: Panic, Text: text}}
	}
	return r, err
}

func (w *worker) stop() {
	if w != nil {
		_ = w.in.Close()
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// Job tells a worker what to do with a plan.
type Job struct {
	Plan Plan `json:"plan"`
	// Investigate makes the worker look for a smaller plan that fails in the same way, for as long as Budget, instead
	// of running the plan once.
	Investigate bool     `json:"investigate,omitempty"`
	Class       Class    `json:"class,omitempty"` // empty for any
	Budget      Duration `json:"budget,omitempty"`
}

// Report is a worker's answer.
type Report struct {
	Outcome Outcome  `json:"outcome"`
	Failure *Failure `json:"failure,omitempty"` // of an investigation
}

// Serve does the jobs that it reads, one JSON document each, and writes a report of each. When there are no more, it
// ends the process: bubbles of virtual time exist in tests only, so that the process becomes one. recipes returns the constructor of
// the recipe with a name, which is called anew for each run.
func Serve(in io.Reader, out io.Writer, recipes func(name string) func() variants.Recipe) {
	testing.Init()
	_ = flag.CommandLine.Parse(nil) // a test must not see the flags of the process
	every := func(string, string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: "simulation", F: func(t *testing.T) {
		if err := serve(t, in, out, recipes); err != nil {
			fmt.Fprintln(os.Stderr, "simulation worker:", err) // standard output has the reports
			t.Fail()
		}
	}}}, nil, nil)
}

func serve(t *testing.T, in io.Reader, out io.Writer, recipes func(name string) func() variants.Recipe) error {
	jobs, reports := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j Job
		if err := jobs.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a job: %w", err)
		}
		if err := reports.Encode(j.do(t, recipes(j.Plan.Recipe))); err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
	}
}

func (j Job) do(t *testing.T, recipe func() variants.Recipe) Report {
	if !j.Investigate {
		return Report{Outcome: Play(t, recipe, j.Plan)}
	}
	f := Investigate(t, recipe, j.Plan, j.Class, time.Duration(j.Budget))
	return Report{Failure: &f}
}
