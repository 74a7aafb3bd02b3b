package simulation

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// Job is what a worker does with a plan.
type Job struct {
	Plan Plan `json:"plan"`
	// Investigate makes the worker look for a smaller plan that fails in the same way, for as long as Budget, in place of running it once.
	Investigate bool     `json:"investigate,omitempty"`
	Class       Class    `json:"class,omitempty"` // empty for any
	Budget      Duration `json:"budget,omitempty"`
}

// Report is a worker's answer.
type Report struct {
	Outcome Outcome  `json:"outcome"`
	Failure *Failure `json:"failure,omitempty"` // of an investigation
}

// Recipes finds a recipe by its name, to be made anew for each run; nil for an unknown one.
type Recipes func(name string) func() variants.Recipe

// Serve does the jobs that it reads, one JSON document each, and writes a report of each, until there are no more. It must be called once in
// a process, which does nothing else: bubbles of virtual time exist in tests only, so that the process becomes one.
func Serve(in io.Reader, out io.Writer, recipes Recipes) error {
	var err error
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil {
		return err
	}
	test := testing.InternalTest{Name: "simulation", F: func(t *testing.T) { err = serve(t, in, out, recipes) }}
	if code := testing.MainStart(testDeps{}, []testing.InternalTest{test}, nil, nil, nil).Run(); code != 0 && err == nil {
		err = fmt.Errorf("the worker failed with code %d", code)
	}
	return err
}

func serve(t *testing.T, in io.Reader, out io.Writer, recipes Recipes) error {
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

// testDeps is what package testing wants of the program that `go test` generates. The interface is outside the promise of Go 1: a test of Serve
// tells when it changes.
type testDeps struct{}

type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

var errNoTest = errors.New("this is no test")

func (testDeps) ImportPath() string                                       { return "" }
func (testDeps) ModulePath() string                                       { return "" }
func (testDeps) MatchString(string, string) (bool, error)                 { return true, nil }
func (testDeps) SetPanicOnExit0(bool)                                     {}
func (testDeps) StartCPUProfile(io.Writer) error                          { return errNoTest }
func (testDeps) StopCPUProfile()                                          {}
func (testDeps) StartTestLog(io.Writer)                                   {}
func (testDeps) StopTestLog() error                                       { return nil }
func (testDeps) WriteProfileTo(string, io.Writer, int) error              { return errNoTest }
func (testDeps) RunFuzzWorker(func(corpusEntry) error) error              { return errNoTest }
func (testDeps) CheckCorpus([]any, []reflect.Type) error                  { return errNoTest }
func (testDeps) ResetCoverage()                                           {}
func (testDeps) SnapshotCoverage()                                        {}
func (testDeps) ReadCorpus(string, []reflect.Type) ([]corpusEntry, error) { return nil, errNoTest }

func (testDeps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []corpusEntry, []reflect.Type, string, string) error {
	return errNoTest
}

func (testDeps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {
	return "", nil, nil
}
