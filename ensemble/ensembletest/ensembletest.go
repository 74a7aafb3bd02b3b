// Package ensembletest gives tests an ensemble to run against.
//
// It takes one position: what holds on the embedded server must hold on real ones, too. So a test of semantics has two
// forms, one that needs nothing and runs always, and a live one. Where a machine has no real servers, a live test says
// why it is skipped; where ZKBENCH_REQUIRE_LIVE is set, it fails instead.
package ensembletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/embedded"
)

// The variables that a live test heeds.
const (
	liveVariable    = "ZKBENCH_LIVE"         // run live tests where possible
	requireVariable = "ZKBENCH_REQUIRE_LIVE" // fail where it is not possible
	nameVariable    = "ZKBENCH_TEST_NAME"    // begins the names of ensembles, for a root of its own beside others on one engine
)

// Name returns the name of the ensemble that all live tests share, one package at a time; a test that needs one to itself
// appends to it.
func Name() string { return cmp.Or(os.Getenv(nameVariable), "test") }

// startTimeout covers building the image on a machine that has none, and waiting for the packages whose turn is before.
const startTimeout = 10 * time.Minute

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
		e, err := openReal(ctx)
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

// openReal does not content itself with the embedded server, whose tests need no live ensemble.
func openReal(ctx context.Context) (ensemble.Ensemble, error) {
	var why strings.Builder
	opts := ensemble.Options{Name: Name(), Progress: &why}
	engine, err := auto.Resolve(ctx, auto.Choice{}, opts)
	if err != nil {
		return nil, err
	}
	if engine == ensemble.Embedded {
		return nil, fmt.Errorf("%w: %s", ensemble.ErrUnavailable, why.String())
	}
	opts.Progress = os.Stderr
	return auto.Open(ctx, auto.Choice{Engine: string(engine)}, opts)
}

// Embedded starts a server that ends with the test. It needs nothing of the machine, and disturbs no other test.
func Embedded(t testing.TB, config embedded.Config) *embedded.Ensemble {
	t.Helper()
	s, err := embedded.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &embedded.Ensemble{Server: s}
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
