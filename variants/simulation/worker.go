package simulation

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

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
