package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
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
