// Package ensembletest gives live tests an ensemble to run against.
//
// It takes one position: semantics are tested on real servers. Where a machine has none, a live test says why it is
// skipped; where ZKBENCH_REQUIRE_LIVE is set, it fails instead.
package ensembletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
)

// The variables that a live test heeds.
const (
	liveVariable    = "ZKBENCH_LIVE"         // run live tests where possible
	requireVariable = "ZKBENCH_REQUIRE_LIVE" // fail where it is not possible
)

// Name is the ensemble that all live tests share, one package at a time.
const Name = "test"

// startTimeout covers building the image on a machine that has none.
const startTimeout = 5 * time.Minute

// Shared is the ensemble of one package's live tests: started by the first test that needs it, taken down by Main.
type Shared struct {
	once     sync.Once
	ensemble ensemble.Ensemble
	err      error
}

// Main runs a package's tests and takes the shared ensemble down; TestMain passes what it returns to os.Exit.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.ensemble != nil {
		if err := s.ensemble.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "take down the test ensemble:", err)
			return max(code, 1)
		}
	}
	return code
}

// Get returns the shared ensemble. Packages take turns: the tests of one would disturb the counters of another.
func (s *Shared) Get(t testing.TB) ensemble.Ensemble {
	t.Helper()
	Require(t, nil)
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		s.ensemble, s.err = open(ctx)
	})
	Require(t, s.err)
	return s.ensemble
}

// open starts the ensemble as soon as no other package has it.
func open(ctx context.Context) (ensemble.Ensemble, error) {
	for {
		e, err := auto.Open(ctx, auto.Choice{}, ensemble.Options{Name: Name, Progress: os.Stderr})
		if !errors.Is(err, ensemble.ErrBusy) {
			return e, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Require skips a live test if live tests are off, or if err says that this machine cannot run it; any other error
// fails the test, as does every one where live tests are required.
func Require(t testing.TB, err error) {
	t.Helper()
	required := os.Getenv(requireVariable) != ""
	switch {
	case os.Getenv(liveVariable) == "" && !required:
		t.Skipf("live tests are off: set %s=1, or run `make test`", liveVariable)
	case err == nil:
	case errors.Is(err, ensemble.ErrUnavailable) && !required:
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
